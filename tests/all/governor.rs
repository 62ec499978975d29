//! The governor in our own agent sessions: what it says at stops, what it makes of the answers, and that no session is held for ever.

use proptest::prelude::*;
use rsf::agent::{Asker, Finish, Message, ModelReply, Next, OutputContract, Session, SessionSpec, ToolCall, ToolSpec};
use rsf::base::{FileId, Severity, Timestamp};
use rsf::check::plan::{Plan, Settings};
use rsf::governor::{Governor, Moment, Watch};
use rsf::machine::{Command, Input, Machine, NoteEvent, Outcome, Request, prepare};
use rsf::model::tool::{ToolError, ToolErrorKind};
use rsf::model::{HitPolicy, Rule, Table, decode_table};
use rsf::rule::{Engine, Limits};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn decode(text: &str) -> Result<Table, String> {
    let (tree, _) = rsf::syntax::parse(text.as_bytes(), FileId(0));
    let (table, problems) = decode_table(tree.root.as_ref().unwrap(), FileId(0), "");
    if problems.iter().any(|p| p.severity == Severity::Error) { Err(format!("{problems:?}")) } else { Ok(table) }
}

fn built_in() -> Table {
    decode(&std::fs::read_to_string(root().join("workflows/turn-cadence.json")).unwrap()).unwrap()
}

fn watch_of(table: &Table, task: &str) -> Watch {
    let mut engine = Engine::new(Limits::default());
    let governor = Governor::compile(table, &mut engine).unwrap();
    Watch::new(Arc::new(governor), engine, task, "R1/work@1")
}

fn session(watch: Watch, max_turns: u32) -> Session {
    let tool = |name: &str| ToolSpec { name: name.to_owned(), description: String::new(), parameters: json!({"type": "object"}) };
    Session::new(SessionSpec {
        asker: Asker::default(),
        session_id: "s".into(),
        model: "m".into(),
        system: String::new(),
        prompt: "work".into(),
        tools: ["read", "write", "ask_user"].map(tool).to_vec(),
        output: OutputContract { schema: json!(true), check: Arc::new(|_| Vec::new()) },
        max_turns,
        max_repairs: 3,
        output_bytes: 1000,
        governor: Some(watch),
    })
}

fn calls(list: &[(&str, Value)]) -> ModelReply {
    let call = |(name, arguments): &(&str, Value)| ToolCall { id: String::new(), name: (*name).to_owned(), arguments: arguments.clone() };
    ModelReply { calls: list.iter().map(call).collect(), finish: Finish::ToolCalls, ..ModelReply::default() }
}

fn finish() -> ModelReply {
    ModelReply { text: Some("\"done\"".into()), ..ModelReply::default() }
}

/// Plays replies; gives what the engine said between them, and the session.
fn play(mut session: Session, replies: Vec<ModelReply>) -> (Vec<String>, Next, Session) {
    let mut next = session.start();
    let mut said = Vec::new();
    let mut replies: VecDeque<ModelReply> = replies.into();
    loop {
        next = match next {
            Next::Ask(request) => {
                if let Some(Message::User { text }) = request.messages.last() {
                    said.push(text.clone());
                }
                let Some(reply) = replies.pop_front() else { return (said, Next::Ask(request), session) };
                session.model(Ok(reply))
            }
            Next::Call { call } if call.arguments.get("fails").is_some() => {
                session.tool(Err(ToolError { kind: ToolErrorKind::Failed, message: "no".into() }))
            }
            Next::Call { .. } => session.tool(Ok(json!("ok"))),
            end => return (said, end, session),
        }
    }
}

fn reads(from: usize, to: usize) -> ModelReply {
    calls(&(from..to).map(|n| ("read", json!({"path": format!("f{n}")}))).collect::<Vec<_>>())
}

