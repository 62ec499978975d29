//! Hooks of coding agents: payloads and scenarios as data, the program as agents start it, settings that are edited.
//!
//! `payloads.json`: a file of `in/`, the event it is handed to, and the counters that must lie there after it. `scenarios.json`: calls and stops in
//! a row, and what is said. In all payloads `/srv/demo` stands for the project.

use rsf::governor::Governor;
use rsf::hook::{Agent, Call, Event, Reply, command_of, findings, install, registered, run, uninstall};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rsf");
const STATE: &str = ".claude/hooks/state";

fn case(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hook").join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn list(path: &str) -> Vec<Value> {
    serde_json::from_slice(&case(path)).unwrap()
}

/// A payload with the project's path in place of the one in the case.
fn payload(file: &str, project: &Path) -> Vec<u8> {
    let bytes = case(&format!("in/{file}"));
    match String::from_utf8(bytes) {
        Ok(text) => text.replace("/srv/demo", project.to_str().unwrap()).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn call(event: &str) -> Call {
    Call { event: Event::named(event).unwrap_or_else(|| panic!("{event}")), agent: None, table: None }
}

fn nothing(_: &str) -> Option<OsString> {
    None
}

fn state_files(project: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(project.join(STATE)) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn counters(project: &Path) -> Vec<String> {
    state_files(project).into_iter().filter(|name| name.ends_with(".txt")).collect()
}

#[test]
fn every_payload_gets_what_is_due() {
    let cases = list("payloads.json");
    let used: Vec<&str> = cases.iter().filter_map(|case| case["file"].as_str()).collect();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hook/in")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(used.contains(&name.as_str()) || name.contains("aborted"), "no case uses {name}");
    }
    for case in &cases {
        let outer = TempDir::new().unwrap();
        let project = outer.path().join("a project");
        fs::create_dir(&project).unwrap();
        let file = case["file"].as_str().unwrap();
        let reply = run(&call(case["event"].as_str().unwrap()), payload(file, &project).as_slice(), &nothing);
        match (&reply, case["error"].as_str()) {
            (Err(message), Some(wanted)) => assert!(message.contains(wanted) && !message.contains('\n'), "{file}: {message}"),
            (Ok(reply), None) => {
                let answer = reply.answer.as_deref().unwrap_or_default();
                assert!(answer.contains(case["answer"].as_str().unwrap_or_default()), "{file}: {answer}");
                assert_eq!(answer.is_empty(), case["answer"].is_null(), "{file}: {answer}");
            }
            _ => panic!("{file}: {reply:?}"),
        }
        let wanted: Vec<&str> = case["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(counters(&project), wanted, "{file}");
        for name in wanted {
            assert_eq!(fs::read_to_string(project.join(STATE).join(name)).unwrap(), "1", "{file}");
        }
        let around: Vec<_> = fs::read_dir(outer.path()).unwrap().collect();
        assert_eq!(around.len(), 1, "{file} wrote beside the project");
    }
}

/// One session that is told things, step by step.
struct Scenario<'a> {
    name: &'a str,
    project: TempDir,
    env: Map<String, Value>,
}

impl Scenario<'_> {
    fn hand(&self, event: &str, file: &str, extra: &Value) -> Reply {
        let bytes = payload(file, self.project.path());
        let bytes = match extra.as_object() {
            Some(extra) if !extra.is_empty() => {
                let mut value: Value = serde_json::from_slice(&bytes).unwrap();
                value.as_object_mut().unwrap().extend(extra.clone());
                value.to_string().into_bytes()
            }
            _ => bytes,
        };
        let variable = |name: &str| self.env.get(name).and_then(Value::as_str).map(OsString::from);
        run(&call(event), bytes.as_slice(), &variable).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn counter(&self) -> PathBuf {
        self.project.path().join(STATE).join("turn-0f3c2a9e-5b1d-4c77-9a60-3d5e8f7a1b20.txt")
    }

    fn step(&self, step: &Value) {
        let name = self.name;
        let text = |key: &str, default: &'static str| step[key].as_str().map_or(default.to_owned(), str::to_owned);
        if let Some(times) = step["calls"].as_u64() {
            for _ in 0..times {
                let reply = self.hand(&text("event", "post-tool-use"), &text("file", "in-posttooluse-min.json"), &Value::Null);
                assert_eq!(reply.answer, None, "{name}: a call is never answered");
                let note = reply.note.unwrap_or_default();
                assert!(note.contains(&text("note", "")) && note.is_empty() == step["note"].is_null(), "{name}: {note}");
            }
        } else if let Some(wanted) = step.get("stop") {
            let mut extra = step["with"].as_object().cloned().unwrap_or_default();
            if let Some(active) = step.get("active") {
                extra.insert("stop_hook_active".to_owned(), active.clone());
            }
            let reply = self.hand(&text("event", "stop"), &text("file", "in-stop-no-flag.json"), &Value::Object(extra));
            let answer: Option<Value> = reply.answer.map(|answer| serde_json::from_str(&answer).unwrap());
            let wanted = wanted.as_str().map(|words| match step["form"].as_str() {
                Some("deny") => json!({"decision": "deny", "reason": words}),
                Some("followup") => json!({"followup_message": words}),
                _ => json!({"decision": "block", "reason": words}),
            });
            assert_eq!(answer, wanted, "{name}: {step}");
        } else if let Some(content) = step["write"].as_str() {
            fs::create_dir_all(self.project.path().join(STATE)).unwrap();
            fs::write(self.counter(), content).unwrap();
        } else if let Some(count) = step["count"].as_u64() {
            assert_eq!(fs::read_to_string(self.counter()).unwrap(), count.to_string(), "{name}");
        } else if let Some(file) = step["start"].as_str() {
            self.hand("session-start", file, &Value::Null);
        } else if step.get("end").is_some() {
            self.hand("session-end", "in-sessionend.json", &Value::Null);
        } else {
            assert_eq!(json!(state_files(self.project.path())), step["files"], "{name}");
        }
    }
}

#[test]
fn scenarios_play_out() {
    for case in list("scenarios.json") {
        let scenario = Scenario {
            name: case["name"].as_str().unwrap(),
            project: TempDir::new().unwrap(),
            env: case["env"].as_object().cloned().unwrap_or_default(),
        };
        if let Some(options) = case["options"].as_object() {
            own_table(scenario.project.path(), |table| table["options"].as_object_mut().unwrap().extend(options.clone()));
        }
        if let Some(other) = case["other"].as_str() {
            fs::create_dir_all(scenario.project.path().join(STATE)).unwrap();
            fs::write(scenario.project.path().join(STATE).join(other), "5").unwrap();
        }
        case["steps"].as_array().unwrap().iter().for_each(|step| scenario.step(step));
    }
}

/// Gives the project the built-in table, changed.
fn own_table(project: &Path, change: impl FnOnce(&mut Value)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut table: Value = serde_json::from_slice(&fs::read(root.join("workflows/turn-cadence.json")).unwrap()).unwrap();
    change(&mut table);
    fs::create_dir_all(project.join("workflows")).unwrap();
    fs::write(project.join("workflows/turn-cadence.json"), table.to_string()).unwrap();
}

#[test]
fn the_projects_own_texts_are_said_and_a_broken_table_says_nothing() {
    let project = TempDir::new().unwrap();
    let scenario = Scenario { name: "own", project, env: Map::new() };
    own_table(scenario.project.path(), |table| {
        table["rules"] = json!([{"id": "two", "when": "turn % 2 == 0", "then": {"text": "even {{ turn }}"}}])
    });
    scenario.step(&json!({"calls": 2}));
    scenario.step(&json!({"stop": "even 2"}));
    let missing = run(&call("session-start"), payload("in-sessionstart-startup.json", scenario.project.path()).as_slice(), &nothing);
    assert!(missing.unwrap_err().contains("`constraint` names"), "the project's table names a file that is not there");
    own_table(scenario.project.path(), |table| table["hit_policy"] = json!("collect"));
    scenario.step(&json!({"calls": 5}));
    let stop = |file: &str| run(&call("stop"), payload(file, scenario.project.path()).as_slice(), &nothing);
    assert!(stop("in-stop-no-flag.json").unwrap_err().contains("cannot be used"));
    let named = Call { table: Some("elsewhere.json".into()), ..call("stop") };
    let gone = run(&named, payload("in-stop-no-flag.json", scenario.project.path()).as_slice(), &nothing);
    assert_eq!(gone.unwrap(), Reply::default(), "the count was judged, whatever came of it");
}

#[test]
fn the_environment_names_the_project_for_the_agent_it_belongs_to() {
    let (named, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let variable = |name: &str| (name == "CLAUDE_PROJECT_DIR").then(|| named.path().as_os_str().to_owned());
    run(&call("post-tool-use"), payload("in-posttooluse-min.json", other.path()).as_slice(), &variable).unwrap();
    assert_eq!((counters(named.path()).len(), counters(other.path()).len()), (1, 0));
    // Codex started from within another agent inherits a variable that is not its own.
    run(&call("post-tool-use"), payload("in-codex-posttooluse.json", other.path()).as_slice(), &variable).unwrap();
    assert_eq!((counters(named.path()).len(), counters(other.path()).len()), (1, 1));
}

#[test]
fn cursors_own_hooks_make_those_of_others_stand_aside() {
    let project = TempDir::new().unwrap();
    let hand = |agent| {
        let call = Call { agent, ..call("post-tool-use") };
        run(&call, payload("in-cursor-posttooluse.json", project.path()).as_slice(), &nothing).unwrap();
    };
    let count = || fs::read_to_string(project.path().join(STATE).join("turn-cursor-1.txt")).unwrap_or_default();
    fs::create_dir(project.path().join(".cursor")).unwrap();
    let command = |event| command_of("/x/rsf", event, Agent::Cursor, None);
    fs::write(project.path().join(".cursor/hooks.json"), install(Agent::Cursor, None, &command).unwrap().text).unwrap();
    hand(None);
    assert_eq!(count(), "");
    hand(Some(Agent::Cursor));
    assert_eq!(count(), "1");
    fs::remove_file(project.path().join(".cursor/hooks.json")).unwrap();
    hand(None);
    assert_eq!(count(), "2");
}

#[test]
fn old_files_go_and_only_ours() {
    let project = TempDir::new().unwrap();
    let state = project.path().join(STATE);
    fs::create_dir_all(&state).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 60 * 60);
    for name in ["turn-old.txt", "turn-old.seen", "turn-old.a.txt", "notes.txt", "turn-notes.md", "turn-young.txt"] {
        let file = fs::File::create(state.join(name)).unwrap();
        if name != "turn-young.txt" {
            file.set_modified(old).unwrap();
        }
    }
    run(&call("session-start"), payload("in-sessionstart-resume.json", project.path()).as_slice(), &nothing).unwrap();
    assert_eq!(state_files(project.path()), ["notes.txt", "turn-notes.md", "turn-young.txt", "turn.lock"]);
}

// ── the program as agents start it ─────────────────────────────────────────────────────────────────────────────────────────────────────

fn start(args: &[&str], project: &Path, input: &[u8]) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(args)
        .env_clear()
        .env("CLAUDE_PROJECT_DIR", project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not want its input may close it early.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_hundred_processes_at_once_count_to_a_hundred() {
    let project = TempDir::new().unwrap();
    let input = case("in/in-posttooluse-min.json");
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let output = start(&["hook", "post-tool-use"], project.path(), &input);
                assert_eq!((output.status.code(), words(&output.stdout), words(&output.stderr)), (Some(0), String::new(), String::new()));
            });
        }
    });
    let [name] = <[String; 1]>::try_from(counters(project.path())).unwrap();
    assert_eq!(fs::read_to_string(project.path().join(STATE).join(name)).unwrap(), "100");
}

