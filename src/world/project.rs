//! Facts a workflow may require before anything is written (docs/language.md, 3.1): programs, the state of the repository, Python modules.
//!
//! Reads and asks only. Every unmet requirement is reported, each with the sentence its author wrote.

use super::git::{Repo, Status};
use super::{Cancel, ProcessSpec, compile_globs, inherited_env, run_process};
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Duration;

/// Longest a program may take to say that it is there.
const PROBE: Duration = Duration::from_secs(30);
const PROBE_BYTES: usize = 4096;

/// A requirement that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What was looked at, e.g. `commands: git --version` or `git: clean`.
    pub requirement: String,
    /// The sentence of the document, with what was found where that helps.
    pub message: String,
}

impl Unmet {
    fn new(requirement: impl Into<String>, message: impl Into<String>) -> Self {
        Self { requirement: requirement.into(), message: message.into() }
    }
}

/// The requirements that do not hold in the project at `root`. `python` is the interpreter to ask (`python3` unless configured).
pub async fn preflight(root: &Path, requires: &Map<String, Value>, python: &str) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    for (key, value) in requires {
        match key.as_str() {
            "commands" => commands(root, value, &mut unmet).await,
            "git" => git(root, value, &mut unmet),
            "python" => modules(root, value, python, &mut unmet).await,
            other => unmet.push(Unmet::new(other, format!("this program knows no requirement `{other}`"))),
        }
    }
    unmet
}

async fn commands(root: &Path, value: &Value, unmet: &mut Vec<Unmet>) {
    for entry in value.as_array().into_iter().flatten() {
        let argv: Vec<String> = entry["run"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let requirement = format!("commands: {}", argv.join(" "));
        if let Some(found) = failure(root, argv).await {
            unmet.push(Unmet::new(requirement, explained(entry["hint"].as_str(), &found)));
        }
    }
}

async fn modules(root: &Path, value: &Value, python: &str, unmet: &mut Vec<Unmet>) {
    let mut missing = Vec::new();
    for module in value["modules"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        // The name is an argument of its own, never part of the program text; the project's own files are not looked at, let alone run.
        let code = "import sys; sys.path = [p for p in sys.path if p]; import importlib; importlib.import_module(sys.argv[1])";
        let argv = [python, "-c", code, module].map(str::to_owned).to_vec();
        if failure(root, argv).await.is_some() {
            missing.push(format!("`{module}`"));
        }
    }
    if !missing.is_empty() {
        let found = format!("{python} cannot import {}", missing.join(", "));
        unmet.push(Unmet::new("python", explained(value["hint"].as_str(), &found)));
    }
}

/// Why a probing command did not succeed; `None` when it did.
async fn failure(root: &Path, argv: Vec<String>) -> Option<String> {
    let spec = ProcessSpec {
        argv,
        cwd: root.to_path_buf(),
        env: inherited_env(),
        stdin: None,
        timeout: PROBE,
        keep_bytes: PROBE_BYTES,
        confinement: None,
    };
    match run_process(spec, &Cancel::new()).await {
        Ok(done) if done.exit == Some(0) => None,
        Ok(done) if done.timed_out => Some(format!("no answer within {} seconds", PROBE.as_secs())),
        Ok(done) => Some(done.exit.map_or_else(|| "it was ended by a signal".to_owned(), |code| format!("it ended with status {code}"))),
        Err(fault) => Some(fault.message),
    }
}

fn git(root: &Path, value: &Value, unmet: &mut Vec<Unmet>) {
    let mut miss = |name: &str, found: &str| {
        if let Some(sentence) = value[name].as_str() {
            unmet.push(Unmet::new(format!("git: {name}"), explained(Some(sentence), found)));
        }
    };
    let status = match Repo::open(root) {
        Ok(Some(repo)) => repo.status(),
        Ok(None) => return miss("repository", ""),
        Err(fault) => Err(fault),
    };
    let status = match status {
        Ok(status) => status,
        Err(fault) => return miss("repository", &fault.message),
    };
    if status.detached {
        miss("branch", "HEAD is detached");
    } else if status.unborn {
        miss("branch", "the branch has no commit yet");
    }
    if !status.identity {
        miss("identity", "");
    }
    let ignore: Vec<String> = value["ignore"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    match dirt(&status, &ignore) {
        Ok(dirt) if dirt.is_empty() => {}
        Ok(dirt) => miss("clean", &sample(&dirt)),
        Err(message) => miss("clean", &message),
    }
}

fn dirt(status: &Status, ignore: &[String]) -> Result<Vec<String>, String> {
    let ignored = compile_globs(ignore, false).map_err(|fault| fault.message)?;
    let counts = |path: &&String| !ignored.is_match(path.trim_end_matches('/'));
    Ok(status.dirty.iter().filter(counts).cloned().collect())
}

fn sample(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| path.escape_debug().to_string()).collect();
    let more = if paths.len() > 5 { format!(" and {} more", paths.len() - 5) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn explained(sentence: Option<&str>, found: &str) -> String {
    match (sentence, found) {
        (None, found) => found.to_owned(),
        (Some(sentence), "") => sentence.to_owned(),
        (Some(sentence), found) => format!("{sentence} ({found})"),
    }
}
