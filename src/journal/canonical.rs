//! The canonical record of a run: what two runs are compared by.
//!
//! The journal in the order of everything (round, step, role, position), not in the order of finishing; without times, latencies, digests
//! that depend on them, and with shas numbered by first appearance. Two runs that decided the same have the same canonical record.

use super::record::{Entry, Record};
use super::{Blobs, JournalError};
use crate::machine::{Input, NoteEvent};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

/// Keys whose values say when or how long, or follow from such values.
const DROPPED: [&str; 7] = ["at", "ms", "latency_ms", "timeout_ms", "timestamp", "time", "rerun"];

/// The canonical record; blobs are put back in their places.
///
/// # Errors
/// A blob is missing or damaged.
pub fn canonical(records: &[Record], blobs: &Blobs) -> Result<Vec<Value>, JournalError> {
    let roles = role_order(records);
    let mut placed = Vec::new();
    let mut requested = BTreeSet::new();
    for record in records {
        // A request that was made again after an interruption stands there once.
        if matches!(&record.entry, Entry::Request(request) if !requested.insert(request.id.clone())) {
            continue;
        }
        if let Some(entry) = place(record, &roles, blobs)? {
            placed.push(entry);
        }
    }
    placed.sort_by(|a, b| a.0.cmp(&b.0));
    let mut cleaner = Cleaner::new(records);
    Ok(placed.into_iter().map(|(_, value)| cleaner.clean(value)).collect())
}

/// Where an entry stands: round, step, role, class of entry, then what tells entries of one class apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    round: u32,
    seq: u32,
    role: u32,
    class: u8,
    attempt: u32,
    item: Option<u64>,
    index: u64,
    id: String,
}

const FIRST: u8 = 0;
const NOTE: u8 = 1;
const REQUEST: u8 = 2;
const OUTCOME: u8 = 3;
const LAST: u8 = 4;

fn place(record: &Record, roles: &BTreeMap<String, u32>, blobs: &Blobs) -> Result<Option<(Spot, Value)>, JournalError> {
    let outside = |seq, class| Spot { round: if seq == 0 { 0 } else { u32::MAX }, seq, class, ..Spot::default() };
    let placed = match &record.entry {
        Entry::Header(header) => (
            outside(0, FIRST),
            json!({ "kind": "header", "document": header.document, "config": header.config, "params": header.params, "seed": header.seed }),
        ),
        Entry::Note(note) => {
            let spot = Spot {
                round: note.place.round,
                seq: note.place.seq,
                role: note.place.role,
                class: NOTE,
                index: u64::from(note.place.index),
                ..Spot::default()
            };
            (spot, json!({ "kind": "note", "event": json_of("note", &note.event)? }))
        }
        Entry::Request(request) => {
            let mut full = blobs.expand(request.request.clone()).map_err(|what| damaged(record, what))?;
            if let Some(model) = full.get_mut("model").and_then(Value::as_object_mut) {
                model.retain(|key, _| key != "frame" && key != "chain");
            }
            let body = json!({ "kind": "request", "id": request.id.0, "definition": request.definition, "request": full });
            (effect_spot(&request.id.0, REQUEST, roles), body)
        }
        Entry::Input(input) => match input.as_ref() {
            Input::Effect { id, outcome, .. } => {
                (effect_spot(&id.0, OUTCOME, roles), json!({ "kind": "outcome", "id": id.0, "outcome": json_of("input", outcome)? }))
            }
            Input::Timer { id, .. } => (effect_spot(&id.0, OUTCOME, roles), json!({ "kind": "timer", "id": id.0 })),
            Input::Start { .. } => (outside(0, NOTE), json!({ "kind": "start" })),
            Input::Stop { .. } => (outside(u32::MAX, OUTCOME), json!({ "kind": "stop" })),
            // A run that was interrupted is compared with one that was not; facts are about the surroundings.
            Input::Resume { .. } | Input::Fact { .. } | Input::Abort { .. } | Input::Scripted { .. } => return Ok(None),
        },
        Entry::End { result, reason } => (outside(u32::MAX, LAST), json!({ "kind": "end", "result": result, "reason": reason })),
    };
    Ok(Some(placed))
}

fn json_of(kind: &'static str, value: &impl serde::Serialize) -> Result<Value, JournalError> {
    serde_json::to_value(value).map_err(|error| JournalError::Unwritable { kind, message: error.to_string() })
}

fn damaged(record: &Record, what: String) -> JournalError {
    JournalError::Damaged { path: PathBuf::from("blobs"), good: record.seq.checked_sub(1), what }
}

