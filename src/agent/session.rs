//! One session: the model is asked, its tools are called one after another, until its output stands the check.
//!
//! Every fault of the model is told to it in words, counted and bounded. A call whose arguments cannot be read is never made. A session
//! starts no other session.

mod calls;
mod governed;
#[cfg(test)]
mod tests;

use super::answer::{self, Answer};
use super::{Asker, Failure, FailureKind, Finish, Message, ModelReply, ModelRequest, SessionRecord, ToolCall, ToolSpec};
use crate::governor::Watch;
use crate::model::tool::{ToolError, ToolErrorKind};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// Calls of one turn that are made; the model is told of the others.
const CALLS_PER_TURN: usize = 64;
/// Longest entry of [`SessionRecord::failures`], in characters.
const FAILURE_CHARS: usize = 600;
/// Faults named in one request for repair.
const FAULTS_NAMED: usize = 20;

/// What the output must be.
#[derive(Clone)]
pub struct OutputContract {
    /// JSON Schema as given to the model.
    pub schema: Value,
    /// Faults of a value in words (path, expected, got); none when it is accepted.
    #[expect(clippy::type_complexity, reason = "an alias would hide the shape")]
    pub check: Arc<dyn Fn(&Value) -> Vec<String> + Send + Sync>,
}

impl fmt::Debug for OutputContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputContract").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Everything a session needs, rendered.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// Who asks; its `turn` is ignored.
    pub asker: Asker,
    /// Session id.
    pub session_id: String,
    /// Model name.
    pub model: String,
    /// System text.
    pub system: String,
    /// First message.
    pub prompt: String,
    /// Tools offered.
    pub tools: Vec<ToolSpec>,
    /// What the output must be.
    pub output: OutputContract,
    /// Exchanges at most.
    pub max_turns: u32,
    /// Times an invalid output is sent back at most.
    pub max_repairs: u32,
    /// Bytes kept of one tool answer.
    pub output_bytes: usize,
    /// Speaks when the model wants to finish.
    pub governor: Option<Watch>,
}

/// What the session wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask the model; the caller fills `timeout_ms` and feeds [`Session::model`].
    Ask(ModelRequest),
    /// Make this call (its name is the wire name, its arguments are an object) and feed [`Session::tool`].
    Call {
        /// The call.
        call: ToolCall,
    },
    /// The output stood the check.
    Done {
        /// The output.
        output: Value,
    },
    /// The session is over without an output.
    Failed(Failure),
}

/// A session under way.
#[derive(Clone, Debug)]
pub struct Session {
    spec: SessionSpec,
    history: Arc<Vec<Message>>,
    turn: u32,
    /// Requests for repair of the output so far.
    repairs: u32,
    /// Turns in a row whose calls could all not be made.
    useless_turns: u32,
    queue: VecDeque<ToolCall>,
    current: Option<ToolCall>,
    /// Calls of this turn beyond what a turn may hold.
    dropped_calls: usize,
    /// A call of this turn was made.
    fruitful: bool,
    last_fault: String,
    finish: Finish,
    ids: BTreeSet<String>,
    over: bool,
    record: SessionRecord,
}

impl Session {
    /// A session that has not begun.
    #[must_use]
    pub fn new(spec: SessionSpec) -> Self {
        let record = SessionRecord { id: spec.session_id.clone(), model: spec.model.clone(), ..SessionRecord::default() };
        Self {
            spec,
            history: Arc::default(),
            turn: 0,
            repairs: 0,
            useless_turns: 0,
            queue: VecDeque::new(),
            current: None,
            dropped_calls: 0,
            fruitful: false,
            last_fault: String::new(),
            finish: Finish::Stop,
            ids: BTreeSet::new(),
            over: false,
            record,
        }
    }

    /// Begins: gives the first question.
    pub fn start(&mut self) -> Next {
        if self.turn > 0 || self.over {
            return self.misuse("start");
        }
        let text = self.spec.prompt.clone();
        self.say(Message::User { text });
        self.ask()
    }

    /// Feeds what came of [`Next::Ask`].
    pub fn model(&mut self, result: Result<ModelReply, Failure>) -> Next {
        if self.over || self.turn == 0 || self.current.is_some() {
            return self.misuse("model");
        }
        let reply = match result {
            Ok(reply) => reply,
            Err(failure) => {
                self.record.add_tokens(failure.spent.unwrap_or_default().tokens);
                return self.fail(failure.kind, failure.message);
            }
        };
        self.record.add_tokens(reply.tokens);
        self.record.latency_ms = self.record.latency_ms.saturating_add(reply.latency_ms);
        if !reply.model.is_empty() {
            self.record.model.clone_from(&reply.model);
        }
        self.finish = reply.finish;
        if reply.finish == Finish::Filtered {
            return self.fail(FailureKind::Refusal, "the provider's filter stopped the answer".to_owned());
        }
        if !reply.calls.is_empty() {
            return self.take_calls(reply);
        }
        match self.held_back(&reply) {
            Some(next) => next,
            None => self.conclude(reply),
        }
    }