#[test]
fn many_stops_at_once_say_it_once() {
    let project = TempDir::new().unwrap();
    let input = case("in/in-stop-active.json");
    for _ in 0..7 {
        start(&["hook", "post-tool-use"], project.path(), &case("in/in-posttooluse-min.json"));
    }
    let said = std::thread::scope(|scope| {
        let all: Vec<_> = (0..12).map(|_| scope.spawn(|| start(&["hook", "stop"], project.path(), &input).stdout)).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|said| !said.is_empty()).collect::<Vec<_>>()
    });
    assert_eq!(said.len(), 1);
    let said = words(&said[0]);
    assert!(said.ends_with("}\n") && said.matches('\n').count() == 1, "one document and a newline: {said:?}");
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["decision"], "block");
}

#[test]
fn whatever_goes_wrong_the_agent_goes_on() {
    let good = case("in/in-posttooluse-min.json");
    let project = TempDir::new().unwrap();
    let faulty: [(&[&str], &[u8]); 9] = [
        (&["hook", "post-tool-use"], b""),
        (&["hook", "post-tool-use"], b"{"),
        (&["hook", "no-such-event"], &good),
        (&["hook"], &good),
        (&["hook", "post-tool-use", "--no-such-flag"], &good),
        (&["hook", "post-tool-use", "stop"], &good),
        (&["hook", "post-tool-use", "--agent", "nobody"], &good),
        (&["hook", "post-tool-use", "--agent"], &good),
        (&["hook", "stop"], &good),
    ];
    for (args, input) in faulty {
        let output = start(args, project.path(), input);
        let said = words(&output.stderr);
        assert_eq!((output.status.code(), words(&output.stdout)), (Some(0), String::new()), "{args:?}: {said}");
        assert!(said.starts_with("rsf hook: ") && said.ends_with('\n') && said.matches('\n').count() == 1, "{args:?}: {said:?}");
        let strict: Vec<&str> = args.iter().copied().chain(["--strict"]).collect();
        let output = start(&strict, project.path(), input);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
    assert_eq!(state_files(project.path()), Vec::<String>::new());
}

#[test]
fn a_state_folder_that_cannot_be_is_a_note() {
    let good = case("in/in-posttooluse-min.json");
    for (blocked, file) in [(".claude", true), (".claude/hooks", true), (STATE, true), (&*format!("{STATE}/turn.lock"), false)] {
        let project = TempDir::new().unwrap();
        let path = project.path().join(blocked);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if file {
            fs::write(&path, "in the way").unwrap()
        } else {
            fs::create_dir(&path).unwrap()
        }
        let output = start(&["hook", "post-tool-use"], project.path(), &good);
        assert_eq!((output.status.code(), words(&output.stdout)), (Some(0), String::new()), "{blocked}");
        assert!(words(&output.stderr).starts_with("rsf hook: "), "{blocked}");
    }
    let project = TempDir::new().unwrap();
    let counter = project.path().join(STATE).join("turn-0f3c2a9e-5b1d-4c77-9a60-3d5e8f7a1b20.txt");
    fs::create_dir_all(counter).unwrap();
    let output = start(&["hook", "post-tool-use"], project.path(), &good);
    assert!(output.status.success() && words(&output.stderr).contains("is a folder"), "{output:?}");
}

/// A limit on file sizes stands in for a full disk: the write fails after the file was opened.
#[cfg(unix)]
#[test]
fn a_full_disk_truncates_no_count_and_announces_nothing() {
    let project = TempDir::new().unwrap();
    let good = case("in/in-posttooluse-min.json");
    for _ in 0..7 {
        start(&["hook", "post-tool-use"], project.path(), &good);
    }
    let before = state_files(project.path());
    for (event, file) in [("post-tool-use", "in/in-posttooluse-min.json"), ("stop", "in/in-stop-active.json")] {
        let path = project.path().join("payload");
        fs::write(&path, case(file)).unwrap();
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" hook \"$1\" < \"$2\"";
        let output =
            Command::new("sh").args(["-c", script, PROGRAM, event]).arg(&path).env("CLAUDE_PROJECT_DIR", project.path()).output().unwrap();
        assert_eq!((output.status.code(), words(&output.stdout)), (Some(0), String::new()), "{event}");
        assert!(words(&output.stderr).starts_with("rsf hook: writing `turn-"), "{event}: {}", words(&output.stderr));
    }
    assert_eq!(state_files(project.path()), before, "nothing half written is left");
    assert_eq!(fs::read_to_string(project.path().join(STATE).join(&counters(project.path())[0])).unwrap(), "7");
    let output = start(&["hook", "stop"], project.path(), &case("in/in-stop-active.json"));
    assert!(words(&output.stdout).contains("TURN 7"), "there is room again, so it is said after all");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_count_is_not_followed() {
    let project = TempDir::new().unwrap();
    let victim = project.path().join("victim");
    fs::write(&victim, "3").unwrap();
    fs::create_dir_all(project.path().join(STATE)).unwrap();
    let counter = project.path().join(STATE).join("turn-0f3c2a9e-5b1d-4c77-9a60-3d5e8f7a1b20.txt");
    std::os::unix::fs::symlink(&victim, counter).unwrap();
    let output = start(&["hook", "post-tool-use"], project.path(), &case("in/in-posttooluse-min.json"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "3");
}

#[test]
fn answers_of_tools_of_any_size_are_passed_over() {
    let project = TempDir::new().unwrap();
    let mut value: Value = serde_json::from_slice(&case("in/in-posttooluse-min.json")).unwrap();
    value["tool_response"] = Value::from("x".repeat(3 * 1024 * 1024));
    let mut text = value.to_string();
    let deep = format!("\"deep\":{}{},", "[".repeat(100_000), "]".repeat(100_000));
    text.insert_str(1, &deep);
    let output = start(&["hook", "post-tool-use"], project.path(), text.as_bytes());
    assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), String::new()));
    assert_eq!(counters(project.path()).len(), 1);
}

