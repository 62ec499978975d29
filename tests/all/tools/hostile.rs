//! A hostile agent: a session whose model tries everything in tests/cases/hostile/attempts.json. All of it must be refused, nothing may
//! have changed, and every refusal must be on record.

use super::desk::{Desk, globs};
use rsf::agent::{Finish, ModelReply, Next, OutputContract, Session, SessionSpec, ToolCall, ToolSpec};
use rsf::model::Exec;
use rsf::model::tool::{ToolError, ToolErrorKind};
use rsf::model::tools;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

/// A project with traps laid by a person or an earlier, freer program.
fn trapped(outside: &Path) -> Desk {
    let mut desk = Desk::with("src/flow/w.json");
    for (path, text) in
        [("src/flow/w.json", "{}"), ("src/deep/x", "x"), ("rdf/private.ttl", "p"), ("plain.txt", "plain"), (".rsf/journal", "j")]
    {
        desk.put(path, text.as_bytes());
    }
    fs::write(outside.join("secret"), "s").unwrap();
    for (link, to) in
        [("src/to_outside", outside.to_path_buf()), ("src/to_secret", outside.join("secret")), ("src/dangling", outside.join("none"))]
    {
        symlink(to, desk.project.path().join(link)).unwrap();
    }
    symlink("/dev/zero", desk.project.path().join("src/zero")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(desk.project.path().join("src/fifo")).status().unwrap();
    assert!(fifo.success());
    desk.grants.read = globs(&["src/**", "tests/**", "plain.txt"]);
    desk.grants.write = globs(&["src/**", "tests/**"]);
    desk.grants.exec = Exec::Yes;
    desk
}

fn session(tools: Vec<ToolSpec>) -> Session {
    Session::new(SessionSpec {
        asker: rsf::agent::Asker::default(),
        session_id: "s".into(),
        model: "m".into(),
        system: String::new(),
        prompt: "be good".into(),
        tools,
        output: OutputContract { schema: json!(true), check: Arc::new(|_| Vec::new()) },
        max_turns: 1000,
        max_repairs: 3,
        output_bytes: 4096,
        governor: None,
    })
}

/// Path → content of everything in a folder, links as what they say.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(place) = waiting.pop() {
        for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            let content = match () {
                () if kind.is_dir() => {
                    waiting.push(entry.path());
                    continue;
                }
                () if kind.is_symlink() => fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned().into_bytes(),
                () if kind.is_file() => fs::read(entry.path()).unwrap(),
                () => Vec::new(),
            };
            found.insert(entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned(), content);
        }
    }
    found
}

fn filled(value: &Value, places: &[(&str, String)]) -> Value {
    let text = places.iter().fold(value.to_string(), |text, (name, place)| text.replace(name, place));
    serde_json::from_str(&text).unwrap()
}

/// Whether the attempt was refused by whom the list says.
fn refused(by: &str, answer: &Result<Value, ToolError>) -> bool {
    match (by, answer) {
        ("gate", Err(error)) => error.kind == ToolErrorKind::Denied,
        ("arguments", Err(error)) => error.kind == ToolErrorKind::Arguments,
        ("kernel", Ok(value)) => {
            value["exit"] != 0 && value["confined"] == true && value["refused"].as_array().is_some_and(|r| !r.is_empty())
        }
        _ => false,
    }
}

