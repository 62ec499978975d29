//! Seeing a run, going back in it, and undoing it: `runs`, `status`, `logs`, `replay`, `fork`, `undo`, `resume --set`, `stop`.

use super::{Base, Trial};
use serde_json::Value;
use std::process::Output;

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What `rsf` says with these arguments; it must end with this code.
fn rsf(trial: &Trial, code: i32, arguments: &[&str]) -> String {
    let output = trial.rsf(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "rsf {arguments:?}: {}", said(&output));
    said(&output)
}

fn git(trial: &Trial, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git").arg("-C").arg(&trial.project).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn name(trial: &Trial) -> String {
    trial.run().file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_run_is_seen_replayed_forked_and_undone() {
    let trial = Base::new().trial();
    let run = name(&trial);
    assert!(rsf(&trial, 0, &["runs"]).contains("unfinished"));
    assert!(rsf(&trial, 0, &["status"]).contains(&format!("`rsf resume {run}`")));
    rsf(&trial, 0, &["resume"]);

    assert!(rsf(&trial, 0, &["runs"]).contains(&format!("{run}  SUCCESS  round 6")));
    let told: Value = serde_json::from_str(&rsf(&trial, 0, &["status", "--json"])).unwrap();
    assert_eq!((told["state"].as_str(), told["round"].as_u64()), (Some("SUCCESS"), Some(6)));
    assert!(rsf(&trial, 0, &["replay"]).starts_with("the same: "));

    let logs = rsf(&trial, 0, &["logs", "--agent", "coder", "--level", "info", "--json"]);
    let logs: Vec<Value> = logs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(logs.len(), 6);
    assert!(logs.iter().all(|record| record["agent"] == "coder" && record["level"] == "INFO"));
    assert_eq!(rsf(&trial, 0, &["logs", "--interaction-id", "another"]), "");

    // The past up to round 5 is shared; the rest is run anew, on a branch of its own.
    let main = git(&trial, &["rev-parse", "main"]);
    assert!(rsf(&trial, 2, &["fork", &run, "--at", "9"]).contains("did not begin a round 9"));
    let fork = rsf(&trial, 0, &["fork", &run, "--at", "5"]);
    let fork = fork.split_whitespace().nth(1).unwrap();
    assert_eq!(git(&trial, &["branch", "--show-current"]).trim(), format!("rsf/{fork}"));
    rsf(&trial, 0, &["resume", fork]);
    assert_eq!(git(&trial, &["rev-parse", "main"]), main);
    let told: Value = serde_json::from_str(&rsf(&trial, 0, &["status", fork, "--json"])).unwrap();
    assert_eq!((told["state"].as_str(), told["round"].as_u64()), (Some("SUCCESS"), Some(6)));
    let mut numbers: Vec<_> = std::fs::read_dir(trial.run_dir().join("cr")).unwrap().map(|e| e.unwrap().file_name()).collect();
    numbers.sort();
    assert_eq!(numbers.len(), 8, "the two rounds of the fork have numbers of their own: {numbers:?}");

    // All commits of the first run, taken back on its branch.
    git(&trial, &["switch", "-q", "main"]);
    assert!(rsf(&trial, 2, &["undo", &run]).contains("--yes"));
    rsf(&trial, 0, &["undo", &run, "--yes"]);
    let first = git(&trial, &["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(git(&trial, &["diff", "--stat", first.trim(), "HEAD"]), "");
    assert!(rsf(&trial, 0, &["runs", "prune", "--keep", "1"]).contains("removed"));
    assert!(!rsf(&trial, 0, &["runs"]).contains(&format!("{run}  ")));
}

#[test]
fn a_run_that_ended_for_want_of_rounds_goes_on_with_more() {
    let trial = Base::with(&["--set", "config.max_rounds=2"]).trial();
    rsf(&trial, 4, &["resume"]);
    let told: Value = serde_json::from_str(&rsf(&trial, 0, &["status", "--json"])).unwrap();
    assert_eq!((told["state"].as_str(), told["round"].as_u64()), (Some("MAX_ROUNDS"), Some(2)));
    assert!(rsf(&trial, 4, &["resume", &name(&trial)]).contains("has ended with MAX_ROUNDS"));
    rsf(&trial, 1, &["resume", "--set", "config.stagnation_rounds=4"]);
    rsf(&trial, 0, &["resume", "--set", "config.max_rounds=20"]);
    let told: Value = serde_json::from_str(&rsf(&trial, 0, &["status", "--json"])).unwrap();
    assert_eq!((told["state"].as_str(), told["round"].as_u64()), (Some("SUCCESS"), Some(6)));
    assert!(trial.run().join("journal-before-1.jsonl").exists());
}

#[test]
fn a_stop_before_the_first_round_asks_no_model_and_is_answered_once() {
    let trial = Base::new().trial();
    std::fs::write(trial.run_dir().join("STOP"), "").unwrap();
    let said = rsf(&trial, 6, &["resume", "--format", "json"]);
    assert!(!said.contains("\"kind\":\"model\""), "{said}");
    assert!(!trial.run_dir().join("STOP").exists());
    assert!(rsf(&trial, 2, &["stop"]).contains("no run is under way"));
}

/// A run of a document of the user's own, killed in its second cell.
fn interrupted(first: &str, second: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = super::trial::temporary();
    let document = folder.path().join("two.json");
    write(&document, first, second);
    let output =
        own(folder.path(), &["run", "./two.json", "--yes", "--format", "json"]).env("RSF_CRASH_AT", "file.renamed#5").output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(9), "{}", said(&output));
    (folder, document)
}

fn write(document: &std::path::Path, first: &str, second: &str) {
    let cell = |task: &str, out: &str, input: &str, text: &str| {
        serde_json::json!({"task": task, "description": task, "in": if input.is_empty() { vec![] } else { vec![input] }, "out": [out],
            "run": [{"call": "write", "with": {"path": format!("{out}.txt"), "text": text}}, {"emit": {out: text}}],
            "permissions": {"write": ["*.txt"]}})
    };
    let text = serde_json::json!({"format": "roles-steps-flows", "version": "2.3", "description": "two cells",
        "roles": {"description": "r", "items": [{"id": "a", "description": "a"}]},
        "steps": {"description": "s", "items": [
            {"seq": 1, "description": "1", "cells": {"a": cell("first", "One", "", first)}},
            {"seq": 2, "description": "2", "cells": {"a": cell("second", "Two", "One", second)}}]},
        "flows": {"description": "f", "items": [
            {"id": "f1", "type": "sync", "from": {"role": "a", "seq": 1}, "to": {"role": "a", "seq": 2}, "what": "One"}]}});
    std::fs::write(document, text.to_string()).unwrap();
}

fn own(folder: &std::path::Path, arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rsf"));
    command.args(arguments).current_dir(folder).env("RSF_NO_WATCHDOG", "1").env_remove("RSF_CRASH_AT");
    command
}

#[test]
fn a_changed_document_is_refused_with_what_changed_and_accepted_where_nothing_done_is_touched() {
    let (folder, document) = interrupted("one", "two");
    write(&document, "one", "three");
    let refused = own(folder.path(), &["resume"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("(cell a@2 changed)"), "{}", said(&refused));
    write(&document, "another", "two");
    let touched = own(folder.path(), &["resume", "--accept-changes"]).output().unwrap();
    assert!(said(&touched).contains("a@1.r1.a1/1 is no longer the recorded one"), "{}", said(&touched));
    write(&document, "one", "two");
    assert_eq!(own(folder.path(), &["resume"]).output().unwrap().status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(folder.path().join("Two.txt")).unwrap(), "two");
}
