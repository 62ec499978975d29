//! Attempts of a cell: their time-out, their items, the tries after a failure.

use super::contract::{Command, NoteEvent, TimerId};
use super::prepare::host;
use super::state::{Items, Machine, Status};
use super::units::{Task, error_value};
use crate::agent::{Failure, FailureKind};
use crate::base::{Timestamp, duration_ms};
use crate::cell::{Interpreter, Mode, OutEntry, Who};
use crate::rule::{Scope, to_json};
use serde_json::Value;

/// Most further attempts, whatever a computed `retry.max` says: a cell that fails at once would be tried without end.
const ATTEMPTS: u64 = 1000;

impl Machine {
    /// Begins the cell's next attempt.
    pub(super) fn next_attempt(&mut self, cell: usize) {
        self.cells[cell].attempt += 1;
        self.cells[cell].failure = None;
        self.cells[cell].items = None;
        let attempt = self.cells[cell].attempt;
        self.note_run(cell, attempt);
        if self.simulated {
            let id = self.plan.net().cells[cell].id.clone();
            self.out.push(Command::Await { cell: id, round: self.round, attempt });
            return;
        }
        if self.plan.net().cells[cell].relay {
            return self.relay(cell);
        }
        let scope = self.cell_scope(cell, attempt);
        let deadline = match self.arm_timeout(cell, &scope) {
            Ok(deadline) => deadline,
            Err(failure) => return self.attempt_failed(cell, failure.clone(), failure.kind.name()),
        };
        match self.plan.cell(cell).each.clone() {
            None => self.launch_run(cell, None, scope, deadline),
            Some(each) => self.launch_items(cell, &each, &scope, deadline),
        }
    }

    fn note_run(&mut self, cell: usize, attempt: u32) {
        let net = &self.plan.net().cells[cell];
        let inputs = net
            .slots
            .iter()
            .zip(&self.cells[cell].filled)
            .map(|(slot, filled)| (slot.key.clone(), filled.as_ref().map(|a| a.iter().map(|x| x.token.name.clone()).collect())))
            .collect();
        let id = net.id.clone();
        self.note(Some(cell), NoteEvent::Run { cell: id, attempt, inputs });
    }

    /// `role@seq.rN.aK`, the owner of an attempt.
    pub(super) fn owner(&self, cell: usize, attempt: u32) -> String {
        format!("{}.r{}.a{attempt}", self.plan.net().cells[cell].id, self.round)
    }

