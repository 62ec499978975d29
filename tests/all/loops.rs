//! team-loop through the real binary with a scripted model and stub tools: how each loop ends, what it leaves behind, what it refuses.
//!
//! Cases are data: `tests/cases/loop/cases.json`. The project lies on a path with a space and letters of other scripts.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The repository of this crate.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// JSON of a file of this repository.
pub fn json_file(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// git in `folder`, without the settings of the person at the keyboard; what it printed.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "core.quotepath=off"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Copies a folder with all it holds.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Makes `folder` a repository with an identity and everything in it committed.
pub fn commit_all(folder: &Path, message: &str) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "-q", "-b", "main"]);
        git(folder, &["config", "user.name", "a person"]);
        git(folder, &["config", "user.email", "person@example.invalid"]);
    }
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", message]);
}

/// team-loop with its prompts and schemas in a folder of its own, with `script` as what its models answer. Retries do not wait.
pub fn bundle(folder: &Path, script: &Value) -> PathBuf {
    for room in ["prompts", "schemas"] {
        copy(&home().join(room).join("team-loop"), &folder.join(room).join("team-loop"));
    }
    fs::create_dir_all(folder.join("workflows")).expect("a folder");
    fs::create_dir_all(folder.join("samples")).expect("a folder");
    let document = fs::read_to_string(home().join("workflows/team-loop.json")).expect("the workflow");
    let path = folder.join("workflows/team-loop.json");
    fs::write(&path, document.replace("\"backoff\": \"2s\"", "\"backoff\": \"0s\"")).expect("written");
    fs::write(folder.join("samples/script.json"), script.to_string()).expect("written");
    path
}

/// What a run of the binary left: exit code, events, what it said on standard error.
pub struct Ran {
    pub code: Option<i32>,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl Ran {
    pub fn ended(&self) -> &Value {
        let last = self.events.last().unwrap_or(&Value::Null);
        assert_eq!(
            last["type"],
            "ended",
            "the run did not end: {}\n{:#?}",
            self.stderr,
            self.events.iter().rev().take(4).collect::<Vec<_>>()
        );
        last
    }

    /// Models asked by cells whose id begins with `cell`, in order.
    pub fn asked(&self, cell: &str) -> Vec<&str> {
        let asked = self.events.iter().filter(|e| e["type"] == "effect-started" && e["kind"] == "model");
        asked.filter(|e| e["id"].as_str().is_some_and(|id| id.starts_with(cell))).filter_map(|e| e["what"].as_str()).collect()
    }
}

/// Runs the binary and gives each event to `meanwhile` as it comes.
pub fn rsf(args: &[&str], folder: &Path, mut meanwhile: impl FnMut(&Value)) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rsf"))
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stderr = child.stderr.take().expect("piped");
    let words = std::thread::spawn(move || {
        let mut words = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stderr, &mut words);
        String::from_utf8_lossy(&words).into_owned()
    });
    let mut events = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
        meanwhile(&event);
        events.push(event);
    }
    let code = child.wait().expect("it ends").code();
    Ran { code, events, stderr: words.join().expect("read") }
}

struct Loop {
    _temp: tempfile::TempDir,
    project: PathBuf,
    tools: PathBuf,
    workflow: PathBuf,
    settings: PathBuf,
    goal: String,
}

fn prepare(case: &Value) -> Loop {
    let temp = tempfile::tempdir().expect("a folder");
    let (project, tools) = (temp.path().join("ein Projekt 项目"), temp.path().join("tools"));
    for inner in ["src", "tests"] {
        fs::create_dir_all(project.join(inner)).expect("a folder");
    }
    fs::write(project.join("src/calc.py"), "def double(n):\n    return n + n\n").expect("written");
    fs::write(project.join("tests/test_base.py"), "def test_base():\n    assert 1 + 1 == 2  # covers 1\n").expect("written");
    commit_all(&project, "before");
    fs::create_dir_all(&tools).expect("a folder");
    fs::copy(home().join("tests/cases/loop/python"), tools.join("python")).expect("copied");
    if let Some(held) = case["hold"].as_str() {
        fs::write(tools.join("hold"), held).expect("written");
    }
    let mut script = json_file(&home().join("tests/cases/loop/base.json"));
    let mut answers = case["answers"].as_array().cloned().unwrap_or_default();
    if case["base"] != json!(false) {
        answers.append(script["answers"].as_array_mut().expect("a list"));
    }
    script["answers"] = answers.into();
    let workflow = bundle(&temp.path().join("bundle"), &script);
    let mut config = case.get("config").cloned().unwrap_or_else(|| json!({}));
    if config.get("repeats").is_none() {
        config["repeats"] = 2.into();
    }
    config["python"] = tools.join("python").to_string_lossy().into();
    // The stand-in lies outside the project and the system's folders, where a confined program may not look by itself.
    config["sandbox"] = json!({ "read": [tools], "write": [tools] });
    config["providers"] =
        json!({ "deepseek": null, "zai": null, "scripted": { "wire": "scripted", "models": ["*"], "script": "samples/script.json" } });
    let settings = temp.path().join("settings.json");
    fs::write(&settings, json!({ "config": config }).to_string()).expect("written");
    let goal = case["goal"].as_str().unwrap_or("branch coverage ≥ 50%").to_owned();
    Loop { _temp: temp, project, tools, workflow, settings, goal }
}

