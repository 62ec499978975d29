//! `rsf run` as a person or a script meets it: the real binary in a repository of its own.

use crate::program::{Ended, Place, case};
use serde::Deserialize;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// One row of `tests/cases/run/refusals.json`.
#[derive(Deserialize)]
struct Refusal {
    name: String,
    repository: bool,
    prepare: Vec<Vec<String>>,
    args: Vec<String>,
    exit: i32,
    says: String,
}

#[test]
fn a_run_that_is_refused_says_what_to_do_and_leaves_no_trace() {
    let refusals: Vec<Refusal> = serde_json::from_str(&std::fs::read_to_string(case("refusals.json")).unwrap()).unwrap();
    assert!(refusals.len() > 20);
    for refusal in refusals {
        let name = &refusal.name;
        let place = if refusal.repository { Place::new() } else { Place::bare() };
        for command in &refusal.prepare {
            place.git(&command.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let seed = case("../seed/team-loop.seed.json");
        let args: Vec<&str> = refusal.args.iter().map(|arg| if arg == "@seed" { seed.as_str() } else { arg.as_str() }).collect();
        let before = place.tree();
        let ended = place.run(&args);
        assert_eq!(ended.code, Some(refusal.exit), "{name}: {ended:?}");
        assert!(ended.err.contains(&refusal.says), "{name}: `{}` in {}", refusal.says, ended.err);
        assert_eq!(ended.out, "", "{name}");
        assert!(place.tree() == before, "{name}: something was written");
    }
}

#[test]
fn a_rehearsal_shows_the_plan_the_prompts_and_the_cost_and_touches_nothing() {
    let place = Place::new();
    let before = place.tree();
    let ended = place.run(&["writer-editor", "why rivers bend", "--profile", "demo", "--dry-run", "--branch", "fresh"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in
        ["topic: why rivers bend", "rounds: 20", "writer: Write", "first prompt of writer@1", "Write about: why rivers bend", "cost"]
    {
        assert!(ended.out.contains(words), "`{words}` in {}", ended.out);
    }
    // What would be refused is said, and is no success.
    let ended = place.run(&["writer-editor", "why rivers bend", "--dry-run"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("would be refused: provider `deepseek` has no key"), "{}", ended.out);
    assert!(place.tree() == before);
}

#[test]
fn the_result_of_a_run_is_its_exit_code_and_the_last_screen_says_where_the_files_are() {
    let place = Place::new();
    let ended = place.run(&["run", "writer-editor", "why rivers bend", "--profile", "demo", "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in ["APPROVED: the editor approves draft 2", "2 rounds, 4 cells", "drafts/final.md", "journal: .rsf/runs/", "exit code: 0"] {
        assert!(ended.out.contains(words), "`{words}` in {}", ended.out);
    }
    assert!(place.read("drafts/final.md").starts_with("# Why rivers bend"));
    assert_eq!(place.git(&["status", "--short"]), "?? drafts/\n", "the run directory is kept out of git");
    let ended = place.run(&["run", "writer-editor", "why rivers bend", "--profile", "demo", "--yes", "--param", "max_rounds=1"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("GIVEN_UP: no approval after 1 drafts"), "{}", ended.out);
}

#[test]
fn settings_are_layers_and_the_last_one_wins() {
    let place = Place::new();
    let file = place.folder().join("settings.json");
    std::fs::write(&file, r#"{ "limits": { "rounds": 7, "turns": 3 }, "params": { "max_rounds": 2 } }"#).unwrap();
    let file = file.to_string_lossy().into_owned();
    let mut args = vec!["writer-editor", "rivers", "--profile", "demo", "--dry-run", "--config", &file, "--set", "limits.turns=5"];
    let ended = place.run(&args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in ["rounds: 7", "turns: 5", "timeout: 120s", "max_rounds: 2"] {
        assert!(ended.out.contains(words), "`{words}` in {}", ended.out);
    }
    args.extend(["--param", "max_rounds=3", "--set", "limits.turns=6"]);
    let ended = place.run(&args);
    assert!(ended.out.contains("max_rounds: 3") && ended.out.contains("turns: 6"), "{}", ended.out);
}

#[test]
fn trigger_words_start_workflows_and_a_project_captures_none() {
    let place = Place::new();
    // A file of that name in the project's folder is not what the word means.
    place.write("team-loop", "{}");
    place.write("quick-ask", "{}");
    place.commit();
    let python = "config.python=/nowhere";
    for word in ["team-loop", "迭代研发"] {
        let ended = place.run(&[word, "branch coverage ≥ 80%", "--profile", "demo", "--dry-run", "--set", python]);
        assert!(ended.out.contains("steps of a round:") && ended.out.contains("cannot import"), "{word}: {ended:?}");
    }
    let more = case("workflows");
    let set = r#"config.providers={"x":{"wire":"scripted","models":["*"],"script":"samples/answers.json"}}"#;
    let ended = place.run(&["quick-ask", "fenced", "--workflows", &more, "--set", set, "--dry-run"]);
    assert!(ended.out.contains("asker: Ask"), "{ended:?}");
    std::fs::remove_file(place.project().join("quick-ask")).unwrap();
    assert_eq!(place.run(&["quick-ask", "fenced", "--set", set, "--dry-run"]).code, Some(2), "only what was named is looked through");
}

#[test]
fn programs_get_one_object_per_event_and_nothing_else() {
    let place = Place::new();
    let ended = place.run(&["run", "writer-editor", "why rivers bend", "--profile", "demo", "--yes", "--format", "json"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let events: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "started");
    let last = &events[events.len() - 1];
    assert_eq!((&last["type"], &last["result"], &last["exit"]), (&"ended".into(), &"APPROVED".into(), &0.into()));
}

#[test]
fn a_fresh_branch_is_worked_on_and_the_old_one_stays() {
    let place = Place::new();
    let head = place.git(&["rev-parse", "HEAD"]);
    let ended = place.run(&["run", "writer-editor", "why rivers bend", "--profile", "demo", "--yes", "--branch", "try/it"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.git(&["branch", "--show-current"]), "try/it\n");
    assert_eq!(place.git(&["rev-parse", "main"]), head);
}

#[test]
fn a_branch_that_would_overwrite_changes_is_refused() {
    let place = Place::new();
    place.git(&["checkout", "-q", "-b", "other"]);
    place.write("notes.md", "other\n");
    place.commit();
    place.git(&["checkout", "-q", "main"]);
    place.write("notes.md", "mine\n");
    let before = place.tree();
    let ended = place.run(&["run", "writer-editor", "rivers", "--profile", "demo", "--yes", "--branch", "other"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("would overwrite the uncommitted changes of `notes.md`") && place.tree() == before, "{ended:?}");
}

/// A workflow whose model takes its time.
const SLOW: &str = r#"config.providers={"deepseek":null,"zai":null,"x":{"wire":"scripted","models":["*"],"script":"samples/slow.json"}}"#;

#[test]
fn a_second_run_is_told_who_works_here_and_changes_nothing() {
    let place = Place::new();
    let (workflow, set) = (case("workflows/rerun.json"), "limits.rounds=2");
    let args = ["run", &workflow, "x", "--yes", "--format", "json", "--set", set];
    let mut first = place.rsf(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(first.stdout.take().unwrap()).lines().map_while(Result::ok);
    // From here on its program is under way, which waits for ten minutes.
    assert!(events.any(|line| line.contains("effect-started")));
    crate::resume::until_begun(&place, &mut first);
    let pid = format!("pid {}", first.id());
    let branch = place.git(&["branch", "--show-current"]);
    let second = place.run(&["run", "writer-editor", "rivers", "--profile", "demo", "--yes", "--branch", "fresh"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.err.contains(&pid) && second.err.contains("another run"), "{second:?}");
    let resumed = place.run(&["resume"]);
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    assert!(resumed.err.contains(&pid), "{resumed:?}");
    assert_eq!(place.git(&["branch", "--show-current"]), branch);
    first.kill().unwrap();
    first.wait().unwrap();
    // Going on ends what the killed run had left behind.
    assert_eq!(place.run(&["resume"]).code, Some(0));
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_run() {
    let place = Place::new();
    for format in ["text", "json"] {
        let args = ["run", "writer-editor", "why rivers bend", "--profile", "demo", "--yes", "--format", format];
        let mut child = place.rsf(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{format}");
        let written = place.project().join("drafts/final.md");
        assert!(written.exists(), "{format}");
        std::fs::remove_file(written).unwrap();
    }
}

/// The program on a terminal of 80 columns.
fn on_a_terminal(place: &Place, answer: &str, args: &[&str]) -> Ended {
    let mut command = Command::new("python3");
    command.arg(case("terminal.py")).arg(answer).arg(env!("CARGO_BIN_EXE_rsf")).args(args);
    Ended::of(&place.own(command).output().unwrap())
}

#[test]
fn on_a_terminal_a_person_is_asked_first_and_a_no_leaves_no_trace() {
    let place = Place::new();
    let before = place.tree();
    let goal = "branch coverage ≥ 80%, budget≤¥20";
    // Everything the loop requires of Python is there when a module is asked for that is always there.
    let workflow = place.folder().join("w/workflows/team-loop.json");
    let mut init = place.rsf(&["init", "team-loop", "../w"]);
    std::fs::create_dir_all(place.folder().join("w")).unwrap();
    assert!(init.output().unwrap().status.success());
    let text = std::fs::read_to_string(&workflow).unwrap().replace(r#"["pytest", "pytest_cov", "coverage"]"#, r#"["json"]"#);
    assert!(text.contains(r#"["json"]"#));
    std::fs::write(&workflow, text).unwrap();
    let workflow = workflow.to_string_lossy().into_owned();
    let ended = on_a_terminal(&place, "n", &["run", &workflow, goal, "--profile", "demo"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let order = [
        "budget_yuan: 20.0",
        "limits:",
        "Goal as understood",
        "at most 50 rounds",
        "Red lines",
        "model glm-5.2; read src/**",
        "Start? [y/N]",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|words| ended.out.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {}", ended.out);
    assert!(ended.out.contains("not started"), "{}", ended.out);
    std::fs::remove_dir_all(place.folder().join("w")).unwrap();
    assert!(place.tree() == before, "something was written");
}

#[test]
fn on_a_terminal_a_yes_runs_and_every_line_fits() {
    let place = Place::new();
    let ended = on_a_terminal(&place, "y", &["run", "writer-editor", "why rivers bend", "--profile", "demo"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("│ step ┆") && ended.out.contains("APPROVED"), "{}", ended.out);
    let asked = ended.out.split("Start?").next().unwrap();
    for line in asked.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn texts_of_documents_and_models_steer_no_terminal() {
    let place = Place::new();
    let workflow = case("workflows/hostile.json");
    let plain = place.run(&["run", &workflow, "x\u{1b}[2J", "--yes"]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert!(plain.said().contains("evil"), "the texts must be shown for this to show anything");
    let live = on_a_terminal(&place, "y", &["run", &workflow, "x\u{1b}[2J"]);
    assert!(live.out.contains("│ step ┆"), "{live:?}");
    let rehearsed = place.run(&["run", &workflow, "x\u{1b}[2J", "--dry-run"]);
    // What the program itself sends: up some lines, clear below.
    let own = regex::Regex::new("\r\u{1b}\\[[0-9]+A\u{1b}\\[0J").unwrap();
    for said in [plain.said(), own.replace_all(&live.out, "").replace("\r\n", "\n"), rehearsed.said()] {
        let bad: Vec<char> = said.chars().filter(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}')).collect();
        assert_eq!(bad, Vec::<char>::new(), "{said:?}");
    }
}

#[test]
fn every_command_explains_itself() {
    let place = Place::new();
    for command in ["run", "resume", "demo", "init", "validate", "graph", "reference", "schema", "explain"] {
        let ended = place.run(&[command, "--help"]);
        assert_eq!(ended.code, Some(0), "{command}");
        assert!(ended.out.contains("Usage: rsf") && ended.out.lines().count() > 5, "{command}: {}", ended.out);
    }
    let ended = place.run(&["run", "--help"]);
    for words in ["Examples:", "Exit status:", "--dry-run", "STOP", "config.providers"] {
        assert!(ended.out.contains(words), "`{words}` in {}", ended.out);
    }
}

/// One way a model may answer, and what must come of it: `tests/cases/run/answers.json`.
#[derive(Deserialize)]
struct Answers {
    case: String,
    exit: i32,
    exchanges: usize,
    says: String,
}

#[test]
fn a_bad_answer_is_told_to_the_model_counted_bounded_and_then_fails_with_its_reason() {
    let rows: Vec<Answers> = serde_json::from_str(&std::fs::read_to_string(case("answers.json")).unwrap()).unwrap();
    for row in rows {
        let place = Place::new();
        let ended = place.run(&["run", &case("workflows/answers.json"), &row.case, "--yes", "--format", "json"]);
        assert_eq!(ended.code, Some(row.exit), "{}: {ended:?}", row.case);
        let exchanges = ended.out.lines().filter(|line| line.contains("effect-started") && line.contains("\"model\"")).count();
        assert_eq!(exchanges, row.exchanges, "{}", row.case);
        let told = std::fs::read_to_string(place.run_folder(".rsf").join("journal.jsonl")).unwrap();
        assert!(told.contains(&row.says), "{}: `{}` in {told}", row.case, row.says);
        let last: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
        if row.exit == 1 {
            assert!(last["reason"].as_str().is_some_and(|reason| reason.contains(&row.says)), "{}: {last}", row.case);
        }
        assert_eq!(place.project().join("answer.json").exists(), row.exit == 0, "{}", row.case);
    }
}

#[test]
fn an_agent_finds_no_way_out_of_its_project_and_every_try_is_a_risk() {
    let place = Place::new();
    let bundle = place.project();
    for folder in ["workflows", "samples", "schemas"] {
        for entry in std::fs::read_dir(case(folder)).unwrap() {
            let entry = entry.unwrap();
            place.write(&format!("{folder}/{}", entry.file_name().to_string_lossy()), &std::fs::read_to_string(entry.path()).unwrap());
        }
    }
    let outside = place.folder().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "secret").unwrap();
    std::fs::write(place.folder().join("secret.txt"), "secret").unwrap();
    std::os::unix::fs::symlink("../outside", bundle.join("link")).unwrap();
    place.commit();
    let head = place.git(&["rev-parse", "HEAD"]);
    let before = place.tree();
    let ended = place.run(&["run", "workflows/climb.json", "x", "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let script: Value = serde_json::from_str(&place.read("samples/climb.json")).unwrap();
    let tries: usize =
        script["answers"].as_array().unwrap().iter().filter_map(|answer| answer["reply"]["calls"].as_array()).map(Vec::len).sum();
    assert!(tries > 10 && ended.out.contains(&format!("risks: {tries}\n")), "{tries} tries: {}", ended.out);
    assert_eq!(place.git(&["rev-parse", "HEAD"]), head);
    let mut after = place.tree();
    let own = [bundle.join(".rsf"), bundle.join("answer.json"), bundle.join(".git")];
    after.retain(|path, _| !own.iter().any(|own| path.starts_with(own)));
    let mut expected = before;
    expected.retain(|path, _| !path.starts_with(&own[2]));
    assert!(after == expected, "something was changed");
    let journal = std::fs::read_to_string(place.run_folder(".rsf").join("journal.jsonl")).unwrap();
    assert!(!journal.contains("root:x:0"), "a file outside was read");
}

#[test]
fn a_stop_file_finishes_the_round_and_is_answered_once() {
    let place = Place::new();
    let (copy, _) = crate::resume::slow_bundle(&place);
    let args = ["run", &copy, "why rivers bend", "--yes", "--format", "json", "--set", SLOW];
    let mut child = place.rsf(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("effect-started") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0);
    }
    std::fs::write(place.project().join(".rsf/STOP"), "").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"], "STOPPED", "{rest}");
    let next = place.run(&["run", "writer-editor", "rivers", "--profile", "demo", "--yes"]);
    assert_eq!(next.code, Some(0), "{next:?}");
}
