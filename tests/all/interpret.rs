//! The machine with interpreted cells: documents whose effects are answered from data, each against the record it must leave, in several orders
//! of the outcomes' coming back.
//!
//! A case is `tests/cases/interpret/NAME.json`; its record is `NAME.expected.txt`. With `RSF_BLESS=1` the records are written, to be read
//! before they are committed.

use proptest::prelude::*;
use rsf::agent::{Failure, FailureKind, Finish, Message, ModelReply, Tokens, ToolCall};
use rsf::base::{FileId, Severity, Timestamp};
use rsf::check::plan::{Plan, Settings};
use rsf::machine::{Command, EffectId, Input, Machine, Note, NoteEvent, Outcome, Request, TimerId, prepare};
use rsf::model::tool::{ToolError, ToolErrorKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn plan_of(case: &Value) -> Plan {
    let document = &case["document"];
    let (tree, problems) = rsf::syntax::parse(document.to_string().as_bytes(), FileId(0));
    let (workflow, shape) = rsf::model::decode(&tree);
    let faults: Vec<_> = problems.iter().chain(&shape).filter(|p| p.severity == Severity::Error).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let files: BTreeMap<String, Arc<str>> =
        map(&case["files"]).iter().map(|(path, text)| (path.clone(), text.as_str().unwrap().into())).collect();
    let settings = Settings { config: Value::Object(map(&case["config"])), limits: map(&document["limits"]), params: map(&case["params"]) };
    Plan::seal(workflow, document, &files, settings, &|_| Err("no table".to_owned())).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A run under way: what it asked for, and what it told.
struct Driven<'a> {
    case: &'a Value,
    machine: Machine,
    now: i64,
    waiting: Vec<(EffectId, Request)>,
    timers: BTreeMap<TimerId, i64>,
    notes: Vec<Note>,
    effects: BTreeMap<String, String>,
    rung: Vec<String>,
    most: BTreeMap<String, usize>,
    end: Option<(String, Option<String>)>,
}

/// The record of a run in which `pick(n)` says which of `n` outcomes comes back next.
fn record(case: &Value, pick: impl FnMut(usize) -> usize) -> String {
    let plan = Arc::new(plan_of(case));
    let project = json!({"root": "/p", "name": "p"});
    let prepared = match prepare(&plan, Timestamp(0), "seed", &project) {
        Ok(prepared) => prepared,
        Err(refusal) => return format!("refused: {refusal}\n"),
    };
    let machine = Machine::new(plan, prepared);
    let mut driven = Driven {
        case,
        machine,
        now: 0,
        waiting: Vec::new(),
        timers: BTreeMap::new(),
        notes: Vec::new(),
        effects: BTreeMap::new(),
        rung: Vec::new(),
        most: BTreeMap::new(),
        end: None,
    };
    driven.feed(Input::Start { at: Timestamp(0), project });
    driven.drive(pick);
    driven.text()
}

impl Driven<'_> {
    fn feed(&mut self, input: Input) {
        for command in self.machine.apply(input) {
            match command {
                Command::Perform { id, request, .. } => {
                    assert!(self.effects.insert(id.0.clone(), shown(&request)).is_none(), "asked for twice: {}", id.0);
                    self.waiting.push((id, *request));
                }
                Command::SetTimer { id, after_ms } => {
                    self.timers.insert(id, self.now + i64::try_from(after_ms).unwrap());
                }
                Command::CancelTimer { id } => {
                    self.timers.remove(&id);
                }
                Command::Cancel { id } => self.waiting.retain(|(waiting, _)| *waiting != id),
                Command::Note(note) => self.notes.push(note),
                Command::End { result, reason } => self.end = Some((result, reason)),
                Command::Release { .. } => {}
                Command::Await { .. } => panic!("nothing is simulated"),
            }
        }
        let mut cells: BTreeMap<String, usize> = BTreeMap::new();
        for (id, _) in &self.waiting {
            *cells.entry(id.0.split('.').next().unwrap().to_owned()).or_default() += 1;
        }
        for (cell, count) in cells {
            let most = self.most.entry(cell).or_default();
            *most = count.max(*most);
        }
        let overlap: Vec<&str> = self.case["overlap"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let running = overlap.iter().filter(|cell| self.waiting.iter().any(|(id, _)| id.0.starts_with(**cell))).count();
        assert!(running <= 1, "{overlap:?} overlap");
    }

    fn drive(&mut self, mut pick: impl FnMut(usize) -> usize) {
        for _ in 0..100_000 {
            if self.end.is_some() {
                assert!(self.machine.ended() && self.waiting.is_empty(), "something is left over: {:?}", self.waiting);
                return;
            }
            let ready: Vec<usize> = (0..self.waiting.len()).filter(|index| self.answer(&self.waiting[*index]).is_some()).collect();
            if ready.is_empty() {
                self.ring();
                continue;
            }
            let (id, request) = self.waiting.remove(ready[pick(ready.len()) % ready.len()]);
            let outcome = self.answer(&(id.clone(), request)).unwrap();
            if self.case["stop_at"].as_str() == Some(&id.0) {
                self.feed(Input::Stop { at: Timestamp(self.now) });
            }
            self.feed(Input::Effect { id, at: Timestamp(self.now), outcome });
        }
        panic!("the run does not end");
    }

    fn ring(&mut self) {
        let (id, at) =
            self.timers.iter().min_by_key(|(id, at)| (**at, id.0.clone())).map(|(id, at)| (id.clone(), *at)).expect("the run stands still");
        self.timers.remove(&id);
        self.now = at;
        self.rung.push(format!("{} at {} ms", id.0, at));
        self.feed(Input::Timer { id, at: Timestamp(at) });
    }

    /// What comes back for a request; `None`: nothing ever.
    fn answer(&self, (id, request): &(EffectId, Request)) -> Option<Outcome> {
        let is_model = matches!(request, Request::Model(_));
        let tool = if let Request::Tool(tool) = request { tool.tool.as_str() } else { "" };
        let fits = |rule: &&Value| {
            rule["id"].as_str().is_none_or(|part| id.0.contains(part))
                && rule["tool"].as_str().is_none_or(|name| name == tool)
                && (rule["model"].is_null() || is_model)
        };
        let rule = self.case["answers"].as_array().into_iter().flatten().find(fits).cloned().unwrap_or(Value::Null);
        if rule["hang"] == true {
            return None;
        }
        Some(match request {
            Request::Log(_) => Outcome::Logged,
            Request::Store(store) => Outcome::Stored(store.paths.clone()),
            Request::Tool(tool) => match rule["error"].as_str() {
                Some(message) => {
                    let kind = if rule["kind"] == "denied" { ToolErrorKind::Denied } else { ToolErrorKind::Failed };
                    Outcome::ToolFailed(ToolError { kind, message: message.to_owned() })
                }
                None => Outcome::Tool(rule.get("result").cloned().unwrap_or_else(|| json!({"echo": tool.args}))),
            },
            Request::Model(_) if rule["failed"] == "refusal" => Outcome::ModelFailed(Failure::new(FailureKind::Refusal, "no")),
            Request::Model(_) => Outcome::Model(reply(&rule)),
        })
    }

    fn text(&self) -> String {
        let mut notes: Vec<&Note> = self.notes.iter().collect();
        notes.sort_by_key(|note| note.place);
        let mut out = String::new();
        if self.case["brief"] == true {
            let attempts = notes.iter().filter(|note| matches!(note.event, NoteEvent::Run { .. })).count();
            let _ = writeln!(out, "{attempts} attempts");
            notes.clear();
        }
        for note in notes {
            let _ = writeln!(out, "{}", line(note));
        }
        if self.effects.len() < 200 {
            self.effects.iter().for_each(|(id, text)| {
                let _ = writeln!(out, "{id} {text}");
            });
        }
        if self.case["timers"] == true {
            self.rung.iter().for_each(|text| {
                let _ = writeln!(out, "rang {text}");
            });
        }
        let (result, reason) = self.end.clone().unwrap();
        let _ = writeln!(out, "end {result}: {}", reason.unwrap_or_default());
        out
    }
}

fn reply(rule: &Value) -> ModelReply {
    let text = match (&rule["text"], rule.get("reply")) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Some(value)) => Some(value.to_string()),
        _ => Some("{}".to_owned()),
    };
    let tokens = |index: usize| rule["tokens"][index].as_u64().unwrap_or(1);
    let tokens = Tokens { input: tokens(0), cached: 0, output: tokens(1), estimated: false };
    match rule.get("call") {
        Some(call) => {
            let call = ToolCall { id: "c1".into(), name: call[0].as_str().unwrap().into(), arguments: call[1].clone() };
            ModelReply { calls: vec![call], finish: Finish::ToolCalls, tokens, ..ModelReply::default() }
        }
        None => ModelReply { text, tokens, ..ModelReply::default() },
    }
}

