//! The watchdog: deaths of the engine, restarts, the end after too many, and nothing left behind.

use super::{Base, Trial};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Processes whose command line or environment names the project.
fn processes_of(project: &Path) -> Vec<String> {
    let wanted = project.to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    all.filter_map(|entry| {
        let line = String::from_utf8_lossy(&std::fs::read(entry.path().join("cmdline")).unwrap_or_default()).replace('\0', " ");
        line.contains(&wanted).then_some(line)
    })
    .collect()
}

/// Runs with a watchdog, dies at every start's `at`-th fault point, and waits until nothing of it is left (the pipes are held by all of them).
fn die(trial: &Trial, at: &str) -> String {
    let project = trial.project.to_string_lossy().into_owned();
    let mut command = trial.rsf(&["resume", "--format", "json", "--repo", &project]);
    let output = command.env_remove("RSF_NO_WATCHDOG").env("RSF_CRASH_AT", at).output().unwrap();
    assert_eq!(output.status.signal(), Some(9));
    let left = processes_of(&trial.project);
    assert!(left.is_empty(), "{left:?}");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_death_is_written_down_and_the_run_goes_on_by_itself() {
    let trial = Base::new().trial();
    // What is left of the run after this point has fewer such points, so that the engine dies once only.
    let said = die(&trial, "git.after#50");
    assert!(said.contains("\"result\":\"SUCCESS\""), "{said}");
    let log = std::fs::read_to_string(trial.run_dir().join("CRASH.log")).unwrap();
    for part in ["death 1, 3 restarts are allowed", "interaction_id: manual-", "round: ", "cells under way: ", "last records ("] {
        assert!(log.contains(part), "{part} is missing in {log}");
    }
}

#[test]
fn after_too_many_deaths_the_run_is_ended() {
    let trial = Base::new().trial();
    let said = die(&trial, "90");
    assert!(said.contains("\"result\":\"FATAL\""), "{said}");
    let log = std::fs::read_to_string(trial.run_dir().join("CRASH.log")).unwrap();
    assert_eq!(log.matches("=== ").count(), 4, "{log}");
    assert!(trial.run_dir().join("reports/session-summary.md").exists());
}

#[test]
fn a_run_that_ends_in_order_leaves_no_watchdog() {
    let trial = Base::new().trial();
    let project = trial.project.to_string_lossy().into_owned();
    let output = trial.rsf(&["resume", "--format", "json", "--repo", &project]).env_remove("RSF_NO_WATCHDOG").output().unwrap();
    assert!(output.status.success());
    assert!(processes_of(&trial.project).is_empty());
    assert!(!trial.run_dir().join("CRASH.log").exists());
    assert!(std::fs::read_to_string(trial.run_dir().join("HEARTBEAT")).unwrap().contains("\"pid\""));
}
