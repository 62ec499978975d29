//! One interpretation under way: what it belongs to, and how its wishes become commands.

use super::contract::{Command, EffectId, LogRequest, NoteEvent, Outcome, Request, StoreRequest};
use super::ledger::Exchange;
use super::prepare::host;
use super::state::Machine;
use crate::agent::{Failure, Tokens};
use crate::cell::{Interpreter, Present, Step};
use crate::check::plan::Plan;
use crate::model::{Cell, Op};
use serde_json::Value;
use std::sync::Arc;

/// What an interpretation is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// A cell's `run`, or one item of it.
    Run { cell: usize, item: Option<usize> },
    /// A cell's `recover`.
    Recover { cell: usize },
    /// A program that follows a failed attempt.
    AfterFailure { cell: usize, event: &'static str },
    /// `on.start`, `on.resume`, `on.end`.
    Program { event: &'static str },
}

/// Who did something, in the order of everything; items of one attempt run side by side and do not see each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct By {
    /// `None`: a program.
    pub cell: Option<usize>,
    pub attempt: u32,
    pub item: Option<usize>,
}

/// What goes on without waiting for an input. Kept in a queue, because a cell that fails (or an item that ends) at once would otherwise
/// start the next one from within itself, as deep as there are attempts or items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The next attempt of a cell.
    Attempt(usize),
    /// Further items of a cell, or its end.
    Items(usize),
}

impl Task {
    pub(super) fn item(&self) -> Option<usize> {
        if let Self::Run { item, .. } = self { *item } else { None }
    }

    pub(super) fn cell(&self) -> Option<usize> {
        match self {
            Self::Run { cell, .. } | Self::Recover { cell } | Self::AfterFailure { cell, .. } => Some(*cell),
            Self::Program { .. } => None,
        }
    }
}

/// An interpretation under way.
pub(super) struct Unit {
    pub task: Task,
    pub role: String,
    pub interpreter: Interpreter,
    /// Effects asked for so far.
    pub effects: u32,
    /// The request being waited for, for accounts.
    pub asked: Asked,
}

/// What the accounts need to know of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub model: String,
    pub level: String,
}

/// The operations a task runs.
pub(super) fn ops<'a>(plan: &'a Plan, task: &Task) -> &'a [Op] {
    let cell = |index: usize| -> &'a Cell { plan.cell(index) };
    match task {
        Task::Run { cell: index, .. } => cell(*index).run.as_deref().unwrap_or(&[]),
        Task::Recover { cell: index } => &cell(*index).recover,
        Task::AfterFailure { event, .. } | Task::Program { event } => program(plan, event),
    }
}

/// The operations of a program; empty where the document has none.
pub(super) fn program<'a>(plan: &'a Plan, event: &str) -> &'a [Op] {
    plan.workflow().execution.on.get(event).map_or(&[], Vec::as_slice)
}

impl Machine {
    /// Starts an interpretation under `owner`.
    pub(super) fn launch(&mut self, owner: String, task: Task, role: String, interpreter: Interpreter) {
        let mut unit = Unit { task, role, interpreter, effects: 0, asked: Asked::default() };
        let plan = Arc::clone(&self.plan);
        let present = self.present(self.by(&unit.task));
        let ids = self.prepared.ids.clone();
        let step = unit.interpreter.start(&host(&plan), ops(&plan, &unit.task), &present, &ids);
        self.advance(owner, unit, step);
    }

    /// Feeds an outcome to the interpretation that waits for it. Outcomes nobody waits for are dropped.
    pub(super) fn outcome(&mut self, id: &EffectId, outcome: Outcome) {
        if self.loose.remove(id) {
            return;
        }
        let Some(owner) = self.pending.remove(id) else { return };
        let Some(mut unit) = self.units.remove(&owner) else { return };
        self.account(&unit, &outcome);
        let plan = Arc::clone(&self.plan);
        let present = self.present(self.by(&unit.task));
        let (host, ops) = (host(&plan), ops(&plan, &unit.task));
        let interpreter = &mut unit.interpreter;
        let step = match outcome {
            Outcome::Model(reply) => interpreter.model(&host, ops, &present, Ok(reply)),
            Outcome::ModelFailed(failure) => interpreter.model(&host, ops, &present, Err(failure)),
            Outcome::Tool(value) => interpreter.tool(&host, ops, &present, Ok(value)),
            Outcome::ToolFailed(error) => interpreter.tool(&host, ops, &present, Err(error)),
            Outcome::Stored(_) => interpreter.stored(&host, ops, &present, Ok(())),
            Outcome::StoreFailed(error) => interpreter.stored(&host, ops, &present, Err(error)),
            Outcome::Logged => interpreter.logged(&host, ops, &present),
        };
        self.advance(owner, unit, step);
    }

    fn advance(&mut self, owner: String, mut unit: Unit, step: Step) {
        for risk in unit.interpreter.take_risks() {
            self.risk(self.by(&unit.task), risk);
        }
        for (index, violation) in unit.interpreter.take_violations().into_iter().enumerate() {
            let id = EffectId(format!("{owner}/{}.warning{index}", unit.effects));
            self.log_by_itself(self.by(&unit.task), &id, "WARN", &violation, std::slice::from_ref(&violation), &[]);
        }
        let request = match step {
            Step::Done(finished) => return self.unit_done(&owner, unit, *finished),
            Step::Failed(failure) => return self.unit_failed(&owner, unit, failure),
            Step::Model(request) => {
                unit.asked.model.clone_from(&request.model);
                Request::Model(request)
            }
            Step::Tool(request) => Request::Tool(request),
            Step::Store(name, paths, text) => Request::Store(StoreRequest { name, paths, text }),
            Step::Log(line) => {
                unit.asked.level = level(&line.record);
                Request::Log(LogRequest { path: line.path, record: line.record, text: line.text })
            }
        };
        unit.effects += 1;
        let id = EffectId(format!("{owner}/{}", unit.effects));
        let definition = match &unit.task {
            Task::Program { event } => self.plan.program_definition(event).to_owned(),
            Task::Run { cell, .. } | Task::Recover { cell } | Task::AfterFailure { cell, .. } => self.plan.definition(*cell).to_owned(),
        };
        self.out.push(Command::Perform { id: id.clone(), definition, request: Box::new(request) });
        self.pending.insert(id, owner.clone());
        self.units.insert(owner, unit);
    }

