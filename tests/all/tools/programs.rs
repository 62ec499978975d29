//! The tool exec.

use super::desk::{Desk, git};
use rsf::model::tool::ToolErrorKind;
use serde_json::{Value, json};

#[tokio::test]
async fn status_streams_and_bounds() {
    let desk = Desk::new();
    let done =
        desk.call("exec", json!({ "shell": "printf '\\033[31mred\\033[0m\\n'; cat >&2; exit 4", "stdin": "in", "cwd": "src" })).await;
    assert_eq!((&done["exit"], &done["stdout"], &done["stderr"]), (&json!(4), &json!("red\n"), &json!("in")));
    assert_eq!((&done["timed_out"], &done["rerun"], &done["truncated"]), (&json!(false), &json!(false), &json!(false)));
    let slow = desk.call("exec", json!({ "argv": ["sleep", "600"], "timeout": 0.2 })).await;
    assert_eq!((&slow["timed_out"], &slow["signal"], &slow["exit"]), (&json!(true), &json!(15), &Value::Null));
    let mut left = desk.request("exec", json!({ "argv": ["sleep", "600"] }));
    left.timeout_ms = 200;
    assert_eq!(desk.send(left).await.unwrap()["timed_out"], true);
    let much = desk.call("exec", json!({ "shell": "yes | head -c 1000000" })).await;
    assert!(much["truncated"] == true && much["stdout"].as_str().unwrap().len() < 4200);
    assert!(desk.fault("exec", json!({ "argv": ["true"], "cwd": "none" })).await.1.contains("no folder"));
    assert_eq!(desk.fault("exec", json!({ "argv": ["true"], "cwd": "../" })).await.0, ToolErrorKind::Denied);
}

#[tokio::test]
async fn the_environment_is_a_chosen_one() {
    let desk = Desk::new();
    let seen =
        desk.call("exec", json!({ "argv": ["env"], "env": { "EXTRA": "x y", "LANG": "C" } })).await["stdout"].as_str().unwrap().to_owned();
    assert!(
        seen.contains("EXTRA=x y\n")
            && seen.contains("LANG=C\n")
            && seen.contains("TERM=dumb\n")
            && seen.contains("GIT_TERMINAL_PROMPT=0\n")
    );
    assert!(!seen.contains("CARGO") && !seen.contains("\nPYTHONPATH="), "{seen}");
    let scratch = desk.scratch.path().canonicalize().unwrap();
    for name in ["TMPDIR", "XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX", "COVERAGE_FILE"] {
        let line = seen.lines().find(|line| line.starts_with(&format!("{name}="))).unwrap();
        assert!(line.contains(scratch.to_str().unwrap()), "{line}");
    }
    assert_eq!(desk.fault("exec", json!({ "argv": ["env"], "env": { "A=B": "x" } })).await.0, ToolErrorKind::Arguments);
}

#[tokio::test]
async fn collected_files_are_this_runs_own() {
    let desk = Desk::new();
    desk.put("out/report.xml", b"stale");
    let none = desk.call("exec", json!({ "argv": ["true"], "collect": { "r": "out/report.xml" } })).await;
    assert_eq!(none["collected"], json!({ "r": null }));
    let made = desk.call("exec", json!({ "shell": "echo new > out/report.xml", "collect": { "r": "out/report.xml", "n": "none" } })).await;
    assert_eq!(made["collected"], json!({ "r": "new\n", "n": null }));
    let (kind, message) = desk.fault("exec", json!({ "argv": ["true"], "collect": { "r": "src/app.py" } })).await;
    assert!(kind == ToolErrorKind::Arguments && message.contains("src/app.py"));
    assert!(!desk.get("src/app.py").is_empty());
    let sly = desk.fault("exec", json!({ "shell": "ln -s /etc/passwd out/sly", "collect": { "r": "out/sly" } })).await;
    assert_eq!(sly.0, ToolErrorKind::Denied);
    let pipe = desk.fault("exec", json!({ "shell": "mkfifo out/pipe", "collect": { "r": "out/pipe" } })).await;
    assert_eq!(pipe.0, ToolErrorKind::Denied);
}

#[tokio::test]
async fn python_leaves_no_cache_in_the_project() {
    let desk = Desk::new();
    let done = desk.call("exec", json!({ "argv": ["python3", "-c", "import app; print(app.f())"], "cwd": "src" })).await;
    assert_eq!(done["stdout"], "1\n", "{done}");
    assert_eq!(git(desk.project.path(), &["status", "--porcelain", "--ignored"]), "");
}
