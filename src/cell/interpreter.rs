//! The interpreter's state and its loop: run operations until one needs the world, wait, go on.

use super::contract;
use super::emission::{Emitted, Envelope, OutEntry, entry_of};
use super::position::{Branch, Frame, list_at};
use super::sessions::{Talk, single_agent};
use super::stores::{StoreOrder, store_order};
use crate::agent::{Failure, FailureKind, ModelReply, ModelRequest};
use crate::base::{Limits, Timestamp};
use crate::governor::Governor;
use crate::model::tool::{ToolError, ToolRequest};
use crate::model::{Op, OpKind, Policy, TypeRef, Workflow};
use crate::rule::{CompiledTable, Engine, ExprError, Scope, Val};
use crate::schema::{Schema, TypeSchemas};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What interpretation reads of the plan.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// The document.
    pub workflow: &'a Workflow,
    /// Its compiled texts.
    pub engine: &'a Engine,
    /// Its decision tables.
    pub tables: &'a BTreeMap<String, CompiledTable>,
    /// Governors' tables, by path.
    pub governors: &'a BTreeMap<String, Arc<Governor>>,
    /// Schemas of handovers.
    pub schemas: &'a TypeSchemas,
    /// Schemas of agent operations with an `output` of their own, by pointer.
    pub outputs: &'a BTreeMap<String, Schema>,
    /// Limits of the run.
    pub limits: &'a Limits,
}

/// What kind of list is interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A cell's `run`: every `out` entry must be emitted unless the run is stopped.
    Run,
    /// A cell's `recover`: it may emit, or leave the failure standing.
    Recover,
    /// A program of `on`: it emits nothing.
    Program,
}

/// On whose behalf operations run.
#[derive(Clone, Debug)]
pub struct Who {
    /// Role id.
    pub role: String,
    /// `role@seq`, or `on.{event}`.
    pub cell: String,
    /// Round.
    pub round: u32,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Item of an `each` cell.
    pub item: Option<usize>,
    /// Owner of checkouts: prefix of the effects' identities.
    pub owner: String,
    /// Prefix of keys of things that must happen once, without attempt.
    pub key: String,
    /// Permission layers, outermost first.
    pub layers: Vec<Policy>,
    /// Moment at which the attempt's time is up.
    pub deadline: Timestamp,
}

/// What changes while a cell waits: handed in at every start and resume.
#[derive(Clone, Debug)]
pub struct Present {
    /// Time of the input being applied.
    pub now: Timestamp,
    /// `usage` and `run` with the cell's own share, by name.
    pub facts: Vec<(&'static str, Val)>,
}

/// A requested end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Result name.
    pub result: String,
    /// Why, for people.
    pub reason: Option<String>,
}

/// What an interpretation left behind when it succeeded.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Handovers.
    pub emitted: Vec<Emitted>,
    /// Changes of state.
    pub set: Map<String, Value>,
    /// Requested ends, in order.
    pub stops: Vec<Stop>,
    /// Local names at the end (`let`).
    pub locals: Map<String, Value>,
}

/// What the interpreter wants next.
#[derive(Debug)]
pub enum Step {
    /// Ask a model.
    Model(ModelRequest),
    /// Call a tool.
    Tool(ToolRequest),
    /// Write a document: type name, paths, text.
    Store(String, Vec<String>, String),
    /// Append a log record.
    Log(super::stores::LogLine),
    /// The list is done.
    Done(Box<Finished>),
    /// The attempt failed.
    Failed(Failure),
}

/// What the interpreter waits for.
pub(super) enum Waiting {
    /// Nothing.
    Nothing,
    /// A program's tool call; the name its result is bound to.
    Tool(Option<String>),
    /// An agent session's model or tool.
    Talk(Box<Talk>),
    /// Documents of a `store` operation still to write.
    Store(Vec<StoreOrder>),
    /// A log record.
    Log,
    /// Documents of emitted types still to write before the cell succeeds.
    Closing(Vec<StoreOrder>),
}

/// One interpretation under way.
pub struct Interpreter {
    pub(super) who: Who,
    pub(super) mode: Mode,
    pub(super) outs: Vec<OutEntry>,
    pub(super) envelope: Envelope,
    pub(super) scope: Scope,
    pub(super) state: Map<String, Value>,
    pub(super) finished: Finished,
    pub(super) frames: Vec<Frame>,
    pub(super) waiting: Waiting,
    pub(super) sessions: u32,
    pub(super) operations: u64,
    pub(super) risks: Vec<String>,
    pub(super) violations: Vec<String>,
    pub(super) now: Timestamp,
}

