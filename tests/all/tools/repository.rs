//! The tools that read and change git.

use super::desk::{Desk, git, globs};
use rsf::model::tool::ToolErrorKind;
use rsf::world::Cancel;
use serde_json::{Value, json};
use std::fs;

#[tokio::test]
async fn a_role_commits_what_it_may_write() {
    let mut desk = Desk::new();
    desk.grants.write = globs(&["src/**", "tests/**"]);
    for path in ["src/new.py", "tests/t.py", "notes", ".rsf/x"] {
        desk.put(path, b"x");
    }
    let part = desk.call("git.commit", json!({ "message": "m", "paths": ["src"] })).await;
    assert_eq!((&part["files_changed"], &part["left"]), (&json!(["src/new.py"]), &json!(["notes", "tests/t.py"])));
    let rest = desk.call("git.commit", json!({ "message": "n" })).await;
    assert_eq!(rest["files_changed"], json!(["tests/t.py"]));
    assert_eq!(desk.call("git.status", json!({})).await["dirty"], json!(["notes"]));
    assert_eq!(desk.call("git.diff", json!({})).await["files"][0]["path"], "notes");
    let none = desk.call("git.commit", json!({ "message": "n" })).await;
    assert_eq!((&none["sha"], &none["files_changed"]), (&Value::Null, &json!([])));
    assert_eq!(desk.call("git.log", json!({ "max": 2 })).await["commits"][0]["sha"], rest["sha"]);
}

#[tokio::test]
async fn a_commit_made_again_after_a_crash_is_the_same_commit() {
    let desk = Desk::new();
    desk.put("src/new.py", b"x");
    let call = desk.request("git.commit", json!({ "message": "m" }));
    let first = desk.send(call.clone()).await.unwrap();
    for _ in 0..3 {
        let again = desk.send(call.clone()).await.unwrap();
        assert_eq!((&again["sha"], &again["files_changed"]), (&first["sha"], &first["files_changed"]));
    }
    assert_eq!(git(desk.project.path(), &["rev-list", "--count", "HEAD"]).trim(), "2");
    desk.put("src/new.py", b"y");
    assert_ne!(desk.send(call).await.unwrap()["sha"], first["sha"], "new changes are a new commit");
}

#[tokio::test]
async fn reading_reverting_and_tagging() {
    let desk = Desk::new();
    desk.put("src/app.py", b"def f():\n    return 2\n");
    let diff = desk.call("git.diff", json!({ "paths": ["src"] })).await;
    assert_eq!(diff["files"], json!([{ "path": "src/app.py", "status": "modified", "added": 1, "removed": 1 }]));
    let sha = desk.call("git.commit", json!({ "message": "two" })).await["sha"].clone();
    let shown = desk.call("git.show", json!({ "commit": sha })).await;
    assert!(shown["message"] == "two\n" && shown["text"].as_str().unwrap().contains("+    return 2"));
    assert!(
        desk.call("git.show", json!({ "commit": "HEAD~1", "path": "src/app.py" })).await["text"].as_str().unwrap().contains("return 1")
    );
    assert!(desk.call("git.patch", json!({ "commit": sha })).await["text"].as_str().unwrap().starts_with("diff --git"));
    assert_eq!(desk.call("git.tag", json!({ "name": "t" })).await["existed"], false);
    let undone = desk.call("git.revert", json!({ "commit": sha })).await;
    assert_eq!((&undone["conflict"], &undone["files"]), (&json!(false), &json!(["src/app.py"])));
    assert!(desk.fault("git.tag", json!({ "name": "t" })).await.1.contains("already"));
    fs::write(desk.project.path().join("workflows/w.json"), "{ }").unwrap();
    git(desk.project.path(), &["commit", "-q", "-a", "-m", "person"]);
    assert_eq!(desk.fault("git.revert", json!({ "commit": "HEAD" })).await.0, ToolErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_are_serialised() {
    let desk = Desk::new();
    let mut tasks = Vec::new();
    for number in 0..8 {
        desk.put(&format!("src/{number}"), b"x");
        let call = desk.request("git.commit", json!({ "message": format!("m{number}"), "paths": [format!("src/{number}")] }));
        let registry = desk.registry.clone();
        tasks.push(tokio::spawn(async move { registry.call(call, Cancel::new()).await }));
    }
    for task in tasks {
        assert!(task.await.unwrap().unwrap()["sha"].is_string());
    }
    assert_eq!(git(desk.project.path(), &["rev-list", "--count", "HEAD"]).trim(), "9");
    git(desk.project.path(), &["fsck", "--strict"]);
}
