//! The tool git.checkout and what is done inside checkouts.

use super::desk::{Desk, git};
use rsf::model::Access;
use rsf::model::tool::ToolErrorKind;
use rsf::tool::{ProjectConfig, Registry};
use serde_json::json;
use std::fs;
use std::path::Path;

#[tokio::test]
async fn a_checkout_is_apart_and_ends_with_its_attempt() {
    let desk = Desk::new();
    let first = git(desk.project.path(), &["rev-parse", "HEAD"]).trim().to_owned();
    desk.put("src/app.py", b"changed");
    let made = desk.call("git.checkout", json!({ "commit": "HEAD" })).await;
    assert_eq!(made["commit"], first.as_str());
    let handle = &made["handle"];
    assert!(desk.call("read", json!({ "path": "src/app.py", "in": handle })).await["text"].as_str().unwrap().contains("return 1"));
    assert_eq!(desk.call("list", json!({ "glob": "src/**", "in": handle })).await["files"], json!(["src/app.py"]));
    assert_eq!(desk.call("search", json!({ "pattern": "return", "in": handle })).await["matches"][0]["path"], "src/app.py");
    let run = desk
        .call("exec", json!({ "shell": "rm -r src; chmod 500 tests; pwd; echo r > rep", "in": handle, "collect": { "r": "rep" } }))
        .await;
    assert_eq!(run["collected"]["r"], "r\n");
    let place = run["stdout"].as_str().unwrap().trim().to_owned();
    assert!(Path::new(&place).is_dir() && desk.get("src/app.py") == b"changed");
    assert_eq!(desk.fault("read", json!({ "path": "../x", "in": handle })).await.0, ToolErrorKind::Denied);
    let second = desk.call("git.checkout", json!({ "commit": "HEAD" })).await;
    assert_ne!(second["handle"], made["handle"], "two checkouts of one commit are two folders");
    desk.registry.release("somebody else");
    assert!(Path::new(&place).is_dir());
    desk.registry.release("r@1.r1.a1");
    assert!(!Path::new(&place).exists());
    assert!(git(desk.project.path(), &["worktree", "list"]).lines().count() == 1);
}

#[tokio::test]
async fn a_recorded_handle_works_in_a_new_process() {
    let desk = Desk::new();
    let handle = desk.call("git.checkout", json!({ "commit": "HEAD" })).await["handle"].clone();
    desk.call("exec", json!({ "shell": "echo x > made", "in": handle })).await;
    let Desk { project, scratch, registry, grants } = desk;
    drop(registry);
    assert_eq!(fs::read_dir(scratch.path().join("s/checkouts")).map(Iterator::count).unwrap_or(0), 0, "nothing stays behind");
    let config = ProjectConfig {
        root: project.path().to_owned(),
        run_dir: ".rsf".to_owned(),
        scratch_root: scratch.path().join("s"),
        protected: vec![],
        output_bytes: 4000,
        further_read: vec![],
        further_write: vec![],
    };
    let mut desk = Desk { registry: Registry::new(config).unwrap(), project, scratch, grants };
    assert_eq!(desk.call("list", json!({ "glob": "made", "in": handle })).await["files"], json!([]));
    assert_eq!(desk.call("list", json!({ "glob": "src/**", "in": handle })).await["files"], json!(["src/app.py"]));
    desk.registry.release("r@1.r1.a1");
    desk.grants.git = Access::No;
    assert_eq!(desk.fault("list", json!({ "in": handle })).await.0, ToolErrorKind::Denied);
}
