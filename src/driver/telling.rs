//! Words for watchers: what an effect is, how it ended, and a record of the past as events.

use super::Event;
use crate::base::Timestamp;
use crate::executor::EffectKind;
use crate::journal::{Entry, Record};
use crate::machine::{EffectId, Input, Outcome, Request};
use serde_json::Value;
use std::time::Duration;

/// Longest detail told, in characters.
const DETAIL_CHARS: usize = 200;

/// An effect begins.
pub fn started(id: &EffectId, request: &Request, at: Timestamp) -> Event {
    let what = match request {
        Request::Model(model) => model.model.clone(),
        Request::Tool(tool) => tool.tool.clone(),
        Request::Store(store) => store.name.clone(),
        Request::Log(log) => log.path.clone(),
    };
    Event::EffectStarted { id: id.clone(), kind: EffectKind::of(request).name(), what, at }
}

/// An effect ended.
pub fn done(id: &EffectId, outcome: &Outcome, took: Duration, at: Timestamp) -> Event {
    let (ok, detail) = match outcome {
        Outcome::Model(reply) => (true, format!("{} + {} tokens", reply.tokens.input, reply.tokens.output)),
        Outcome::ModelFailed(failure) => (false, failure.message.clone()),
        Outcome::Tool(result) => (true, result.get("exit").and_then(Value::as_i64).map_or(String::new(), |code| format!("exit {code}"))),
        Outcome::ToolFailed(error) | Outcome::StoreFailed(error) => (false, error.message.clone()),
        Outcome::Stored(paths) => (true, paths.join(", ")),
        Outcome::Logged => (true, String::new()),
    };
    let detail = if detail.chars().count() > DETAIL_CHARS {
        detail.chars().take(DETAIL_CHARS - 1).chain(std::iter::once('…')).collect()
    } else {
        detail
    };
    Event::EffectDone { id: id.clone(), ok, ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX), detail, at }
}

/// The events that a record of the past stands for, so that it goes through the same reporters. `exit` gives the exit code of a result.
pub fn past_events(records: &[Record], journal: &str, exit: impl Fn(&str) -> u8) -> Vec<Event> {
    let mut begun: std::collections::BTreeMap<&EffectId, Timestamp> = std::collections::BTreeMap::new();
    let mut run = String::new();
    let mut events = Vec::new();
    for record in records {
        let at = record.at;
        match &record.entry {
            Entry::Header(header) => run.clone_from(&header.run),
            Entry::Input(input) => match input.as_ref() {
                Input::Start { .. } | Input::Resume { .. } => {
                    let resumed = matches!(input.as_ref(), Input::Resume { .. });
                    events.push(Event::Started { run: run.clone(), journal: journal.to_owned(), resumed, at });
                }
                Input::Effect { id, outcome, .. } => {
                    let took = begun.get(id).map_or(0, |since| at.0.saturating_sub(since.0));
                    events.push(done(id, outcome, Duration::from_millis(u64::try_from(took).unwrap_or(0)), at));
                }
                Input::Timer { .. } | Input::Stop { .. } | Input::Fact { .. } | Input::Abort { .. } | Input::Scripted { .. } => {}
            },
            Entry::Request(request) => {
                begun.insert(&request.id, at);
                events.push(past_start(&request.id, &request.request, at));
            }
            Entry::Note(note) => events.push(Event::Note { at, note: note.clone() }),
            Entry::End { result, reason } => {
                events.push(Event::Ended { result: result.clone(), reason: reason.clone(), exit: exit(result), at });
            }
        }
    }
    events
}

/// A recorded request need not be put together in full to say what it was; a model is named by the first request of its session only.
fn past_start(id: &EffectId, request: &Value, at: Timestamp) -> Event {
    let text = |pointer: &str| request.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (kind, what) = if let Some(tool) = text("/tool/tool") {
        ("tool", tool)
    } else if let Some(name) = text("/store/name") {
        ("store", name)
    } else if let Some(path) = text("/log/path") {
        ("log", path)
    } else {
        ("model", text("/model/is/model").unwrap_or_default())
    };
    Event::EffectStarted { id: id.clone(), kind, what, at }
}