#[test]
fn the_commands_for_people_work() {
    let project = TempDir::new().unwrap();
    let home = TempDir::new().unwrap();
    let rsf = |args: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(args)
            .current_dir(project.path())
            .env("HOME", home.path())
            .env_remove("CLAUDE_CONFIG_DIR")
            .output()
            .unwrap();
        (output.status.code().unwrap(), words(&output.stdout), words(&output.stderr))
    };
    let settings = project.path().join(".claude/settings.json");
    let (code, said, _) = rsf(&["hook", "install", "--dry-run"]);
    assert!(code == 0 && said.contains("+    \"Stop\": [") && !settings.exists(), "{said}");
    assert_eq!(rsf(&["hook", "install"]).0, 0);
    let first = fs::read(&settings).unwrap();
    assert!(rsf(&["hook", "install"]).1.contains("nothing to change"));
    assert_eq!(fs::read(&settings).unwrap(), first);
    assert!(
        rsf(&["hook", "status"]).1.contains("registered for PostToolUse, PostToolUseFailure, Stop, SubagentStop, SessionStart, SessionEnd")
    );
    assert_eq!(rsf(&["hook", "check"]).0, 0);
    assert_eq!(rsf(&["hook", "install", "--scope", "user"]).0, 0);
    let (code, said, _) = rsf(&["hook", "check"]);
    assert!(code == 1 && said.contains("double"), "{said}");
    assert_eq!(rsf(&["hook", "uninstall", "--scope", "user"]).0, 0);
    assert_eq!(rsf(&["hook", "uninstall"]).0, 0);
    assert!(!fs::read_to_string(&settings).unwrap().contains("rsf"));
    fs::write(&settings, case("settings/settings-broken.json")).unwrap();
    for command in ["install", "uninstall"] {
        assert_eq!(rsf(&["hook", command]).0, 2, "{command}");
        assert_eq!(fs::read(&settings).unwrap(), case("settings/settings-broken.json"));
    }
    assert_eq!(rsf(&["hook", "install", "--agent", "codex", "--scope", "local"]).0, 2);
    let (_, said, _) = rsf(&["hook", "simulate", "--turns", "1..40", "--stops", "3,12,36", "--task", "plan"]);
    assert_eq!(said.matches("DANGER").count(), 2, "{said}");
    assert!(said.contains("TURN 12") && said.contains("TURN 36") && said.contains("due at 35"), "{said}");
}

// ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

fn command(agent: Agent) -> impl Fn(Event) -> String {
    move |event| command_of("/opt/a b/rsf", event, agent, None)
}

fn settings(file: &str) -> String {
    words(&case(&format!("settings/{file}")))
}

#[test]
fn what_others_registered_stays_to_the_letter() {
    let before = settings("settings-existing-foreign-hooks.json");
    for agent in [Agent::Claude, Agent::Gemini] {
        let once = install(agent, Some(&before), &command(agent)).unwrap();
        assert_eq!(once.changed, agent.events().len());
        assert_eq!(install(agent, Some(&once.text), &command(agent)).unwrap().changed, 0, "twice is once");
        // Every line of the old file is still there, in its order.
        let mut lines = once.text.lines();
        for line in before.lines().filter(|line| line.trim().len() > 2) {
            let wanted = line.trim().trim_end_matches(',');
            assert!(lines.any(|line| line.trim().trim_end_matches(',') == wanted), "{wanted} is lost:\n{}", once.text);
        }
        assert!(once.text.contains("\"zeta\": 1.50e2") && once.text.contains("// kept: a remark"));
        let commands = registered(agent, &once.text).unwrap();
        assert_eq!(commands.len(), 2 + agent.events().len());
        let gone = uninstall(agent, &once.text).unwrap();
        assert_eq!(gone.changed, agent.events().len());
        assert_eq!(gone.text, before, "uninstalling undoes it to the letter");
    }
}

