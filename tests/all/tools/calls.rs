//! How a call is named, checked and ended.

use super::desk::{Desk, git};
use rsf::model::tool::ToolErrorKind;
use rsf::world::Cancel;
use serde_json::json;

#[tokio::test]
async fn a_tool_has_two_names_and_wrong_ones_are_told() {
    let desk = Desk::new();
    let head = git(desk.project.path(), &["rev-parse", "HEAD"]);
    assert_eq!(desk.call("git_status", json!({})).await["head"], head.trim());
    assert_eq!(desk.call("git.status", json!({})).await["branch"], "main");
    let (kind, message) = desk.fault("git.comit", json!({})).await;
    assert!(kind == ToolErrorKind::Unknown && message.contains("git.commit"), "{message}");
    assert_eq!(desk.fault("usage.status", json!({})).await.0, ToolErrorKind::Unknown);
}

#[tokio::test]
async fn wrong_arguments_are_told_in_words() {
    let desk = Desk::new();
    for (tool, args, part) in [
        ("read", json!({}), "\"path\" is a required property"),
        ("read", json!({ "path": 5 }), "`path`: 5 is not of type \"string\""),
        ("read", json!({ "path": "a", "pth": 1 }), "pth"),
        ("read", json!("text"), "JSON object"),
        ("exec", json!({ "argv": [1] }), "`argv.0`"),
        ("exec", json!({}), "either `argv`"),
        ("exec", json!({ "argv": ["true"], "shell": "true" }), "either `argv`"),
        ("search", json!({ "pattern": "(" }), "pattern"),
        ("search", json!({ "pattern": "(x{999}){999}" }), "pattern"),
        ("list", json!({ "glob": "a[" }), "glob"),
        ("edit", json!({ "path": "a", "old": "", "new": "" }), "`old`"),
    ] {
        let (kind, message) = desk.fault(tool, args).await;
        assert!(kind == ToolErrorKind::Arguments && message.contains(part), "{tool}: {message}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let desk = Desk::new();
    let cancel = Cancel::new();
    cancel.cancel();
    let call = desk.request("exec", json!({ "shell": "sleep 600" }));
    assert_eq!(desk.registry.call(call, cancel).await.unwrap_err().kind, ToolErrorKind::Failed);
}