/// Which role stands at which index, as far as the notes tell.
fn role_order(records: &[Record]) -> BTreeMap<String, u32> {
    let mut roles = BTreeMap::new();
    for record in records {
        let Entry::Note(note) = &record.entry else { continue };
        let (NoteEvent::Run { cell, .. } | NoteEvent::Done { cell, .. } | NoteEvent::Fail { cell, .. } | NoteEvent::Skip { cell }) =
            &note.event
        else {
            continue;
        };
        if let Some((role, _)) = cell.rsplit_once('@') {
            roles.insert(role.to_owned(), note.place.role);
        }
    }
    roles
}

/// Reads `role@seq.r{round}.a{attempt}[.i{item}]/{index}`; what has another form keeps its place by its text.
fn effect_spot(id: &str, class: u8, roles: &BTreeMap<String, u32>) -> Spot {
    let mut spot = Spot { class, id: id.to_owned(), role: u32::MAX, ..Spot::default() };
    let (mut path, index) = id.rsplit_once('/').unwrap_or((id, ""));
    spot.index = index.parse().unwrap_or(u64::MAX);
    while let Some((before, part)) = path.rsplit_once('.') {
        let Some(number) = part.get(1..).and_then(|digits| digits.parse::<u32>().ok()) else { break };
        match part.as_bytes().first() {
            Some(b'i') => spot.item = Some(u64::from(number)),
            Some(b'a') => spot.attempt = number,
            Some(b'r') => spot.round = number,
            _ => break,
        }
        path = before;
    }
    // A program of `on` has no step: `on.end` and `on.failure` stand behind the round's steps, the others before them.
    spot.seq = match path {
        "on.end" | "on.failure" => u32::MAX,
        _ => 0,
    };
    if let Some((role, seq)) = path.rsplit_once('@') {
        spot.seq = seq.parse().unwrap_or(u32::MAX);
        spot.role = roles.get(role).copied().unwrap_or(u32::MAX);
    }
    spot
}

/// Takes times and latencies out, and gives shas numbers.
struct Cleaner {
    root: Option<String>,
    shas: BTreeMap<String, usize>,
}

struct Patterns {
    sha: Regex,
    times: [(Regex, &'static str); 3],
}

/// Compiled once; the texts are fixed, so that it is there is a test's business, not a user's.
static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(Patterns::new);

impl Patterns {
    fn new() -> Option<Self> {
        let time = Regex::new("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?").ok()?;
        let compact = Regex::new("[0-9]{8}T[0-9]{6}").ok()?;
        let seconds = Regex::new(r"(?-u:\b)[0-9]+[.][0-9]+ ?(?:s|min|h)(?-u:\b)").ok()?;
        let sha = Regex::new(r"(?-u:\b)[0-9a-f]{40}(?-u:\b)").ok()?;
        Some(Self { sha, times: [(time, "<time>"), (compact, "<time>"), (seconds, "<seconds>")] })
    }
}

impl Cleaner {
    fn new(records: &[Record]) -> Self {
        let root = records.iter().find_map(|record| match &record.entry {
            Entry::Input(input) => match input.as_ref() {
                Input::Start { project, .. } => {
                    project.get("root").and_then(Value::as_str).filter(|root| root.len() > 1).map(str::to_owned)
                }
                _ => None,
            },
            _ => None,
        });
        Self { root, shas: BTreeMap::new() }
    }

    fn clean(&mut self, value: Value) -> Value {
        match value {
            // What a tool said reaches a model as the text of an object: it is the same when the object is.
            Value::String(text) => match text.starts_with('{').then(|| serde_json::from_str::<Value>(&text)) {
                Some(Ok(object)) => Value::String(self.clean(object).to_string()),
                _ => Value::String(self.text(text)),
            },
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.clean(item)).collect()),
            Value::Object(map) => {
                let kept = map.into_iter().filter(|(key, _)| !DROPPED.contains(&key.as_str()));
                let cleaned: BTreeMap<String, Value> = kept.map(|(key, value)| (self.text(key), value)).collect();
                Value::Object(cleaned.into_iter().map(|(key, value)| (key, self.clean(value))).collect::<Map<_, _>>())
            }
            plain => plain,
        }
    }

    fn text(&mut self, mut text: String) -> String {
        if let Some(root) = &self.root {
            text = text.replace(root.as_str(), "<project>");
        }
        let Some(Patterns { sha, times }) = PATTERNS.as_ref() else { return text };
        for (pattern, stand_in) in times {
            text = pattern.replace_all(&text, *stand_in).into_owned();
        }
        let shas = &mut self.shas;
        let number = |found: &Captures<'_>| {
            let next = shas.len() + 1;
            let number = *shas.entry(found[0].to_owned()).or_insert(next);
            format!("<sha {number}>")
        };
        sha.replace_all(&text, number).into_owned()
    }
}