#[test]
fn an_old_entry_is_renewed_and_doubles_go() {
    let old = settings("settings-wrong-double.json");
    let edit = install(Agent::Claude, Some(&old), &command(Agent::Claude)).unwrap();
    let ours: Vec<_> = registered(Agent::Claude, &edit.text).unwrap().into_iter().filter(|(key, _)| key == "PostToolUse").collect();
    assert_eq!(ours.len(), 1);
    assert!(ours[0].1.starts_with("'/opt/a b/rsf'"), "{ours:?}");
}

#[test]
fn every_agent_gets_its_own_form() {
    for agent in Agent::ALL {
        let edit = install(agent, None, &command(agent)).unwrap();
        let value: Value = serde_json::from_str(&edit.text).unwrap();
        let found: Vec<&String> = value["hooks"].as_object().unwrap().keys().collect();
        let wanted: Vec<&str> = agent.events().iter().map(|named| named.key).collect();
        assert_eq!(found, wanted);
        assert_eq!(findings(agent, &edit.text, &|_| true), []);
        let stop = agent.events().iter().find(|named| named.event == Event::Stop).unwrap().key;
        let hook = if agent.nested() { &value["hooks"][stop][0]["hooks"][0] } else { &value["hooks"][stop][0] };
        assert_eq!(hook["timeout"], if agent == Agent::Gemini { 10_000 } else { 10 });
        assert!(value["hooks"][stop][0].get("matcher").is_none());
        let gone: Value = serde_json::from_str(&uninstall(agent, &edit.text).unwrap().text).unwrap();
        assert_eq!(gone, if agent == Agent::Cursor { json!({"version": 1}) } else { json!({}) });
    }
}

