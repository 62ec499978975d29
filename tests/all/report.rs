//! Reporters: recorded events in, text out (snapshots), and the properties no snapshot shows.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests; what they cannot do is a failed test")]

use rsf::base::Timestamp;
use rsf::driver::Event;
use rsf::machine::{EffectId, Note};
use rsf::model::{Access, Agent, Cell, End, Exec, Flow, FlowKind, Policy, Role, Step, Term, TypeRef, Workflow};
use rsf::report::briefing::Briefing;
use rsf::report::progress::{Mode, Progress};
use rsf::report::summary::Summary;
use rsf::report::text::{is_unsafe, width};
use rsf::report::{Drawing, Sheet, events, graph};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// One file of `tests/cases/report`.
#[derive(Deserialize)]
struct Case {
    roles: Vec<String>,
    steps: Vec<(u32, String)>,
    cells: BTreeMap<String, String>,
    views: BTreeMap<String, String>,
    places: Vec<(String, String)>,
    events: Vec<Recorded>,
}

/// [`Event`] as it is written by `--format json`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Recorded {
    Started { run: String, journal: String, resumed: bool, at: Timestamp },
    Note { at: Timestamp, note: Note },
    EffectStarted { id: EffectId, kind: String, what: String, at: Timestamp },
    EffectDone { id: EffectId, ok: bool, ms: u64, detail: String, at: Timestamp },
    Message { text: String, at: Timestamp },
    Ended { result: String, reason: Option<String>, exit: u8, at: Timestamp },
}

impl From<Recorded> for Event {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Started { run, journal, resumed, at } => Self::Started { run, journal, resumed, at },
            Recorded::Note { at, note } => Self::Note { at, note },
            Recorded::EffectStarted { id, kind, what, at } => Self::EffectStarted { id, kind: kind.leak(), what, at },
            Recorded::EffectDone { id, ok, ms, detail, at } => Self::EffectDone { id, ok, ms, detail, at },
            Recorded::Message { text, at } => Self::Message { text, at },
            Recorded::Ended { result, reason, exit, at } => Self::Ended { result, reason, exit, at },
        }
    }
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn case(name: &str) -> (Sheet, Vec<Event>, Vec<(String, String)>) {
    let case: Case = serde_json::from_str(&read(&format!("report/{name}.json"))).expect("the case is well formed");
    let drawing = |name: &str| match name {
        "curve" => Drawing::Curve,
        "table" => Drawing::Table,
        "bars" => Drawing::Bars,
        _ => Drawing::Value,
    };
    let views = case.views.iter().map(|(label, name)| (label.clone(), drawing(name))).collect();
    let sheet = Sheet { roles: case.roles, steps: case.steps, cells: case.cells, views };
    (sheet, case.events.into_iter().map(Event::from).collect(), case.places)
}

fn show(name: &str, mode: Mode) -> String {
    let (sheet, events, _) = case(name);
    let mut progress = Progress::new(sheet, mode);
    events.iter().map(|event| progress.event(event)).collect()
}

/// What a terminal shows after the text, line by line: understands only what progress is allowed to send.
fn screen(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        lines.last_mut().expect("never empty").push_str(&rest[..at]);
        if rest[at..].starts_with('\n') {
            lines.push(String::new());
            rest = &rest[at + 1..];
            continue;
        }
        let (sequence, after) = rest[at..].split_once("\u{1b}[0J").expect("a return is only sent to erase");
        let up: usize = sequence.trim_start_matches("\r\u{1b}[").trim_end_matches('A').parse().expect("a number of lines");
        let keep = lines.len() - 1 - up;
        lines.truncate(keep);
        lines.push(String::new());
        rest = after;
    }
    lines.last_mut().expect("never empty").push_str(rest);
    lines
}

#[test]
fn plain_progress_tells_what_a_person_cares_for() {
    insta::assert_snapshot!(show("two-rounds", Mode::Plain));
}

#[test]
fn plain_progress_never_moves_the_cursor() {
    for name in ["two-rounds", "cut-short"] {
        let text = show(name, Mode::Plain);
        assert!(!text.chars().any(|c| c != '\n' && is_unsafe(c)), "{text:?}");
    }
}

#[test]
fn the_table_is_redrawn_in_place() {
    let (sheet, events, _) = case("two-rounds");
    let mut progress = Progress::new(sheet, Mode::Live { columns: 80, rows: 30 });
    let mut all = String::new();
    // The tenth event is a tool's failure while `maker@2` runs; then the end of the run.
    for event in &events[..12] {
        all.push_str(&progress.event(event));
    }
    insta::assert_snapshot!("live_in_the_middle", screen(&all).join("\n"));
    for event in &events[12..] {
        all.push_str(&progress.event(event));
    }
    insta::assert_snapshot!("live_at_the_end", screen(&all).join("\n"));
}

#[test]
fn no_frame_is_larger_than_the_terminal() {
    for (columns, rows) in [(200, 60), (80, 24), (60, 12), (41, 9), (20, 4), (1, 1), (0, 0)] {
        let (sheet, events, _) = case("two-rounds");
        let mut progress = Progress::new(sheet, Mode::Live { columns, rows });
        for event in &events {
            let text = progress.event(event);
            let frame = progress.clear();
            let height: usize = frame.trim_start_matches("\r\u{1b}[").trim_end_matches("A\u{1b}[0J").parse().unwrap_or(0);
            assert!(height <= rows.saturating_sub(1), "{height} lines on {rows}");
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines[lines.len() - height..].iter().all(|line| width(line) < columns.max(1)), "{columns} columns: {text}");
        }
    }
}