fn shown(request: &Request) -> String {
    match request {
        Request::Tool(tool) => format!("tool {} {} for {}", tool.tool, tool.args, tool.role),
        Request::Store(store) => format!("store {} {:?} {}", store.name, store.paths, store.text.split_whitespace().collect::<String>()),
        Request::Log(log) => format!("log {} {}", log.path, Value::Object(log.record.clone())),
        Request::Model(request) => {
            let last = request.messages.last().map(|message| match message {
                Message::User { text } => text.lines().next().unwrap_or_default().to_owned(),
                other => format!("{other:?}").chars().take(60).collect(),
            });
            format!("model {} turn {} system {:?}: {}", request.model, request.asker.turn, request.system, last.unwrap_or_default())
        }
    }
}

fn line(note: &Note) -> String {
    match &note.event {
        NoteEvent::Round { round } => format!("round {round}"),
        NoteEvent::Run { cell, attempt, inputs } => {
            let entries =
                inputs.iter().map(|(key, names)| format!(" {key}={}", names.as_ref().map_or("null".into(), |names| names.join(","))));
            format!("run {cell} a{attempt}{}", entries.collect::<String>())
        }
        NoteEvent::Done { cell, recovered, emitted } => {
            format!("done {cell}{} {}", if *recovered { " recovered" } else { "" }, emitted.join(","))
        }
        NoteEvent::Fail { cell, attempt, kind, message, retried } => {
            format!("fail {cell} a{attempt} {kind}{}: {message}", if *retried { " retried" } else { "" })
        }
        NoteEvent::Deliver { flow } => format!("deliver {flow}"),
        NoteEvent::Skip { cell } => format!("skip {cell}"),
        NoteEvent::Release { flow } => format!("release {flow}"),
        NoteEvent::Stop { result, by } => format!("stop {result} by {by}"),
        NoteEvent::View { values, .. } => format!("view {}", Value::Object(values.clone())),
        NoteEvent::Risk { cell, message } => format!("risk {cell}: {message}"),
        NoteEvent::End { result } => format!("ended {result}"),
    }
}