impl Loop {
    fn run(&self, goal: &str, meanwhile: impl FnMut(&Value)) -> Ran {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (workflow, project, settings) = (text(&self.workflow), text(&self.project), text(&self.settings));
        let args = ["run", &workflow, goal, "--repo", &project, "--config", &settings, "--yes", "--format", "json"];
        rsf(&args, &self.project, meanwhile)
    }

    fn stop(&self) {
        fs::create_dir_all(self.project.join(".team-loop")).expect("a folder");
        fs::write(self.project.join(".team-loop/STOP"), "").expect("written");
    }

    /// The user's own commit over a file that the attempt in hand made.
    fn interfere(&self, file: &str) {
        let path = self.project.join(file);
        fs::write(&path, "# mine\n").expect("written");
        commit_all(&self.project, "mine");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap_or_default()
    }

    /// Files below a folder of the project, in order.
    fn files(&self, folder: &str) -> Vec<PathBuf> {
        fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() { walk(&entry.path(), out) } else { out.push(entry.path()) }
            }
        }
        let mut out = Vec::new();
        walk(&self.project.join(folder), &mut out);
        out.sort();
        out
    }

    fn log_lines(&self) -> Vec<Value> {
        let logs = self.files("logs").into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        logs.flat_map(|path| {
            let text = fs::read_to_string(path).expect("a log");
            text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect::<Vec<Value>>()
        })
        .collect()
    }

    /// The table of the session summary: round, key result, retry, votes, result.
    fn table(&self) -> Vec<String> {
        let summary = self.text(".team-loop/reports/session-summary.md");
        let rows = summary.lines().filter(|line| line.starts_with("| ") && line.as_bytes().get(2).is_some_and(u8::is_ascii_digit));
        rows.map(|line| {
            let c: Vec<&str> = line.split('|').map(str::trim).collect();
            format!("{} {} {} {}{}{} {}", c[1], c[2], c[3], c[4], c[5], c[6], c[7])
        })
        .collect()
    }
}

/// Runs a case and gives what differs from what it expects.
fn differences(case: &Value) -> Vec<String> {
    let it = prepare(case);
    match case["before"].as_str() {
        Some("stop") => it.stop(),
        Some("dirty") => fs::write(it.project.join("src/calc.py"), "changed\n").expect("written"),
        _ => {}
    }
    let head = git(&it.project, &["rev-parse", "HEAD"]);
    let mut done = false;
    let ran = it.run(&it.goal, |event| {
        let testing = event["what"] == "exec" && event["id"].as_str().is_some_and(|id| id.starts_with("tester@7.r1."));
        if testing && !done && case.get("hold").is_some() {
            done = true;
            match case["meanwhile"].as_str() {
                Some("stop") => it.stop(),
                _ => it.interfere("tests/test_K1.1.py"),
            }
            fs::write(it.tools.join("go"), "").expect("written");
        }
    });
    let expect = &case["expect"];
    let mut wrong = Vec::new();
    let mut same = |what: &str, found: Value, wanted: &Value| {
        if !wanted.is_null() && &found != wanted {
            wrong.push(format!("{what}: {found}, expected {wanted}"));
        }
    };
    same("exit code", json!(ran.code), &expect["exit"]);
    if expect["untouched"] == json!(true) {
        same("head", json!(git(&it.project, &["rev-parse", "HEAD"])), &json!(head));
        same("run directory", json!(it.project.join(".team-loop").exists()), &json!(false));
        same("logs", json!(it.project.join("logs").exists()), &json!(false));
    } else {
        let ended = ran.ended();
        same("result", ended["result"].clone(), &expect["result"]);
        same("table", json!(it.table()), &expect["table"]);
        same("patches", json!(it.files(".team-loop/patches").len()), &expect["patches"]);
        same("CRs", json!(it.files(".team-loop/cr").len()), &expect["crs"]);
        same("exchanges", json!(ran.asked("").len()), &expect["exchanges"]);
        let errors = it.log_lines().iter().filter(|line| line["level"] == "ERROR").count();
        same("error records", json!(errors), &expect["errors"]);
        let rounds = it.table().len();
        let last = it.text(&format!(".team-loop/state-snapshots/{rounds}-t1.json"));
        let krs = serde_json::from_str::<Value>(&last).unwrap_or_default();
        for (kr, status) in expect["krs"].as_object().into_iter().flatten() {
            let found = krs["krs"].as_array().into_iter().flatten().find(|k| k["kr_id"] == json!(kr)).map(|k| k["status"].clone());
            same(kr, json!(found), status);
        }
        for (role, models) in expect["models"].as_object().into_iter().flatten() {
            let mut found = ran.asked(role);
            if role == "coder" {
                found.truncate(3);
            }
            same(role, json!(found), models);
        }
        let tags = git(&it.project, &["tag"]);
        let tags: Vec<&str> = tags.lines().filter_map(|tag| tag.rsplit('/').next()).collect();
        same("tags", json!(tags), &expect["tags"]);
    }
    contains(&mut wrong, &it, &ran, expect);
    wrong
}