pub(super) enum Control {
    Next(Value),
    Enter(Frame),
    Wait(Step, Waiting),
    Return,
}

impl Interpreter {
    /// Prepares an interpretation. `scope` holds everything that does not change while the cell runs; `state` is the state the cell sees.
    #[must_use]
    pub fn new(who: Who, mode: Mode, outs: Vec<OutEntry>, ids: &Map<String, Value>, scope: Scope, state: Map<String, Value>) -> Self {
        let envelope = Envelope::new(ids, who.round, "");
        let frames = vec![Frame::List { path: Vec::new(), next: 0, last: Value::Null }];
        let mut scope = scope;
        scope.set_json("state", &Value::Object(state.clone()));
        Self {
            who,
            mode,
            outs,
            envelope,
            scope,
            state,
            finished: Finished::default(),
            frames,
            waiting: Waiting::Nothing,
            sessions: 0,
            operations: 0,
            risks: Vec::new(),
            violations: Vec::new(),
            now: Timestamp::default(),
        }
    }

    /// Risk flags raised since the last call.
    pub fn take_risks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.risks)
    }

    /// Runs from the first operation.
    pub fn start(&mut self, host: &Host<'_>, ops: &[Op], present: &Present, ids: &Map<String, Value>) -> Step {
        self.envelope = Envelope::new(ids, self.who.round, &present.now.rfc3339());
        self.refresh(present);
        self.run(host, ops)
    }

    /// Goes on after a model answered (or could not be asked).
    pub fn model(&mut self, host: &Host<'_>, ops: &[Op], present: &Present, reply: Result<ModelReply, Failure>) -> Step {
        self.refresh(present);
        match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Talk(mut talk) => {
                let next = talk.session.model(reply);
                self.converse(host, ops, talk, next)
            }
            other => self.unexpected(other),
        }
    }

    /// Goes on after a tool answered (or could not).
    pub fn tool(&mut self, host: &Host<'_>, ops: &[Op], present: &Present, result: Result<Value, ToolError>) -> Step {
        self.refresh(present);
        match (std::mem::replace(&mut self.waiting, Waiting::Nothing), result) {
            (Waiting::Talk(mut talk), result) => {
                let next = talk.session.tool(result);
                self.converse(host, ops, talk, next)
            }
            (Waiting::Tool(bind), Ok(value)) => {
                self.note_refusals(&value);
                self.result(bind.as_deref(), value);
                self.run(host, ops)
            }
            (Waiting::Tool(_), Err(error)) => Step::Failed(self.tool_failure(&error)),
            (other, _) => self.unexpected(other),
        }
    }

    /// Goes on after a document was written (or could not be).
    pub fn stored(&mut self, host: &Host<'_>, ops: &[Op], present: &Present, result: Result<(), ToolError>) -> Step {
        self.refresh(present);
        if let Err(error) = result {
            return Step::Failed(self.tool_failure(&error));
        }
        match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Store(rest) if rest.is_empty() => {
                self.result(None, Value::Null);
                self.run(host, ops)
            }
            Waiting::Store(rest) => self.write(rest, Waiting::Store),
            Waiting::Closing(rest) => self.close(rest),
            other => self.unexpected(other),
        }
    }

    /// Goes on after a log record was written.
    pub fn logged(&mut self, host: &Host<'_>, ops: &[Op], present: &Present) -> Step {
        self.refresh(present);
        self.waiting = Waiting::Nothing;
        self.result(None, Value::Null);
        self.run(host, ops)
    }

    fn unexpected(&mut self, waiting: Waiting) -> Step {
        self.waiting = waiting;
        Step::Failed(Failure::new(FailureKind::Crash, "an outcome came that nothing waits for: the journal does not fit this program"))
    }

    fn refresh(&mut self, present: &Present) {
        self.now = present.now;
        self.scope.set_json("now", &Value::from(present.now.rfc3339()));
        for (name, value) in &present.facts {
            self.scope.set(name, value.clone());
        }
    }

    pub(super) fn run(&mut self, host: &Host<'_>, ops: &[Op]) -> Step {
        loop {
            let Some(op) = self.next(ops) else { return self.finish(host, ops) };
            self.operations += 1;
            if self.operations > host.limits.operations {
                let message =
                    format!("more than {} operations in one attempt: raise limits.operations or mend the loop", host.limits.operations);
                return Step::Failed(Failure::new(FailureKind::Fail, message));
            }
            let control = match self.wanted(host, op) {
                Ok(true) => self.execute(host, op),
                Ok(false) => Ok(self.skipped(op)),
                Err(error) => Err(error),
            };
            match control {
                Ok(Control::Next(value)) => self.result(op.bind.as_deref(), value),
                Ok(Control::Enter(frame)) => self.frames.push(frame),
                Ok(Control::Return) => self.frames.clear(),
                Ok(Control::Wait(step, waiting)) => {
                    self.waiting = waiting;
                    return step;
                }
                Err(failure) => return Step::Failed(failure),
            }
        }
    }

    fn wanted(&self, host: &Host<'_>, op: &Op) -> Result<bool, Failure> {
        op.when.as_deref().map_or(Ok(true), |when| host.engine.truth(when, &self.scope)).map_err(|e| at(op, &e))
    }

    /// A group whose `when` does not hold goes the other way; anything else gives null.
    fn skipped(&self, op: &Op) -> Control {
        match &op.kind {
            OpKind::Do { otherwise, .. } if !otherwise.is_empty() => Control::Enter(self.nested(Branch::Otherwise)),
            _ => Control::Next(Value::Null),
        }
    }

    /// A frame for a nested list of the operation that was just taken.
    pub(super) fn nested(&self, branch: Branch) -> Frame {
        Frame::List { path: self.path(branch), next: 0, last: Value::Null }
    }

    /// The way to a nested list of the operation that was just taken.
    pub(super) fn path(&self, branch: Branch) -> Vec<(usize, Branch)> {
        match self.frames.last() {
            Some(Frame::List { path, next, .. }) => path.iter().copied().chain([(next.saturating_sub(1), branch)]).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes the next operation, leaving lists and passes that are done.
    fn next<'a>(&mut self, ops: &'a [Op]) -> Option<&'a Op> {
        loop {
            match self.frames.last_mut()? {
                Frame::List { path, next, .. } => {
                    if let Some(op) = list_at(ops, path).get(*next) {
                        *next += 1;
                        return Some(op);
                    }
                    self.leave_list();
                }
                Frame::Loop { .. } => self.next_pass(),
            }
        }
    }

    fn leave_list(&mut self) {
        let Some(Frame::List { last, .. }) = self.frames.pop() else { return };
        match self.frames.last_mut() {
            Some(Frame::Loop { results, pass, .. }) => {
                results.push(last);
                *pass += 1;
            }
            Some(Frame::List { last: outer, .. }) => *outer = last,
            None => {}
        }
    }

    fn next_pass(&mut self) {
        let Some(Frame::Loop { path, items, pass, .. }) = self.frames.last() else { return };
        if let Some(item) = items.get(*pass) {
            let (item, index, path) = (item.clone(), Value::from(*pass), path.clone());
            self.scope.set_json("item", &item);
            self.scope.set_json("index", &index);
            self.frames.push(Frame::List { path, next: 0, last: Value::Null });
            return;
        }
        let Some(Frame::Loop { results, bind, outer, .. }) = self.frames.pop() else { return };
        for (name, value) in [("item", outer.0), ("index", outer.1)] {
            match value {
                Some(value) => self.scope.set_json(name, &value),
                None => self.scope.set(name, Val::UNDEFINED),
            }
        }
        self.result(bind.as_deref(), Value::Array(results));
    }

    /// Binds a result and remembers it as the list's last one.
    pub(super) fn result(&mut self, bind: Option<&str>, value: Value) {
        if let Some(name) = bind {
            self.bind(name, value.clone());
        }
        if let Some(Frame::List { last, .. }) = self.frames.last_mut() {
            *last = value;
        }
    }

    pub(super) fn bind(&mut self, name: &str, value: Value) {
        self.scope.set_json(name, &value);
        self.finished.locals.insert(name.to_owned(), value);
    }

    /// Checks and keeps what an operation hands over.
    pub(super) fn emit(&mut self, host: &Host<'_>, key: &str, value: Value) -> Result<(), Failure> {
        let type_ref = TypeRef::parse(key);
        let fault = |message: String| Failure::new(FailureKind::Schema, message);
        let Some(out) = entry_of(&self.outs, &type_ref) else {
            return Err(fault(format!("`{key}` is not in the `out` of {}", self.who.cell)));
        };
        if self.finished.emitted.iter().any(|e| e.out == out) {
            return Err(fault(format!("`{}` was emitted already by {}", self.outs[out].term, self.who.cell)));
        }
        let count = self.outs[out].count;
        let mut values = match (count, value) {
            (1, value) => vec![value],
            (_, Value::Array(items)) if items.len() == count => items,
            _ => return Err(fault(format!("`{key}` is listed {count} times, so a list of {count} values is expected"))),
        };
        let schema = host.schemas.find(&type_ref.name, &self.who.role);
        for value in &mut values {
            let faults = self.envelope.seal(value, schema);
            if !faults.is_empty() {
                return Err(fault(format!("`{key}` does not fit its schema: {}", faults.join("; "))));
            }
        }
        self.finished.emitted.push(Emitted { out, type_ref, values });
        Ok(())
    }

    /// The end of the list: the contract of emission, then the stores of what was emitted.
    fn finish(&mut self, host: &Host<'_>, ops: &[Op]) -> Step {
        if let Some(Op { kind: OpKind::Agent(agent), .. }) = single_agent(ops)
            && agent.output.is_none()
            && self.mode == Mode::Run
            && self.finished.emitted.is_empty()
            && let Some(answer) = self.finished.locals.get(super::sessions::ANSWER).cloned()
            && let Err(failure) = self.emit_answer(host, answer)
        {
            return Step::Failed(failure);
        }
        if self.mode == Mode::Run && self.finished.stops.is_empty() {
            let missing = self.outs.iter().enumerate().find(|(i, _)| !self.finished.emitted.iter().any(|e| e.out == *i));
            if let Some((_, out)) = missing {
                let message = format!("{} ended without emitting `{}`", self.who.cell, out.term);
                return Step::Failed(Failure::new(FailureKind::Schema, message));
            }
        }
        if self.mode == Mode::Recover && self.finished.stops.is_empty() && self.finished.emitted.len() < self.outs.len() {
            // The failure stands, so nothing of this takes effect, the types' own stores neither.
            self.finished.emitted.clear();
        }
        match self.closing_orders(host) {
            Ok(orders) => self.close(orders),
            Err(error) => Step::Failed(Failure::new(FailureKind::Fail, error.to_string())),
        }
    }

    fn emit_answer(&mut self, host: &Host<'_>, answer: Value) -> Result<(), Failure> {
        if let Some(type_ref) = contract::single(&self.outs) {
            let key = type_ref.to_string();
            return self.emit(host, &key, answer);
        }
        let Value::Object(map) = answer else {
            return Err(Failure::new(FailureKind::Schema, "the agent's answer is no object keyed by type"));
        };
        map.into_iter().try_for_each(|(key, value)| self.emit(host, &key, value))
    }

    fn closing_orders(&self, host: &Host<'_>) -> Result<Vec<StoreOrder>, ExprError> {
        let mut orders = Vec::new();
        for emitted in &self.finished.emitted {
            if let Some(definition) = host.workflow.execution.types.get(&emitted.type_ref.name)
                && !definition.store.is_empty()
            {
                for value in &emitted.values {
                    orders.push(store_order(&emitted.type_ref.name, definition, value, host.engine, &self.scope)?);
                }
            }
        }
        Ok(orders)
    }

    fn close(&mut self, orders: Vec<StoreOrder>) -> Step {
        if orders.is_empty() {
            return Step::Done(Box::new(std::mem::take(&mut self.finished)));
        }
        self.write(orders, Waiting::Closing)
    }

    pub(super) fn write(&mut self, mut orders: Vec<StoreOrder>, waiting: fn(Vec<StoreOrder>) -> Waiting) -> Step {
        let order = orders.remove(0);
        self.waiting = waiting(orders);
        Step::Store(order.name, order.paths, order.text)
    }

    pub(super) fn tool_failure(&mut self, error: &ToolError) -> Failure {
        use crate::model::tool::ToolErrorKind;
        if error.kind == ToolErrorKind::Denied {
            self.risks.push(format!("{}: {}", self.who.cell, error.message));
        }
        Failure::new(FailureKind::Tool, error.message.clone())
    }

    /// Milliseconds left of the attempt.
    pub(super) fn time_left(&self) -> u64 {
        u64::try_from(self.who.deadline.0 - self.now.0).unwrap_or(0).max(1)
    }
}

/// A failed evaluation as a failure of the attempt, with its place.
pub(super) fn at(op: &Op, error: &ExprError) -> Failure {
    Failure::new(FailureKind::Fail, format!("{error} (at {})", op.at))
}