    /// Enters tokens and log records into the accounts.
    fn account(&mut self, unit: &Unit, outcome: &Outcome) {
        let by = self.by(&unit.task);
        match outcome {
            Outcome::Model(reply) => {
                self.charge(by, unit, reply.tokens, reply.cost);
            }
            Outcome::ModelFailed(Failure { spent: Some(spent), .. }) => self.charge(by, unit, spent.tokens, spent.cost),
            Outcome::Logged => self.facts.logged(by, unit.role.clone(), unit.asked.level.clone(), self.round),
            _ => {}
        }
    }

    fn charge(&mut self, by: By, unit: &Unit, tokens: Tokens, listed: Option<i64>) {
        let model = unit.asked.model.clone();
        let cost = self.price(by, &unit.role, &model, tokens, listed);
        self.ledger.add(Exchange { by, role: unit.role.clone(), model, round: self.round, tokens, cost });
    }

    /// Cost of an exchange in millionths: by the provider's prices (`listed`), which the document's `price` may look at and overrule. A
    /// price that cannot be computed is a risk flag, never silently zero.
    fn price(&mut self, by: By, role: &str, model: &str, tokens: Tokens, listed: Option<i64>) -> i64 {
        let plan = Arc::clone(&self.plan);
        let Some(price) = plan.workflow().execution.price.as_deref() else { return listed.unwrap_or(0) };
        let mut scope = self.base.child();
        scope.set_json("role", &Value::from(role));
        scope.set_json("model", &Value::from(model));
        scope.set_json("listed", &Value::from(listed));
        let total = tokens.input.saturating_add(tokens.output);
        scope.set_json(
            "tokens",
            &serde_json::json!({"input": tokens.input, "cached": tokens.cached, "output": tokens.output, "total": total}),
        );
        let value = plan.engine().eval(price, &scope).and_then(|v| crate::rule::to_json(&v));
        match value.map(|v| v.as_i64()) {
            Ok(Some(cost)) => cost,
            Ok(None) => {
                self.risk(by, "`price` gives no whole number of millionths".to_owned());
                0
            }
            Err(error) => {
                self.risk(by, format!("`price` cannot be evaluated: {error}"));
                0
            }
        }
    }

    /// Whose deeds a task's are.
    pub(super) fn by(&self, task: &Task) -> By {
        By { item: task.item(), ..self.of(task.cell()) }
    }

    /// The present attempt of a cell, or a program.
    pub(super) fn of(&self, cell: Option<usize>) -> By {
        By { cell, attempt: cell.map_or(0, |c| self.cells[c].attempt), item: None }
    }

    pub(super) fn risk(&mut self, by: By, message: String) {
        self.facts.risk(by, message.clone());
        // Items end in any order; what they tell is told in theirs, when all are over.
        if let (Some(cell), Some(item)) = (by.cell, by.item)
            && let Some(items) = self.cells[cell].items.as_mut()
        {
            return items.risks.entry(item).or_default().push(message);
        }
        self.note_risk(by.cell, message);
    }

    pub(super) fn note_risk(&mut self, cell: Option<usize>, message: String) {
        let name = cell.map_or_else(|| "on".to_owned(), |c| self.plan.net().cells[c].id.clone());
        self.note(cell, NoteEvent::Risk { cell: name, message });
    }

    /// Drops the interpretations of a cell and whatever they wait for.
    pub(super) fn abandon(&mut self, cell: usize) {
        let owners: Vec<String> = self.units.iter().filter(|(_, u)| u.task.cell() == Some(cell)).map(|(o, _)| o.clone()).collect();
        for owner in owners {
            self.units.remove(&owner);
            let waiting: Vec<EffectId> = self.pending.iter().filter(|(_, o)| **o == owner).map(|(id, _)| id.clone()).collect();
            for id in waiting {
                self.pending.remove(&id);
                self.out.push(Command::Cancel { id });
            }
            self.out.push(Command::Release { owner });
        }
    }

    /// What an interpretation sees of the accounts at this moment.
    pub(super) fn present(&self, by: By) -> Present {
        let mut facts = Vec::new();
        if self.plan.mentions("usage") {
            facts.push(("usage", crate::rule::to_val(&self.usage(by))));
        }
        if self.plan.mentions("run") {
            facts.push(("run", crate::rule::to_val(&Value::Object(self.run_facts(by)))));
        }
        Present { now: self.now, facts }
    }
}

fn level(record: &serde_json::Map<String, Value>) -> String {
    record.get("level").and_then(Value::as_str).unwrap_or("INFO").to_owned()
}

/// The failure of a session or an operation that a cell is told about in `error`.
pub(super) fn error_value(failure: &Failure, cell: &str, attempt: u32) -> Value {
    serde_json::json!({"kind": failure.kind.name(), "message": failure.message, "cell": cell, "attempt": attempt})
}
