//! The gate.

use super::desk::{Desk, globs};
use rsf::model::tool::ToolErrorKind;
use rsf::model::{Access, Exec, Grants};
use serde_json::json;
use std::fs;

#[tokio::test]
async fn nothing_is_allowed_unless_granted() {
    let mut desk = Desk::new();
    desk.grants = Grants::default();
    for (tool, args) in [
        ("read", json!({ "path": "src/app.py" })),
        ("list", json!({})),
        ("search", json!({ "pattern": "x" })),
        ("write", json!({ "path": "x", "text": "" })),
        ("edit", json!({ "path": "src/app.py", "old": "1", "new": "2" })),
        ("exec", json!({ "argv": ["true"] })),
        ("git.status", json!({})),
        ("git.commit", json!({ "message": "m" })),
    ] {
        assert_eq!(desk.fault(tool, args).await.0, ToolErrorKind::Denied, "{tool}");
    }
    desk.grants.git = Access::Read;
    desk.call("git.status", json!({})).await;
    assert_eq!(desk.fault("git.tag", json!({ "name": "x" })).await.0, ToolErrorKind::Denied);
    desk.call("sequence", json!({ "name": "n" })).await;
}

#[tokio::test]
async fn every_layer_must_allow_a_file_and_the_message_names_the_globs() {
    let mut desk = Desk::new();
    desk.grants.read = vec![vec!["src/**".into(), "tests/**".into()], vec!["**/*.py".into()]];
    desk.put("src/data.txt", b"x");
    desk.put("src/deep/er/x.py", b"x");
    assert_eq!(desk.call("list", json!({})).await["files"], json!(["src/app.py", "src/deep/er/x.py", "tests/test_app.py"]));
    let (kind, message) = desk.fault("read", json!({ "path": "src/data.txt" })).await;
    assert!(kind == ToolErrorKind::Denied && message.contains("**/*.py"), "{message}");
    assert_eq!(desk.fault("read", json!({ "path": "workflows/w.json" })).await.0, ToolErrorKind::Denied);
    desk.grants.write = globs(&["src/*"]);
    assert_eq!(desk.fault("write", json!({ "path": "src/deep/new", "text": "" })).await.0, ToolErrorKind::Denied);
    desk.grants.write.push(vec![]);
    assert_eq!(desk.fault("write", json!({ "path": "src/new", "text": "" })).await.0, ToolErrorKind::Denied);
}

#[tokio::test]
async fn what_is_the_engines_own_is_never_written() {
    let desk = Desk::new();
    for path in [
        ".git/config",
        ".GIT/hooks/x",
        "sub/.git",
        ".rsf/STOP",
        ".RSF/stop",
        ".rsf",
        "workflows/w.json",
        "Workflows/W.json",
        "./workflows//w.json",
        "../x",
        "/tmp/x",
        "C:\\x",
    ] {
        assert_eq!(desk.fault("write", json!({ "path": path, "text": "x" })).await.0, ToolErrorKind::Denied, "{path}");
    }
    desk.put("x", b"x");
    assert_eq!(desk.fault("exec", json!({ "argv": ["true"], "collect": { "a": "workflows/w.json" } })).await.0, ToolErrorKind::Denied);
    assert_eq!(desk.get("workflows/w.json"), b"{}");
}

#[tokio::test]
async fn a_link_does_not_lead_around_the_gate() {
    use std::os::unix::fs::symlink;
    let mut desk = Desk::new();
    desk.grants.read = globs(&["src/**"]);
    desk.grants.write = globs(&["src/**"]);
    desk.put("secret", b"s");
    fs::create_dir_all(desk.project.path().join(".rsf")).unwrap();
    symlink("../secret", desk.project.path().join("src/link")).unwrap();
    symlink("../.rsf", desk.project.path().join("src/run")).unwrap();
    symlink("../.git", desk.project.path().join("src/git")).unwrap();
    for path in ["src/link", "src/run/STOP", "src/git/config"] {
        assert_eq!(desk.fault("read", json!({ "path": path })).await.0, ToolErrorKind::Denied, "{path}");
        assert_eq!(desk.fault("write", json!({ "path": path, "text": "x" })).await.0, ToolErrorKind::Denied, "{path}");
    }
    assert_eq!(desk.get("secret"), b"s");
}

#[tokio::test]
async fn isolated_programs_need_a_checkout() {
    let mut desk = Desk::new();
    desk.grants.exec = Exec::Isolated;
    let (kind, message) = desk.fault("exec", json!({ "argv": ["true"] })).await;
    assert!(kind == ToolErrorKind::Denied && message.contains("git.checkout"));
    for handle in ["", "x", "checkout-../../x-00000000", "checkout-zz-1"] {
        assert_eq!(desk.fault("exec", json!({ "argv": ["true"], "in": handle })).await.0, ToolErrorKind::Arguments, "{handle}");
    }
    let handle = desk.call("git.checkout", json!({ "commit": "HEAD" })).await["handle"].clone();
    assert_eq!(desk.call("exec", json!({ "argv": ["cat", "src/app.py"], "in": handle })).await["exit"], 0);
}