    /// Feeds what came of [`Next::Call`].
    pub fn tool(&mut self, result: Result<Value, ToolError>) -> Next {
        let Some(call) = self.current.take() else { return self.misuse("tool") };
        if let Some(watch) = &mut self.spec.governor {
            watch.answered(result.is_ok());
        }
        let content = match result {
            Ok(value) => {
                let tool = calls::dotted(&call.name);
                let refused = refusals(&value).map(|line| clip(&format!("{tool}: a started program was refused: {line}")));
                self.record.risk_flags.extend(refused);
                value.to_string()
            }
            Err(error) => {
                let line = format!("{}: {}", calls::dotted(&call.name), error.message);
                if error.kind == ToolErrorKind::Denied {
                    self.record.risk_flags.push(clip(&line));
                }
                self.note(&line);
                format!("error: {}", error.message)
            }
        };
        self.answer_call(&call, &content);
        self.next_call()
    }

    /// Figures of the session so far.
    #[must_use]
    pub fn record(&self) -> SessionRecord {
        self.record.clone()
    }

    fn ask(&mut self) -> Next {
        if self.turn >= self.spec.max_turns {
            let turns = self.spec.max_turns;
            return self.fail(
                FailureKind::Fail,
                format!("the session used all {turns} turns without giving its output; raise max_turns or ask for less"),
            );
        }
        self.turn += 1;
        self.record.turns = self.turn;
        Next::Ask(ModelRequest {
            asker: Asker { turn: self.turn, ..self.spec.asker.clone() },
            session_id: self.spec.session_id.clone(),
            model: self.spec.model.clone(),
            system: self.spec.system.clone(),
            messages: Arc::clone(&self.history),
            tools: self.spec.tools.clone(),
            output: self.spec.output.schema.clone(),
            timeout_ms: 0,
        })
    }

    /// An answer without calls: it is the output, or it is sent back.
    fn conclude(&mut self, reply: ModelReply) -> Next {
        let text = reply.text.unwrap_or_default();
        let whole = reply.finish != Finish::Length;
        let faults = match answer::read(&text, &self.spec.output.schema, whole) {
            Ok(Answer { value, repairs }) => {
                let faults = (self.spec.output.check)(&value);
                if faults.is_empty() {
                    for repair in &repairs {
                        self.note(repair);
                    }
                    self.over = true;
                    return Next::Done { output: value };
                }
                faults
            }
            Err(fault) if !whole => vec![fault, "the length limit cut the answer: answer again, shorter".to_owned()],
            Err(fault) => vec![fault],
        };
        let listed = listed(&faults);
        self.note(&listed);
        if let Some(end) = self.count_repair(&listed) {
            return end;
        }
        if !text.trim().is_empty() {
            self.say(Message::Assistant { text: Some(text), calls: Vec::new(), reasoning: reply.reasoning });
        }
        self.say(Message::User {
            text: format!("Your answer was not accepted:\n{listed}\nAnswer again with the whole corrected output and nothing else."),
        });
        self.ask()
    }

    /// Counts a turn that gave nothing usable; the failure when there were too many in a row.
    fn count_repair(&mut self, fault: &str) -> Option<Next> {
        if self.repairs >= self.spec.max_repairs {
            let times = self.spec.max_repairs;
            let text = format!("the model's answer is still not usable after {times} requests for repair: {}", clip(fault));
            return Some(self.end(FailureKind::Schema, text));
        }
        self.repairs += 1;
        None
    }

    fn say(&mut self, message: Message) {
        Arc::make_mut(&mut self.history).push(message);
    }

    fn note(&mut self, fault: &str) {
        self.record.failures.push(clip(fault));
    }

    fn fail(&mut self, kind: FailureKind, message: String) -> Next {
        self.note(&message);
        self.end(kind, message)
    }

    fn end(&mut self, kind: FailureKind, message: String) -> Next {
        self.over = true;
        self.last_judgement();
        self.queue.clear();
        self.current = None;
        Next::Failed(Failure::new(kind, message))
    }

    fn misuse(&mut self, fed: &str) -> Next {
        self.end(FailureKind::Crash, format!("the session was fed `{fed}` when it was not due"))
    }
}

/// What the kernel refused to a started program, as the result of its call tells.
pub(crate) fn refusals(result: &Value) -> impl Iterator<Item = &str> {
    result.get("refused").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn listed(faults: &[String]) -> String {
    let mut lines: Vec<String> = faults.iter().take(FAULTS_NAMED).map(|fault| format!("- {fault}")).collect();
    if faults.len() > FAULTS_NAMED {
        lines.push(format!("- and {} more", faults.len() - FAULTS_NAMED));
    }
    lines.join("\n")
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(FAILURE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