fn contains(wrong: &mut Vec<String>, it: &Loop, ran: &Ran, expect: &Value) {
    let mut holds = |what: &str, text: &str, words: &Value| {
        let one = words.as_str().map(str::to_owned);
        let many = words.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        for word in one.into_iter().chain(many).filter(|word| !text.contains(word)) {
            wrong.push(format!("{what} lacks “{word}”: {}", text.chars().take(3000).collect::<String>()));
        }
    };
    holds("standard error", &ran.stderr, &expect["stderr"]);
    if expect["untouched"] == json!(true) {
        return;
    }
    holds("the reason", ran.ended()["reason"].as_str().unwrap_or_default(), &expect["reason"]);
    holds("the session summary", &it.text(".team-loop/reports/session-summary.md"), &json!([expect["result"]]));
    let state = it.text(".team-loop/STATE.md");
    holds("STATE.md", &state, &json!([expect["result"], "terminated"]));
    let logs: String = it.log_lines().iter().map(|line| format!("{line}\n")).collect();
    holds("the logs", &logs, &expect["log"]);
    holds("memory", &it.text("rdf/business/memory.ttl"), &expect["memory"]);
    let rounds: String = it.files(".team-loop/reports").iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    holds("the reports", &rounds, &expect["summary"]);
    if let [file, words] = expect["file"].as_array().map(Vec::as_slice).unwrap_or_default() {
        holds("the user's file", &it.text(file.as_str().unwrap_or_default()), words);
    }
    let health = it.text(".team-loop/reports/session-summary.md");
    let health = health.lines().find_map(|line| line.strip_prefix("- Health score: ")?.split(' ').next()?.parse::<i64>().ok());
    if let Some(bound) = expect["health_below"].as_i64()
        && health.is_none_or(|health| health >= bound)
    {
        wrong.push(format!("health {health:?}, expected below {bound}"));
    }
    // Whatever happened: seven confirmations for each round that was judged, and no change left behind but what the case leaves itself.
    let confirmed =
        it.log_lines().iter().filter(|line| line["level"] == "INFO" && line["round"].as_u64() <= Some(it.table().len() as u64)).count();
    if confirmed != 7 * it.table().len() {
        wrong.push(format!("{confirmed} confirmations in {} rounds", it.table().len()));
    }
    let dirt = git(&it.project, &["status", "--short"]);
    if !dirt.is_empty() && dirt.trim() != "?? stray.txt" {
        wrong.push(format!("the tree is not clean: {dirt}"));
    }
}

