//! The tool calls of one turn: made one after another in order, each answered exactly once.
//!
//! Arguments are repaired only where there is one reading; what stays unreadable never becomes a call.

use super::{CALLS_PER_TURN, Next, Session};
use crate::agent::answer::only_fence;
use crate::agent::reader::{Repair, read_json};
use crate::agent::{FailureKind, Finish, Message, ModelReply, ToolCall};
use serde_json::{Map, Value};

/// Names on the wire whose underscore is no dot.
const UNDOTTED: [&str; 1] = ["ask_user"];

impl Session {
    pub(super) fn take_calls(&mut self, reply: ModelReply) -> Next {
        self.dropped_calls = reply.calls.len().saturating_sub(CALLS_PER_TURN);
        let kept = reply.calls.into_iter().take(CALLS_PER_TURN).enumerate();
        let calls: Vec<ToolCall> = kept.map(|(index, call)| self.received(index, call)).collect();
        self.queue = calls.iter().cloned().collect();
        self.fruitful = false;
        let calls = calls.into_iter().map(|call| ToolCall { name: plain_name(&call.name), ..call }).collect();
        self.say(Message::Assistant { text: reply.text.filter(|text| !text.is_empty()), calls, reasoning: reply.reasoning });
        self.next_call()
    }

    /// The next call that can be made; the others are answered at once. With none left the model is asked again.
    pub(super) fn next_call(&mut self) -> Next {
        while let Some(call) = self.queue.pop_front() {
            let Some(fault) = self.refusal(&call) else {
                self.fruitful = true;
                self.record.used(dotted(&call.name));
                if let Some(watch) = &mut self.spec.governor {
                    watch.called(&dotted(&call.name), &call.arguments);
                }
                self.current = Some(call.clone());
                return Next::Call { call };
            };
            self.note(&fault);
            self.answer_call(&call, &format!("error: {fault}"));
            self.last_fault = fault;
        }
        if self.dropped_calls > 0 {
            let text =
                format!("only the first {CALLS_PER_TURN} calls were made, {} were not; make them in another turn", self.dropped_calls);
            self.note(&text);
            self.say(Message::User { text });
            self.dropped_calls = 0;
        }
        if self.fruitful {
            self.useless_turns = 0;
            return self.ask();
        }
        if self.useless_turns >= self.spec.max_repairs {
            let fault = std::mem::take(&mut self.last_fault);
            let turns = self.useless_turns.saturating_add(1);
            return self.end(FailureKind::Schema, format!("no tool call could be made in {turns} turns in a row: {fault}"));
        }
        self.useless_turns += 1;
        self.ask()
    }

    pub(super) fn answer_call(&mut self, call: &ToolCall, content: &str) {
        let content = capped(content, self.spec.output_bytes);
        self.say(Message::Tool { call: call.id.clone(), name: plain_name(&call.name), content });
    }

    /// Why a call is not made.
    fn refusal(&self, call: &ToolCall) -> Option<String> {
        let Some(offered) = self.spec.tools.iter().find(|tool| tool.name == call.name) else {
            let names: Vec<&str> = self.spec.tools.iter().map(|tool| tool.name.as_str()).collect();
            let have = if names.is_empty() { "no tool is offered".to_owned() } else { format!("you have: {}", names.join(", ")) };
            return Some(format!("there is no tool `{}`; {have}", shown(&call.name)));
        };
        match &call.arguments {
            Value::Object(arguments) => {
                missing(arguments, &offered.parameters).map(|key| format!("{}: the argument `{}` is missing", call.name, shown(key)))
            }
            Value::String(text) => Some(format!("{}: {}", call.name, self.unreadable(text))),
            _ => Some(format!("{}: the arguments must be one JSON object", call.name)),
        }
    }