/// Orders of coming back: first asked first, last asked first, and a mixture.
fn orders(case: &Value) -> Vec<String> {
    let mut turn = 0_usize;
    let mixed = move |_: usize| {
        turn = turn.wrapping_mul(31).wrapping_add(7);
        turn >> 2
    };
    vec![record(case, |_| 0), record(case, |n| n - 1), record(case, mixed)]
}

#[test]
fn every_case_leaves_its_record_in_every_order() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/interpret");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    assert!(paths.len() >= 45, "{}", paths.len());
    for path in paths {
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let records = orders(&case);
        let expected = path.with_extension("expected.txt");
        if std::env::var_os("RSF_BLESS").is_some() {
            std::fs::write(&expected, &records[0]).unwrap();
        }
        let wanted = std::fs::read_to_string(&expected).unwrap();
        for got in records {
            assert_eq!(got, wanted, "{}: {}", path.display(), case["about"]);
        }
    }
}

/// Gives every cell of a random core document something to do: a tool, a model, state, a log of all it sees.
fn equipped(mut document: Value, choices: &[u8], flows: bool) -> Value {
    let mut choice = choices.iter().cycle().copied();
    let mut state = Map::new();
    for step in document["steps"]["items"].as_array_mut().unwrap() {
        let seq = step["seq"].clone();
        for (role, cell) in step["cells"].as_object_mut().unwrap() {
            let name = format!("s_{role}_{seq}");
            state.insert(name.clone(), json!(0));
            let mut run = vec![
                json!({"call": "read", "with": {"path": format!("{role}{seq}")}, "as": "got"}),
                json!({"agent": {"text": "{{ [inputs, received, state] }}", "model": format!("m{}", choice.next().unwrap() % 2), "output": {}}, "as": "said"}),
                json!({"set": {(name): "{{ round }}"}}),
                json!({"log": {"message": "{{ [inputs, received, state, usage.by_role, run.failures.tool, run.risk_flags] }}"}}),
            ];
            if choice.next().unwrap().is_multiple_of(8) {
                run.push(json!({"stop": format!("BY_{role}_{seq}")}));
            }
            for out in cell["out"].as_array().unwrap().iter().filter_map(Value::as_str) {
                let chosen = out.split('|').nth(usize::from(choice.next().unwrap() % 2)).unwrap_or(out);
                run.push(json!({"emit": {(chosen): {"by": format!("{role}{seq}"), "said": "{{ said }}", "round": "{{ round }}"}}}));
            }
            cell["run"] = Value::Array(run);
            cell["retry"] = json!({"max": choice.next().unwrap() % 2});
            if choice.next().unwrap().is_multiple_of(4) && !flows {
                cell["exclusive"] = json!("one");
            }
        }
    }
    document["state"] = Value::Object(state);
    document["price"] = json!("tokens.total");
    document["limits"] = json!({"rounds": 4});
    document["logs"] = json!({"path": "log/{{ role }}.jsonl", "record": {"m": "{{ log.message }}"}, "text": ""});
    document["on"] = json!({"attempt": [{"log": {"message": "{{ [error, state] }}"}}], "end": [{"log": {"message": "{{ [state, usage, run.risk_flags] }}"}}]});
    if flows {
        document["ordering"] = json!("flows");
    }
    document
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The order in which outcomes of effects come back changes nothing: not a request, not a note, not a place.
    #[test]
    fn the_order_of_outcomes_changes_nothing(document in crate::machine::documents(), choices in prop::collection::vec(any::<u8>(), 64), flows in any::<bool>()) {
        let document = equipped(document, &choices, flows);
        let mut answers = vec![];
        for (index, byte) in choices.iter().take(12).enumerate() {
            let cell = format!("r{}@{}.r{}.a1/", index % 3, index / 3 + 1, byte % 3 + 1);
            answers.push(match byte % 4 {
                0 => json!({"id": format!("{cell}1"), "error": "gone", "kind": "denied"}),
                1 => json!({"id": format!("{cell}2"), "failed": "refusal"}),
                _ => json!({"id": cell, "model": true, "reply": index, "tokens": [byte, index]}),
            });
        }
        let case = json!({"document": document, "answers": answers});
        let wanted = record(&case, |_| 0);
        // Under `flows` what had started when a failure ended the run depends on time, as the reference says.
        prop_assume!(!flows || !wanted.contains("end FAILED"));
        let mut order = choices.iter().cycle();
        prop_assert_eq!(&record(&case, |_| usize::from(*order.next().unwrap())), &wanted);
        prop_assert_eq!(&record(&case, |n| n - 1), &wanted);
    }
}