    /// No cell is without a time-out: the cell's, the smallest of its incoming flows', its step's, or the limit.
    fn arm_timeout(&mut self, cell: usize, scope: &Scope) -> Result<Timestamp, Failure> {
        let ms = self.timeout_ms(cell, scope)?;
        let attempt = self.cells[cell].attempt;
        let id = TimerId(format!("{}/timeout", self.owner(cell, attempt)));
        self.set_timer(id, ms);
        Ok(Timestamp(self.now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))))
    }

    fn timeout_ms(&self, cell: usize, scope: &Scope) -> Result<u64, Failure> {
        let definition = self.plan.cell(cell);
        if let Some(template) = &definition.timeout {
            let bad =
                |message: String| Failure::new(FailureKind::Fail, format!("`timeout` of {}: {message}", self.plan.net().cells[cell].id));
            let value = self.plan.engine().text(template, scope).and_then(|v| to_json(&v)).map_err(|e| bad(e.to_string()))?;
            return duration_ms(&value).filter(|ms| *ms > 0).ok_or_else(|| bad(format!("{value} is no duration such as 300s")));
        }
        let net = self.plan.net();
        let flows = &self.plan.workflow().flows;
        let of_flows = net.flows.iter().zip(flows).filter(|(f, _)| f.to == cell).filter_map(|(_, flow)| flow.timeout_ms).min();
        let (step, _) = net.cells[cell].source;
        Ok(of_flows.or(self.plan.workflow().steps[step].timeout_ms).unwrap_or(self.plan.limits().timeout_ms))
    }

    pub(super) fn set_timer(&mut self, id: TimerId, after_ms: u64) {
        self.timers.insert(id.clone(), after_ms);
        self.out.push(Command::SetTimer { id, after_ms });
    }

    pub(super) fn clear_timers(&mut self, prefix: &str) {
        let ids: Vec<TimerId> = self.timers.keys().filter(|id| id.0.starts_with(prefix)).cloned().collect();
        for id in ids {
            self.timers.remove(&id);
            self.out.push(Command::CancelTimer { id });
        }
    }

    /// A timer rang: an attempt's (or a program's) time is up, or a back-off is over.
    pub(super) fn rang(&mut self, id: &TimerId) {
        let Some((owner, word)) = id.0.rsplit_once('/') else { return };
        let running =
            (0..self.cells.len()).find(|c| self.cells[*c].status == Status::Running && self.owner(*c, self.cells[*c].attempt) == owner);
        match (running, word) {
            (Some(cell), "backoff") => self.next_attempt(cell),
            (Some(cell), _) if self.cells[cell].failure.is_none() => {
                self.abandon(cell);
                let failure = Failure::new(FailureKind::Timeout, "the attempt's time was up");
                self.attempt_failed(cell, failure, FailureKind::Timeout.name());
            }
            _ => self.program_timed_out(owner),
        }
    }

    fn launch_run(&mut self, cell: usize, item: Option<usize>, scope: Scope, deadline: Timestamp) {
        let attempt = self.cells[cell].attempt;
        let mut owner = self.owner(cell, attempt);
        if let Some(item) = item {
            owner = format!("{owner}.i{item}");
        }
        let interpreter = self.interpreter(cell, item, &owner, Mode::Run, scope, deadline);
        let role = self.plan.net().roles[self.plan.net().cells[cell].role].clone();
        self.launch(owner, Task::Run { cell, item }, role, interpreter);
    }

    fn interpreter(&self, cell: usize, item: Option<usize>, owner: &str, mode: Mode, scope: Scope, deadline: Timestamp) -> Interpreter {
        let net = &self.plan.net().cells[cell];
        let role = self.plan.net().roles[net.role].clone();
        let item_key = item.map_or_else(String::new, |i| format!(".i{i}"));
        let who = Who {
            layers: self.layers(&role, Some(cell)),
            role,
            cell: net.id.clone(),
            round: self.round,
            attempt: self.cells[cell].attempt,
            item,
            owner: owner.to_owned(),
            key: format!("{}/{}.r{}{item_key}", self.prepared.run_id, net.id, self.round),
            deadline,
        };
        let outs = net.outs.iter().map(|slot| OutEntry { term: slot.term.clone(), count: slot.count }).collect();
        Interpreter::new(who, mode, outs, &self.prepared.ids, scope, self.state_for(Some(cell)))
    }

    fn launch_items(&mut self, cell: usize, each: &str, scope: &Scope, deadline: Timestamp) {
        let mut inner = scope.child();
        inner.set_json("state", &Value::Object(self.state_for(Some(cell))));
        for (name, value) in self.present(self.of(Some(cell))).facts {
            inner.set(name, value);
        }
        let items = self.plan.engine().eval(each, &inner).and_then(|v| to_json(&v));
        let most = self.plan.limits().operations;
        match items {
            Ok(Value::Array(values)) if values.len() as u64 > most => {
                let message = format!("`each` gives {} items, limits.operations allows {most}", values.len());
                self.attempt_failed(cell, Failure::new(FailureKind::Fail, message), FailureKind::Fail.name());
            }
            Ok(Value::Array(values)) => {
                let (done, failed, risks) = Default::default();
                self.cells[cell].items = Some(Items { values, next: 0, done, failed, risks, deadline });
                self.more_items(cell);
            }
            other => {
                let message = other.map_or_else(|e| e.to_string(), |v| format!("`each` needs a list, got {v}"));
                self.attempt_failed(cell, Failure::new(FailureKind::Fail, message), FailureKind::Fail.name());
            }
        }
    }

    /// Starts as many items as the limit allows; settles the cell when all are over.
    pub(super) fn more_items(&mut self, cell: usize) {
        loop {
            let under_way = self.units.values().filter(|u| matches!(u.task, Task::Run { cell: c, item: Some(_) } if c == cell)).count();
            let Some(items) = self.cells[cell].items.as_mut() else { return };
            // All items run to their end even where one failed: which others had begun by then would be a matter of time.
            if items.next < items.values.len() {
                if under_way >= self.plan.limits().parallel {
                    return;
                }
                let (index, value, deadline) = (items.next, items.values[items.next].clone(), items.deadline);
                items.next += 1;
                let attempt = self.cells[cell].attempt;
                let mut scope = self.cell_scope(cell, attempt);
                scope.set_json("item", &value);
                scope.set_json("index", &Value::from(index));
                self.launch_run(cell, Some(index), scope, deadline);
                continue;
            }
            if under_way == 0 {
                self.items_over(cell);
            }
            return;
        }
    }

    /// Begins the cell's `recover` operations with `error` in scope.
    pub(super) fn recover(&mut self, cell: usize, failure: &Failure) {
        let attempt = self.cells[cell].attempt;
        let mut scope = self.cell_scope(cell, attempt);
        scope.set_json("error", &error_value(failure, &self.plan.net().cells[cell].id, attempt));
        let owner = format!("{}.recover", self.owner(cell, attempt));
        let timeout = self.plan.limits().timeout_ms;
        let deadline = Timestamp(self.now.0.saturating_add(i64::try_from(timeout).unwrap_or(i64::MAX)));
        self.set_timer(TimerId(format!("{owner}/timeout")), timeout);
        let interpreter = self.interpreter(cell, None, &owner, Mode::Recover, scope, deadline);
        let role = self.plan.net().roles[self.plan.net().cells[cell].role].clone();
        self.launch(owner, Task::Recover { cell }, role, interpreter);
    }

    /// How often a failed attempt is tried again, and after how many milliseconds; `None`: not any more.
    /// An error where the document's `retry` cannot be evaluated.
    pub(super) fn retry_after(&self, cell: usize, failure: &Failure) -> Result<Option<u64>, String> {
        let Some(retry) = self.plan.cell(cell).retry.as_ref() else { return Ok(None) };
        let attempt = self.cells[cell].attempt;
        let value = |name: &str, template: &str| {
            let mut scope = self.cell_scope(cell, attempt);
            scope.set_json("state", &Value::Object(self.state_for(Some(cell))));
            let value = self.plan.engine().text(template, &scope).and_then(|v| to_json(&v));
            value.map_err(|error| format!("`retry.{name}` cannot be evaluated: {error}"))
        };
        let max = match &retry.max {
            Value::String(template) => value("max", template)?,
            value => value.clone(),
        };
        let max = max.as_u64().or_else(|| max.as_str().and_then(|s| s.trim().parse().ok()));
        let max = max.ok_or_else(|| "`retry.max` gives no whole number".to_owned())?;
        let kind = failure.kind.name();
        // An entry that cannot be filled will not be filled by trying again, and money is not retried (docs/language.md, 2).
        let hopeless = matches!(failure.kind, FailureKind::Incomplete | FailureKind::Money);
        let wanted = if retry.on.is_empty() { !hopeless } else { retry.on.iter().any(|k| k == kind) };
        if !wanted || u64::from(attempt) > max.min(ATTEMPTS) {
            return Ok(None);
        }
        let backoff = match &retry.backoff {
            Some(template) => duration_ms(&value("backoff", template)?).ok_or_else(|| "`retry.backoff` gives no time".to_owned())?,
            None => 0,
        };
        Ok(Some(backoff.saturating_mul(1 << (attempt - 1).min(16))))
    }

    /// Checks that the document's texts evaluate with this host; used by programs.
    pub(super) fn evaluate_flag(&self, expression: &str, scope: &Scope) -> Result<bool, String> {
        host(&self.plan).engine.truth(expression, scope).map_err(|e| e.to_string())
    }
}