    fn unreadable(&self, text: &str) -> String {
        match read_json(text) {
            Err(fault) if fault.cut || self.finish == Finish::Length => {
                "the arguments were cut off and the call was not made; make it again in smaller pieces".to_owned()
            }
            Err(fault) => format!("the arguments are no JSON and the call was not made: {}", fault.message),
            Ok(_) => "the arguments must be one JSON object".to_owned(),
        }
    }

    /// The call as the session goes on with it: with an id of its own, the name as offered, the arguments read where they can be.
    fn received(&mut self, index: usize, call: ToolCall) -> ToolCall {
        let id = self.own_id(index, call.id);
        let name = self.offered_name(call.name);
        let arguments = match call.arguments {
            Value::String(text) => match read_arguments(&text, self.finish) {
                Some((arguments, repairs)) => {
                    for repair in repairs {
                        self.note(&format!("{}: repaired {} in the arguments", shown(&name), repair.words()));
                    }
                    Value::Object(arguments)
                }
                None => Value::String(text),
            },
            Value::Null if self.finish != Finish::Length => Value::Object(Map::new()),
            other => other,
        };
        ToolCall { id, name, arguments }
    }

    /// Ids are unique within the session; what a provider gave twice, or not at all, gets one of ours.
    fn own_id(&mut self, index: usize, given: String) -> String {
        let mut id = given;
        let mut number = index;
        while id.is_empty() || self.ids.contains(&id) {
            number += 1;
            id = format!("call_{}_{number}", self.turn);
        }
        self.ids.insert(id.clone());
        id
    }

    /// Models write dots for underscores, and some servers leave a stray tag behind the name.
    fn offered_name(&self, given: String) -> String {
        let end = given.trim_start().find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
        let head = given.trim_start();
        let plain = end.and_then(|end| head.get(..end)).unwrap_or(head).replace('.', "_");
        if self.spec.tools.iter().any(|tool| tool.name == plain) { plain } else { given }
    }
}

/// Arguments written as text: empty means none, a fence is taken off, a text that holds an object is decoded once more.
fn read_arguments(text: &str, finish: Finish) -> Option<(Map<String, Value>, Vec<Repair>)> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return (finish != Finish::Length).then(|| (Map::new(), Vec::new()));
    }
    let text = only_fence(text).unwrap_or(text);
    let (value, mut repairs) = read_json(text).ok()?;
    match value {
        Value::Object(arguments) => Some((arguments, repairs)),
        Value::String(inner) => {
            let (value, more) = read_json(&inner).ok()?;
            repairs.extend(more);
            let Value::Object(arguments) = value else { return None };
            Some((arguments, repairs))
        }
        Value::Null if finish != Finish::Length => Some((Map::new(), repairs)),
        _ => None,
    }
}

fn missing<'a>(arguments: &Map<String, Value>, schema: &'a Value) -> Option<&'a str> {
    let required = schema.get("required")?.as_array()?;
    required.iter().filter_map(Value::as_str).find(|key| !arguments.contains_key(*key))
}

/// The name documents use: the first underscore is a dot.
pub(super) fn dotted(wire: &str) -> String {
    if UNDOTTED.contains(&wire) { wire.to_owned() } else { wire.replacen('_', ".", 1) }
}

/// A name any server accepts when the history is sent back.
fn plain_name(name: &str) -> String {
    let plain: String = name.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

fn shown(name: &str) -> String {
    name.chars().take(64).collect::<String>().escape_debug().to_string()
}

/// Head and tail of `content`, about `limit` bytes together, with a note of what was left out.
fn capped(content: &str, limit: usize) -> String {
    if content.len() <= limit {
        return content.to_owned();
    }
    let tail_bytes = limit / 3;
    let head_end = floor_boundary(content, limit - tail_bytes);
    let tail_start = ceil_boundary(content, content.len() - tail_bytes);
    let (head, tail) = (content.get(..head_end).unwrap_or(""), content.get(tail_start..).unwrap_or(""));
    let left = tail_start.saturating_sub(head_end);
    format!("{head}\n[… {left} of {} bytes left out …]\n{tail}", content.len())
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