#[test]
fn the_last_screen_says_what_came_out_and_where_it_is() {
    for name in ["two-rounds", "cut-short"] {
        let (sheet, events, places) = case(name);
        let mut summary = Summary::new(sheet);
        events.iter().for_each(|event| summary.event(event));
        let places: Vec<(&str, &str)> = places.iter().map(|(caption, path)| (caption.as_str(), path.as_str())).collect();
        insta::assert_snapshot!(format!("summary_{name}"), summary.text(&places));
    }
}

#[test]
fn long_lists_of_failures_are_counted_not_printed() {
    let (sheet, events, _) = case("two-rounds");
    let fail = events.iter().find(|event| events::line(event).contains("\"fail\"")).expect("the case has a failure");
    let mut summary = Summary::new(sheet);
    for _ in 0..1000 {
        summary.event(fail);
    }
    let text = summary.text(&[]);
    assert!(text.contains("failed attempts (1000):") && text.contains("… 990 more"), "{text}");
}

#[test]
fn every_event_is_one_line_of_json_that_reads_back() {
    let recorded: Value = serde_json::from_str(&read("report/two-rounds.json")).expect("JSON");
    let (_, events, _) = case("two-rounds");
    for (event, before) in events.iter().zip(recorded["events"].as_array().expect("a list")) {
        let line = events::line(event);
        assert_eq!(line.find('\n'), Some(line.len() - 1), "{line:?}");
        let after: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(&after, before);
    }
}

#[test]
fn the_screen_before_a_run_says_who_may_do_what() {
    let mut workflow = workflow("graph/seed.json");
    let policy = Policy {
        read: Some(vec!["src/**".to_owned(), "\u{1b}[1m".to_owned()]),
        exec: Some(Exec::Isolated),
        git: Some(Access::Read),
        ..Policy::default()
    };
    workflow.roles[1].agent = Some(Agent { permissions: Some(policy), ..Agent::default() });
    workflow.steps[0].cells[0].permissions = Some(Policy { read: Some(Vec::new()), ..Policy::default() });
    let object = |value: Value| value.as_object().cloned().expect("an object");
    let briefing = Briefing {
        workflow: &workflow,
        params: &object(json!({ "goal": "reach\nit" })),
        limits: &object(json!({ "rounds": 8 })),
        confirm: Some(&json!({ "target": { "op": ">=", "value": 50 } })),
        models: &BTreeMap::from([(workflow.roles[1].id.clone(), "model-a".to_owned())]),
        notes: &["--set x: `config.x` is new".to_owned()],
    };
    insta::assert_snapshot!("briefing", briefing.text());
}

/// The core part of a document as a typed workflow; enough for a picture.
fn workflow(path: &str) -> Workflow {
    let json: Value = serde_json::from_str(&read(path)).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or(0)).expect("a small number");
    let end = |value: &Value| End { role: text(&value["role"]), seq: number(&value["seq"]) };
    let items = |key: &str| json[key]["items"].as_array().cloned().unwrap_or_default();
    let cell = |role: &String, seq: u32, cell: &Value| Cell { role: role.clone(), seq, task: text(&cell["task"]), ..Cell::default() };
    let term = |text: &str| Term { alternatives: text.split('|').map(TypeRef::parse).collect(), count: 1 };
    let what = |value: &Value| match value {
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).map(term).collect(),
        whole => text(whole).split('+').map(|part| term(part.trim())).collect(),
    };
    let step = |step: &Value| Step {
        seq: number(&step["seq"]),
        description: text(&step["description"]),
        cells: step["cells"].as_object().into_iter().flatten().map(|(role, value)| cell(role, number(&step["seq"]), value)).collect(),
        ..Step::default()
    };
    let flow = |flow: &Value| Flow {
        id: text(&flow["id"]),
        kind: if flow["type"] == "sync" { FlowKind::Sync } else { FlowKind::Async },
        from: end(&flow["from"]),
        to: end(&flow["to"]),
        what: what(&flow["what"]),
        looping: flow["loop"] == true || text(&flow["description"]).contains("[loop") || text(&flow["description"]).contains("[反馈环"),
        when: flow["when"].as_str().map(str::to_owned),
        ..Flow::default()
    };
    Workflow {
        description: text(&json["description"]),
        roles: items("roles").iter().map(|role| Role { id: text(&role["id"]), ..Role::default() }).collect(),
        steps: items("steps").iter().map(step).collect(),
        flows: items("flows").iter().map(flow).collect(),
        ..Workflow::default()
    }
}

#[test]
fn pictures_of_the_seed() {
    let workflow = workflow("graph/seed.json");
    insta::assert_snapshot!("seed_mermaid", graph::mermaid(&workflow));
    insta::assert_snapshot!("seed_dot", graph::dot(&workflow));
}

#[test]
fn no_text_of_a_document_escapes_its_label() {
    let workflow = workflow("graph/hostile.json");
    let (mermaid, dot) = (graph::mermaid(&workflow), graph::dot(&workflow));
    insta::assert_snapshot!("hostile_mermaid", mermaid);
    insta::assert_snapshot!("hostile_dot", dot);
    assert!(mermaid.lines().all(|line| line.matches('"').count() % 2 == 0 && !line.contains("%%")));
    assert!(dot.lines().all(|line| line.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2 == 0));
}

#[test]
fn an_empty_document_has_a_picture_too() {
    assert_eq!(graph::mermaid(&Workflow::default()), "flowchart TB\n");
    assert!(graph::dot(&Workflow::default()).ends_with("}\n"));
}