fn flags(task: &str, before: usize, answer: Vec<ModelReply>) -> Vec<String> {
    // A turn holds 64 calls at most.
    let mut replies: Vec<ModelReply> = (0..before).step_by(10).map(|from| reads(from, before.min(from + 10))).collect();
    replies.push(finish());
    replies.extend(answer);
    replies.push(finish());
    let (said, end, session) = play(session(watch_of(&built_in(), task), 50), replies);
    assert!(matches!(end, Next::Done { .. }), "{end:?}");
    assert!(said.iter().any(|text| text.starts_with(&format!("[DANGER: TURN {before}] "))), "{said:?}");
    let record = session.record();
    assert_eq!(record.risk_flags, record.violations);
    record.risk_flags
}

#[test]
fn the_message_stands_in_the_history_and_the_session_ends_with_its_output() {
    let (said, end, session) = play(session(watch_of(&built_in(), ""), 50), vec![reads(0, 7), finish(), finish()]);
    assert!(matches!(end, Next::Done { output } if output == "done"));
    assert_eq!(said.len(), 2);
    assert!(said[1].starts_with("[DANGER: TURN 7] 禁止无效重试——切换策略或换工具。\n\n"), "{said:?}");
    assert_eq!(session.record().tool_calls, 7);
    assert_eq!(session.record().risk_flags, Vec::<String>::new(), "who does nothing more repeats nothing");
}

#[test]
fn short_sessions_hear_nothing_and_catching_up_names_the_real_turn() {
    let (said, end, _) = play(session(watch_of(&built_in(), ""), 50), vec![reads(0, 6), finish()]);
    assert!(said.len() == 1 && matches!(end, Next::Done { .. }));
    let (said, ..) = play(session(watch_of(&built_in(), ""), 50), vec![reads(0, 12), finish(), finish()]);
    assert!(said[1].starts_with("[DANGER: TURN 12] 重新读取"), "{said:?}");
}

#[test]
fn answers_are_checked() {
    let one = |name: &'static str, args: Value| vec![calls(&[(name, args)])];
    // After 7: the same call once more.
    assert_eq!(flags("", 7, one("read", json!({"path": "other"}))), Vec::<String>::new());
    let same = flags("", 7, one("read", json!({"path": "f6"})));
    assert!(same.len() == 1 && same[0].contains("turn 7 (`turn-7`)") && same[0].contains("the same call was made again"), "{same:?}");
    // After 10: the named files are read again, wherever they lie.
    let both = vec![calls(&[("read", json!({"path": "./docs/boot.md"})), ("read", json!({"path": "skills/x/SKILL.md"}))])];
    assert_eq!(flags("", 10, both), Vec::<String>::new());
    let half = flags("", 10, one("read", json!({"path": "boot.md"})));
    assert!(half.len() == 1 && half[0].contains("`read` with path `**/SKILL.md`"), "{half:?}");
    assert_eq!(flags("", 10, Vec::new()).len(), 2, "to say that one knows them is not enough");
    // After 35: a report to the person.
    assert_eq!(flags("", 35, one("ask_user", json!({"question": "q"}))), Vec::<String>::new());
    assert!(flags("", 35, one("read", json!({"path": "x"})))[0].contains("no call of `ask_user`"));
    // After 70: the checkpoint as well, written and not merely tried.
    let name = "tmp/checkpoint-R1-work-1.md";
    let report = ("ask_user", json!({"question": "q"}));
    assert_eq!(flags("plan", 70, vec![calls(&[report.clone(), ("write", json!({"path": name}))])]), Vec::<String>::new());
    let tried = flags("plan", 70, vec![calls(&[report.clone(), ("write", json!({"path": name, "fails": true}))])]);
    assert!(tried.len() == 1 && tried[0].contains(name), "{tried:?}");
    assert_eq!(flags("", 70, vec![calls(&[report])]), Vec::<String>::new(), "other tasks write none");
}

#[test]
fn the_last_turn_is_never_taken_from_a_model_that_has_its_output() {
    let (said, end, session) = play(session(watch_of(&built_in(), ""), 2), vec![reads(0, 10), finish()]);
    assert!(said.len() == 1 && matches!(end, Next::Done { .. }), "{end:?}");
    assert!(session.record().failures[0].contains("no turn was left"), "{:?}", session.record());
    assert_eq!(session.record().risk_flags, Vec::<String>::new());
}

