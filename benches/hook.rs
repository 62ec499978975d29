//! Whole processes: `rsf hook post-tool-use` against a POSIX shell script with jq that does the same, in pairs, taking turns.
//!
//! `cargo bench --bench hook`. Both are started the same way, with the same payload, in a project of their own; the medians, their ratio and
//! the largest memory are printed. Without jq and flock there is nothing to compare with, and only our own figures are given.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a measurement that cannot be made has failed")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAIRS: usize = 300;
const PAYLOAD: &str = include_str!("../tests/cases/hook/in/in-posttooluse-min.json");

fn run(command: &mut Command, project: &Path) -> Duration {
    let started = Instant::now();
    let mut child = command
        .env("CLAUDE_PROJECT_DIR", project)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(PAYLOAD.as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    started.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Largest resident memory of one run in kilobytes, as GNU time tells it; `None` where that is not installed.
fn memory(program: &str, project: &Path) -> Option<u64> {
    let mut child = Command::new("/usr/bin/time")
        .args(["-f", "%M", program, "hook", "post-tool-use"])
        .env("CLAUDE_PROJECT_DIR", project)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(PAYLOAD.as_bytes()).ok()?;
    String::from_utf8(child.wait_with_output().ok()?.stderr).ok()?.trim().parse().ok()
}

fn main() {
    let program = env!("CARGO_BIN_EXE_rsf");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/hook_baseline.sh");
    let (ours_in, theirs_in) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let comparable = ["jq", "flock"].iter().all(|name| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok());
    let (mut ours, mut theirs, mut faster) = (Vec::new(), Vec::new(), 0);
    for pair in 0..PAIRS + 20 {
        let one = run(Command::new(program).args(["hook", "post-tool-use"]), ours_in.path());
        let other = if comparable { run(Command::new("sh").arg(script), theirs_in.path()) } else { Duration::ZERO };
        // The first pairs warm the caches.
        if pair >= 20 {
            faster += usize::from(one < other);
            ours.push(one);
            theirs.push(other);
        }
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!("rsf hook post-tool-use: median {:.2} ms", ours.as_secs_f64() * 1e3);
    if comparable {
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!("sh and jq:              median {:.2} ms", theirs.as_secs_f64() * 1e3);
        println!("ratio {ratio:.2}; faster in {faster} of {PAIRS} pairs");
    }
    if let Some(kilobytes) = memory(program, ours_in.path()) {
        println!("largest memory: {:.1} MB", kilobytes as f64 / 1024.0);
    }
    let count = std::fs::read_dir(ours_in.path().join(".claude/hooks/state")).unwrap().flatten();
    let counts: Vec<String> =
        count.filter(|e| e.path().extension().is_some_and(|x| x == "txt")).map(|e| std::fs::read_to_string(e.path()).unwrap()).collect();
    assert!(counts.len() == 1 && counts[0].parse::<usize>().unwrap() >= PAIRS + 20, "{counts:?}");
}
