//! One trial: a project with a begun run, copied, driven by the real program, and looked at afterwards.

use regex::Regex;
use rsf::journal::{Blobs, Reader, canonical};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Death {
    /// Killed at the point that was asked for.
    Killed,
    /// It ended by itself with this code: the point was never reached.
    Exit(i32),
}

/// Memory where there is a file system in it: a SIGKILL loses nothing that was written, synced or not.
pub(super) fn temporary() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).unwrap()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn copy(from: &Path, to: &Path) {
    checked(Command::new("cp").arg("-a").arg(from).arg(to));
}

fn git(project: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    checked(command.arg("-C").arg(project).args(args))
}

/// A project whose run has its header and nothing more: every trial goes on from here, so all have the same ids and the same seed.
pub struct Base {
    folder: TempDir,
}

impl Base {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// The same with further arguments of `rsf run`.
    pub fn with(arguments: &[&str]) -> Self {
        let folder = temporary();
        let project = folder.path().join("project");
        copy(&root().join("samples/team-loop/project"), &project);
        git(&project, &["init", "-q", "-b", "main"]);
        for (name, value) in [("user.name", "t"), ("user.email", "t@t"), ("core.autocrlf", "false")] {
            git(&project, &["config", name, value]);
        }
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-q", "-m", "first"]);
        let python = root().join("tests/cases/durable/python");
        let mut command = program(&project);
        command.args(["run", "team-loop", "branch coverage ≥ 80%, budget≤¥20", "--repo"]).arg(&project);
        command.args(["--profile", "demo", "--yes", "--set"]).arg(format!("config.python={}", python.display()));
        // The stand-in lies outside the project and the system's folders, where a confined program may not look by itself.
        let stand_in = root().join("tests/cases/durable");
        command.arg("--set").arg(format!("config.sandbox={}", serde_json::json!({ "read": [stand_in] }))).args(arguments);
        let output = command.env("RSF_CRASH_AT", "journal.synced#1").output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{}", said(&output));
        Self { folder }
    }

    pub fn trial(&self) -> Trial {
        let folder = temporary();
        let project = folder.path().join("project");
        copy(&self.folder.path().join("project"), &project);
        Trial { _folder: folder, project }
    }
}