#[tokio::test]
async fn a_hostile_agent_gets_nowhere_and_everything_is_on_record() {
    if !rsf::world::support().is_full() {
        eprintln!("this kernel cannot confine programs: nothing was tested");
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let real = outside.path().canonicalize().unwrap();
    let desk = trapped(&real);
    let _local = std::os::unix::net::UnixListener::bind(real.join("socket")).unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = std::env::home_dir().unwrap();
    let places = [
        ("{outside}", real.to_string_lossy().into_owned()),
        ("{home}", home.to_string_lossy().into_owned()),
        ("{pid}", std::process::id().to_string()),
        ("{port}", server.local_addr().unwrap().port().to_string()),
    ];
    let (outside_before, project_before) = (contents(&real), contents(desk.project.path()));
    let list: Value = serde_json::from_slice(&crate::desk::case("hostile/attempts.json")).unwrap();
    let offered = |name: &str| {
        let tool = tools::find(name).unwrap();
        ToolSpec { name: tool.wire_name(), description: String::new(), parameters: tool.arguments.clone() }
    };
    let mut session = session(["read", "write", "edit", "exec"].map(offered).to_vec());
    let mut next = session.start();
    let mut flags = 0;
    for attempt in list["attempts"].as_array().unwrap() {
        let arguments = filled(&attempt["with"], &places);
        let call = ToolCall { id: String::new(), name: attempt["call"].as_str().unwrap().to_owned(), arguments };
        assert!(matches!(next, Next::Ask(_)), "{next:?}");
        let Next::Call { call } = session.model(Ok(ModelReply { calls: vec![call], finish: Finish::ToolCalls, ..ModelReply::default() }))
        else {
            panic!("{attempt}: not called")
        };
        let answer = desk.send(desk.request(&call.name, call.arguments)).await;
        assert!(refused(attempt["by"].as_str().unwrap(), &answer), "{attempt}: {answer:?}");
        next = session.tool(answer);
        let now = session.record().risk_flags.len();
        assert!(now > flags || attempt["by"] == "arguments", "{attempt}: refused in silence");
        flags = now;
    }
    assert_eq!(contents(&real), outside_before);
    let mut project = contents(desk.project.path());
    // What it was allowed to do on the way.
    assert!(project.remove("tests/out").is_some());
    project.retain(|path, _| !path.starts_with("src/deep") && !path.starts_with("src/gone"));
    let mut before = project_before;
    before.retain(|path, _| !path.starts_with("src/deep"));
    assert_eq!(project, before);
}

#[tokio::test]
async fn what_is_granted_works_under_the_kernels_eye() {
    let outside = tempfile::tempdir().unwrap();
    let desk = trapped(&outside.path().canonicalize().unwrap());
    for line in [
        "cat src/app.py plain.txt tests/test_app.py",
        "echo x > tests/new && mv tests/new src/deep/new && ln src/deep/new tests/again && rm src/deep/new tests/again",
        "mkdir -p tests/a/b && echo 1 > tests/a/b/c && rm -r tests/a",
        "echo x > \"$TMPDIR/x\" && echo y > ~/y && mktemp",
        "cat /dev/null && echo gone > /dev/null && head -c 4 /dev/urandom > /dev/null",
        "sleep 60 & kill $!",
        "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"'",
        "python3 -c 'import subprocess, threading, ssl, hashlib; subprocess.run([\"true\"], check=True)'",
    ] {
        let done = desk.call("exec", json!({ "shell": line })).await;
        assert!(done["exit"] == 0 && done["refused"] == json!([]), "{line}: {done}");
    }
}

#[tokio::test]
async fn a_checkout_is_all_a_confined_program_sees() {
    if !rsf::world::support().is_full() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let mut desk = trapped(&outside.path().canonicalize().unwrap());
    desk.grants.exec = Exec::Isolated;
    desk.grants.write = Vec::new();
    let handle = desk.call("git.checkout", json!({ "commit": "HEAD" })).await["handle"].clone();
    let project = desk.project.path().canonicalize().unwrap();
    let cat = format!("cat src/app.py && echo x > report.xml && cat {}/src/app.py", project.display());
    let done = desk.call("exec", json!({ "shell": cat, "in": handle, "collect": { "r": "report.xml" } })).await;
    assert!(done["exit"] != 0 && done["stdout"].as_str().unwrap().contains("return 1"), "{done}");
    assert_eq!((&done["collected"]["r"], done["refused"].as_array().unwrap().len()), (&json!("x\n"), 1));
    let write = format!("echo x > {}/src/app.py", project.display());
    assert_ne!(desk.call("exec", json!({ "shell": write, "in": handle })).await["exit"], 0);
}

#[tokio::test]
async fn limits_hold_from_the_first_moment() {
    if !rsf::world::support().is_full() {
        return;
    }
    let desk = Desk::new();
    let done = desk.call("exec", json!({ "shell": "ulimit -c; ulimit -n; ulimit -d" })).await;
    let figures: Vec<&str> = done["stdout"].as_str().unwrap().lines().collect();
    assert_eq!(figures, ["0", "4096", "8388608"], "{done}");
    let greedy = "import sys; x = bytearray(12 << 30)";
    let done = desk.call("exec", json!({ "argv": ["python3", "-c", greedy] })).await;
    assert!(done["exit"] == 1 && done["stderr"].as_str().unwrap().contains("MemoryError"), "{done}");
    let missing = desk.fault("exec", json!({ "argv": ["no-such-program"] })).await;
    assert!(missing.1.contains("no-such-program"), "{missing:?}");
}

#[tokio::test]
async fn our_own_git_runs_nothing_that_the_repository_names() {
    let desk = Desk::new();
    let marker = desk.project.path().join("ran");
    let touch = format!("touch {}", marker.display());
    let hook = format!("#!/bin/sh\n{touch}\nexit 1\n");
    for name in ["pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"] {
        let path = desk.project.path().join(".git/hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &hook).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (key, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("core.hooksPath", ".git/hooks"),
        ("diff.external", touch.as_str()),
        ("core.pager", touch.as_str()),
        ("gpg.program", touch.as_str()),
        ("commit.gpgsign", "true"),
        ("filter.x.clean", touch.as_str()),
        ("filter.x.smudge", touch.as_str()),
        ("diff.x.textconv", touch.as_str()),
        ("core.sshCommand", touch.as_str()),
        ("alias.status", &format!("!{touch}")),
    ] {
        super::desk::git(desk.project.path(), &["config", key, value]);
    }
    desk.put(".gitattributes", b"*.md diff=x\n");
    desk.put("src/app.py", b"def f():\n    return 2\n");
    desk.put("notes.md", b"n\n");
    desk.call("git.status", json!({})).await;
    desk.call("git.diff", json!({})).await;
    let done = desk.call("git.commit", json!({ "message": "second" })).await;
    assert!(done["sha"].is_string() || done["commit"].is_string(), "{done}");
    desk.call("git.show", json!({ "commit": "HEAD" })).await;
    desk.call("git.log", json!({})).await;
    desk.call("git.checkout", json!({ "commit": "HEAD" })).await;
    desk.call("git.revert", json!({ "commit": "HEAD" })).await;
    assert!(!marker.exists());
}