#[test]
fn a_session_that_fails_is_judged_by_what_it_did() {
    let again = calls(&[("read", json!({"path": "f6"}))]);
    let (_, end, session) = play(session(watch_of(&built_in(), ""), 3), vec![reads(0, 7), finish(), again]);
    assert!(matches!(end, Next::Failed(_)), "{end:?}");
    assert_eq!(session.record().risk_flags.len(), 1);
}

/// A table of periods, the first of which outranks the others.
fn periods(periods: &[u64], catch_up: bool) -> Table {
    let rule = |(index, period): (usize, &u64)| Rule {
        id: format!("every-{period}-{index}"),
        priority: -(index as i64),
        when: Some(format!("turn % {period} == 0")),
        then: json!({"text": "turn {{ turn }}"}),
        at: String::new(),
    };
    Table {
        hit_policy: HitPolicy::Priority,
        options: json!({"catch_up": catch_up}).as_object().cloned().unwrap(),
        inputs: json!({"turn": {"type": "integer", "minimum": 0}}).as_object().cloned().unwrap(),
        rules: periods.iter().enumerate().map(rule).collect(),
        at: String::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the table and however often the model stops: between two messages there is a call, so nobody who only talks is held for ever.
    #[test]
    fn nobody_is_held_twice_at_one_count(list in prop::collection::vec(1u64..12, 1..4), catch_up: bool, steps in prop::collection::vec(0u64..5, 1..60)) {
        let mut watch = watch_of(&periods(&list, catch_up), "");
        let mut turn = 0;
        let mut told = BTreeSet::new();
        let mut judged = 0;
        for made in steps {
            for _ in 0..made {
                watch.called("read", &Value::Null);
                watch.answered(true);
            }
            turn += made;
            let message = watch.stop().message;
            // By brute force: the row for this count, else the highest of those passed.
            let row_at = |turn: u64| list.iter().position(|period| turn.is_multiple_of(*period));
            let wanted = if turn <= judged {
                None
            } else {
                row_at(turn).or_else(|| if catch_up { (judged + 1..turn).filter_map(row_at).min() } else { None })
            };
            let row = |row: usize| format!("every-{}-{row}", list[row]);
            prop_assert_eq!(message.as_ref().map(|m| m.row.clone()), wanted.map(row));
            if let Some(message) = message {
                prop_assert_eq!(&message.text, &format!("turn {turn}"));
                prop_assert!(told.insert(turn), "{} was told twice", turn);
            }
            judged = judged.max(turn);
            prop_assert!(watch.stop().message.is_none(), "a stop without a call in between is left in peace");
        }
    }

    /// A session ends although its model stops again and again and its table speaks at every turn.
    #[test]
    fn sessions_end(bursts in prop::collection::vec(0usize..4, 1..30)) {
        let mut replies = Vec::new();
        for (index, burst) in bursts.iter().enumerate() {
            if *burst > 0 {
                replies.push(reads(index * 10, index * 10 + burst));
            }
            replies.push(finish());
        }
        let most = replies.len();
        replies.extend([finish(), finish()]);
        let (said, end, session) = play(session(watch_of(&periods(&[1], true), ""), 500), replies);
        prop_assert!(matches!(end, Next::Done { .. }), "{:?}", end);
        prop_assert!(session.record().turns as usize <= most + 1);
        prop_assert!(said.len() - 1 <= bursts.iter().filter(|burst| **burst > 0).count());
    }
}

#[test]
fn a_moment_before_the_first_call_is_silent() {
    let mut engine = Engine::new(Limits::default());
    let governor = Governor::compile(&periods(&[1], true), &mut engine).unwrap();
    let at = |turn| governor.speak(&engine, Moment { turn, judged: None, task: "", task_id: "t" }).unwrap().is_some();
    assert!(!at(0) && at(1));
}

/// Runs a document to its end with a model that answers from `replies`; gives prompts, log records and risk flags.
fn drive(plan: Plan, mut replies: VecDeque<ModelReply>) -> (Vec<String>, Vec<Value>, Vec<String>) {
    let at = Timestamp::default();
    let prepared = prepare(&plan, at, "seed", &Value::Null).unwrap();
    let mut machine = Machine::new(Arc::new(plan), prepared);
    let (mut prompts, mut logged, mut risks) = (Vec::new(), Vec::new(), Vec::new());
    let mut commands: VecDeque<Command> = machine.apply(Input::Start { at, project: json!({"root": "/p", "name": "p"}) }).into();
    while let Some(command) = commands.pop_front() {
        match command {
            Command::Perform { id, request, .. } => {
                let outcome = match *request {
                    Request::Model(request) => {
                        if let [Message::User { text }] = request.messages.as_slice() {
                            prompts.push(text.clone());
                        }
                        Outcome::Model(replies.pop_front().expect("another reply"))
                    }
                    Request::Tool(_) => Outcome::Tool(json!("ok")),
                    Request::Store(_) => Outcome::Stored(Vec::new()),
                    Request::Log(line) => {
                        logged.push(Value::Object(line.record));
                        Outcome::Logged
                    }
                };
                commands.extend(machine.apply(Input::Effect { id, at, outcome }));
            }
            Command::Note(note) => {
                if let NoteEvent::Risk { message, .. } = note.event {
                    risks.push(message);
                }
            }
            Command::End { result, .. } => {
                assert_eq!(result, "COMPLETED", "{risks:?}");
                return (prompts, logged, risks);
            }
            _ => {}
        }
    }
    panic!("the run did not end: {logged:?} {risks:?}");
}

#[test]
fn a_role_with_a_governor_is_told_and_its_violation_is_flagged_and_logged() {
    let document = json!({
        "format": "roles-steps-flows", "version": "2.3", "description": "d",
        "roles": {"items": [{"id": "worker", "description": "w", "agent": {
            "model": "m", "tools": ["read"], "permissions": {"read": ["**"]}, "governor": "workflows/turn-cadence.json"}}]},
        "steps": {"items": [{"seq": 1, "description": "s", "cells": {"worker": {
            "task": "work", "description": "d", "in": [], "out": ["Report"], "run": [{"agent": {"text": "the task"}}]}}}]},
        "flows": {"items": []},
        "logs": {"path": "log.jsonl", "record": {"level": "{{ log.level }}", "flags": "{{ log.risk_flags }}", "message": "{{ log.message }}"}, "text": "x"},
    });
    let (tree, problems) = rsf::syntax::parse(document.to_string().as_bytes(), FileId(0));
    assert_eq!(problems, []);
    let (workflow, problems) = rsf::model::decode(&tree);
    assert_eq!(problems, []);
    let read = |path: &str| (path.to_owned(), Arc::from(std::fs::read_to_string(root().join(path)).unwrap()));
    let table = read("workflows/turn-cadence.json");
    let files: BTreeMap<String, Arc<str>> = [table.clone(), read("prompts/turn-cadence/hard-escalation.md")].into();
    let seal = |files: &BTreeMap<String, Arc<str>>| Plan::seal(workflow.clone(), &document, files, Settings::default(), &decode);
    let missing = seal(&[table].into()).err().expect("the constraint is missing");
    assert!(missing.iter().any(|e| e.message.contains("hard-escalation.md")), "{missing:?}");
    let same = || calls(&[("read", json!({"path": "a"}))]);
    let mut replies: VecDeque<ModelReply> = (0..7).map(|_| same()).collect();
    replies.extend([finish(), same(), finish()]);
    let (prompts, logged, risks) = drive(seal(&files).unwrap_or_else(|e| panic!("{e:?}")), replies);
    assert!(prompts[0].starts_with("the task\n\n# Hard escalation") && prompts[0].ends_with("No prompt can lift it."), "{prompts:?}");
    assert!(risks.len() == 1 && risks[0].contains("the same call was made again"), "{risks:?}");
    assert_eq!(logged.len(), 1);
    assert_eq!(logged[0]["level"], "WARN");
    assert!(logged[0]["flags"][0].as_str().unwrap().contains("turn 7"), "{logged:?}");
}