fn program(project: &Path) -> Command {
    // Another build of it may be tried, e.g. a release build with the feature `fault-points`.
    let mut command = Command::new(std::env::var_os("RSF_CRASH_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_rsf").into()));
    command.stdin(Stdio::null()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env_remove("RSF_CRASH_AT").env_remove("RSF_CRASH_LOG").env("RSF_NO_WATCHDOG", "1").current_dir(project);
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub struct Trial {
    _folder: TempDir,
    pub project: PathBuf,
}

impl Trial {
    /// `rsf` with these arguments in the project.
    pub fn rsf(&self, arguments: &[&str]) -> Command {
        let mut command = program(&self.project);
        command.args(arguments);
        command
    }

    /// Goes on with the run; dies at `at`, where it is given.
    pub fn resume(&self, at: Option<&str>) -> (Death, String) {
        let mut command = self.rsf(&["resume", "--format", "json"]);
        if let Some(at) = at {
            command.env("RSF_CRASH_AT", at);
        }
        let output = command.output().unwrap();
        let death = match output.status.signal() {
            Some(9) => Death::Killed,
            _ => Death::Exit(output.status.code().unwrap_or(-1)),
        };
        (death, said(&output))
    }

    /// Names of all fault points of the rest of the run, in order.
    pub fn points(&self) -> Vec<String> {
        let log = self.project.with_file_name("points");
        let output = self.rsf(&["resume", "--format", "json"]).env("RSF_CRASH_LOG", &log).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
    }

    pub fn run_dir(&self) -> PathBuf {
        self.project.join(".team-loop")
    }

    /// The folder of the only run.
    pub fn run(&self) -> PathBuf {
        let runs: Vec<PathBuf> = std::fs::read_dir(self.run_dir().join("runs"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.join("journal.jsonl").exists())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Everything that must be the same however often the run was killed, as named texts.
    pub fn account(&self) -> BTreeMap<String, String> {
        let mut account = BTreeMap::new();
        let folder = self.run();
        let records = Reader::open(&folder).unwrap().poll().unwrap();
        let record = canonical(&records, &Blobs::of(&folder)).unwrap();
        account.insert("canonical record".to_owned(), record.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n"));
        let cleaner = Cleaner::new(&self.project);
        self.files(&self.project.clone(), &cleaner, &mut account);
        let log = git(&self.project, &["log", "--reverse", "--format=%s%n%b", "--name-status"]);
        account.insert("git log".to_owned(), cleaner.clean(&log));
        account.insert("git tags".to_owned(), git(&self.project, &["tag", "-l", "--format=%(refname) %(subject)"]));
        account.insert("git status".to_owned(), git(&self.project, &["status", "--porcelain"]));
        account
    }

    fn files(&self, folder: &Path, cleaner: &Cleaner, account: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&self.project).unwrap().to_string_lossy().into_owned();
            // What the engine keeps for itself: the journal is compared as the canonical record.
            if matches!(
                name.as_str(),
                ".git"
                    | ".team-loop/runs"
                    | ".team-loop/LOCK"
                    | ".team-loop/traces.json"
                    | ".team-loop/HEARTBEAT"
                    | ".team-loop/SCRATCH"
                    | ".team-loop/RESERVE"
            ) {
                continue;
            }
            if path.is_dir() {
                self.files(&path, cleaner, account);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                account.insert(name, cleaner.clean(&String::from_utf8_lossy(&bytes)));
            }
        }
    }
}

/// Takes out of a file what may differ between two runs: the project's place, times, latencies, and shas (numbered by first appearance).
struct Cleaner {
    project: String,
    patterns: Vec<(Regex, &'static str)>,
    sha: Regex,
}

impl Cleaner {
    fn new(project: &Path) -> Self {
        let regex = |text: &str| Regex::new(text).unwrap();
        let patterns = vec![
            (regex("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z?"), "<time>"),
            (regex("[0-9]+[.][0-9]+ (min|h)\\b"), "<duration>"),
            (regex("\"latency_ms\": ?[0-9]+"), "<latency>"),
            (regex("index [0-9a-f]{7,}[.]{2}[0-9a-f]{7,}"), "<index>"),
        ];
        Self { project: project.to_string_lossy().into_owned(), patterns, sha: regex("\\b[0-9a-f]{40}\\b") }
    }

    fn clean(&self, text: &str) -> String {
        let mut text = text.replace(&self.project, "<project>");
        for (pattern, with) in &self.patterns {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        let mut known: Vec<String> = Vec::new();
        let numbered = |found: &regex::Captures<'_>| {
            let at = known.iter().position(|sha| *sha == found[0]).unwrap_or_else(|| {
                known.push(found[0].to_owned());
                known.len() - 1
            });
            format!("<sha {at}>")
        };
        self.sha.replace_all(&text, numbered).into_owned()
    }
}

/// The first differences between two accounts, for people; empty where there are none.
pub fn differences(wanted: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, expected) in wanted {
        match found.get(name) {
            None => writeln!(text, "  {name}: missing").unwrap(),
            Some(there) if there != expected => {
                let (mut a, mut b) = (expected.lines(), there.lines());
                let (mut number, mut lines) = (0, (None, None));
                while lines.0 == lines.1 {
                    lines = (a.next(), b.next());
                    number += 1;
                    if lines == (None, None) {
                        break;
                    }
                }
                writeln!(
                    text,
                    "  {name}, line {number}:\n    wanted {}\n    found  {}",
                    around(lines.0, lines.1),
                    around(lines.1, lines.0)
                )
                .unwrap();
            }
            Some(_) => {}
        }
    }
    for name in found.keys().filter(|name| !wanted.contains_key(*name)) {
        writeln!(text, "  {name}: should not be there").unwrap();
    }
    text
}

/// The part of a line where it begins to differ from the other.
fn around(line: Option<&str>, other: Option<&str>) -> String {
    let (line, other) = (line.unwrap_or("<nothing>"), other.unwrap_or_default());
    let same = line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    line.chars().skip(same.saturating_sub(120)).take(300).collect()
}

/// The engine's last words, for a report of a failure.
pub fn last(text: &str) -> String {
    text.lines().rev().take(4).map(|line| line.chars().take(400).collect::<String>()).collect::<Vec<_>>().join("\n    ")
}