#[test]
fn every_loop_ends_as_its_table_says() {
    let all = json_file(&home().join("tests/cases/loop/cases.json"));
    let cases = all["cases"].as_array().expect("cases");
    let only = std::env::var("RSF_TEST_LOOP").unwrap_or_default();
    let (next, wrong) = (AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let name = case["name"].as_str().expect("a name");
                    if name.contains(&only) {
                        let found = std::panic::catch_unwind(|| differences(case)).unwrap_or_else(|_| vec!["it panicked".to_owned()]);
                        wrong.lock().expect("no panic").extend(found.into_iter().map(|what| format!("{name}: {what}")));
                    }
                }
            });
        }
    });
    let wrong = wrong.lock().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_second_loop_puts_the_first_ones_papers_away_and_goes_on_counting() {
    let rejected = json!({ "passed": false, "issues": ["no"], "suggestions": [] });
    let it = prepare(&json!({ "answers": [
        { "role": "reviewer", "reply": { "json": rejected } },
        { "role": "tester", "reply": { "json": { "passed": false, "issues": [] } } }
    ] }));
    let first = it.run("branch coverage ≥ 50%, max_rounds=1", |_| {});
    assert_eq!(first.code, Some(4), "{}", first.stderr);
    let files = |folder: &str| -> Vec<String> {
        it.files(folder)
            .iter()
            .map(|path| path.strip_prefix(it.project.join(folder)).expect("below").to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(files(".team-loop/cr"), ["CR-1.json"]);
    let (patch, run) = (files(".team-loop/patches"), first.events[0]["run"].as_str().expect("a run").to_owned());
    let summary = it.text(".team-loop/reports/session-summary.md");
    let second = it.run("branch coverage ≥ 60%, max_rounds=1", |_| {});
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    assert_eq!(files(".team-loop/cr"), ["CR-1.json", "CR-2.json"]);
    let patches = files(".team-loop/patches");
    assert!(patches.len() == 2 && patches.contains(&patch[0]), "{patches:?}");
    assert_eq!(it.text(&format!(".team-loop/runs/{run}/reports/session-summary.md")), summary);
    for moved in ["reports/R1-summary.md", "reports/token-R1.json", "state-snapshots/1-t0.json", "state-snapshots/1-t1.json", "STATE.md"] {
        assert!(it.project.join(".team-loop/runs").join(&run).join(moved).is_file(), "{moved} was not kept");
        assert!(it.project.join(".team-loop").join(moved).is_file(), "{moved} of the second run is missing");
    }
    assert!(!it.text(".team-loop/reports/session-summary.md").contains(&run));
    assert_eq!(git(&it.project, &["tag"]).lines().filter(|tag| tag.ends_with("/R1-failed")).count(), 2);
    assert_eq!(git(&it.project, &["status", "--short"]), "");
    // The second planner is given what the first loop learnt.
    assert_eq!(it.text("rdf/business/memory.ttl").matches("memoryOf").count(), 1, "one subject for one key result and round");
}

#[test]
fn a_workflow_that_was_written_into_the_project_runs_from_there_and_protects_itself() {
    let it = prepare(&json!({ "answers": [
        { "role": "coder", "turn": 1, "reply": { "calls": [
            { "tool": "write", "arguments": { "path": "tests/test_x.py", "text": "def test_x():\n    assert 1 + 1 == 2  # covers 9\n" } },
            { "tool": "write", "arguments": { "path": "workflows/team-loop.json", "text": "{}" } },
            { "tool": "write", "arguments": { "path": "prompts/team-loop/coder.md", "text": "do as you like" } }
        ] } }
    ] }));
    let init = rsf(&["init", "team-loop", &it.project.to_string_lossy()], &it.project, |_| {});
    assert_eq!(init.code, Some(0), "{}", init.stderr);
    let document = it
        .text("workflows/team-loop.json")
        .replace("\"max_retries\": 3", "\"max_retries\": 7")
        .replace("\"backoff\": \"2s\"", "\"backoff\": \"0s\"");
    assert!(document.contains("\"max_retries\": 7"));
    fs::write(it.project.join("workflows/team-loop.json"), &document).expect("written");
    fs::create_dir_all(it.project.join("samples")).expect("a folder");
    fs::copy(it.workflow.with_file_name("../samples/script.json"), it.project.join("samples/script.json")).expect("copied");
    commit_all(&it.project, "a workflow of our own");
    let settings = it.settings.to_string_lossy().into_owned();
    // The widest rights a configuration can give do not reach the workflow's own files.
    let args = [
        "run",
        "workflows/team-loop.json",
        "branch coverage ≥ 50%, max_rounds=1",
        "--config",
        &settings,
        "--set",
        "config.scope.source=**",
        "--yes",
        "--format",
        "json",
    ];
    let ran = rsf(&args, &it.project, |_| {});
    assert_eq!(ran.ended()["result"], "MAX_ROUNDS", "{}", ran.stderr);
    let snapshot: Value = serde_json::from_str(&it.text(".team-loop/state-snapshots/1-t1.json")).expect("JSON");
    assert_eq!(snapshot["krs"][0]["max_retries"], 7, "the edited document ran");
    assert_eq!(it.text("workflows/team-loop.json"), document);
    assert_ne!(it.text("prompts/team-loop/coder.md"), "do as you like");
    assert_eq!(git(&it.project, &["status", "--short"]), "");
}

#[test]
fn a_file_in_the_project_does_not_capture_a_trigger_word() {
    let it = prepare(&json!({}));
    let python = format!("config.python={}", it.tools.join("python").display());
    for word in ["loop", "迭代研发", "team-loop", "迭代"] {
        fs::write(it.project.join(word), "{}").expect("written");
        commit_all(&it.project, word);
        let ran = rsf(&["run", word, "branch coverage ≥ 50%", "--profile", "demo", "--set", &python, "--dry-run"], &it.project, |_| {});
        assert_eq!(ran.code, Some(0), "{word}: {}", ran.stderr);
        let shown: String = ran.events.iter().filter_map(Value::as_str).collect();
        assert!(shown.contains("Standard single-round KR execution flow"), "{word}: {shown}");
    }
}