#[test]
fn settings_that_cannot_be_read_are_refused() {
    for file in [
        "settings-broken.json",
        "settings-trailing-comma.json",
        "settings-list.json",
        "settings-wrong-hooks.json",
        "settings-twice.json",
        "settings-wrong-flat-root.json",
    ] {
        let text = settings(file);
        assert!(install(Agent::Claude, Some(&text), &command(Agent::Claude)).is_err(), "{file}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(install(Agent::Claude, Some(&deep), &command(Agent::Claude)).is_err());
}

#[test]
fn faults_of_a_set_up_are_named() {
    for case in list("findings.json") {
        let file = case["file"].as_str().unwrap();
        let exists = |path: &str| !path.starts_with("/gone");
        let found: Vec<String> =
            findings(Agent::Claude, &settings(file), &exists).into_iter().map(|f| format!("{} {}", f.kind, f.at)).collect();
        assert_eq!(json!(found), case["findings"], "{file}");
    }
}

#[test]
fn the_built_in_table_is_the_seeds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("workflows/turn-cadence.json")).unwrap();
    for words in [
        "禁止无效重试——切换策略或换工具。",
        "重新读取 boot.md 和当前任务 SKILL.md，更新 working memory。",
        "必须调用 ask_user 报告当前状态后才能继续。",
    ] {
        assert!(text.contains(&format!("\"[DANGER: TURN {{{{ turn }}}}] {words}\"")), "{words}");
    }
    let rules = rsf::hook::load(Path::new("/nowhere"), None).unwrap();
    let _: &Governor = &rules.governor;
    assert!(rules.constraint().unwrap().unwrap().contains("outranks"));
}
