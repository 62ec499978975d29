//! What follows a success or a failure of one interpretation.

use super::contract::{Command, EffectId, LogRequest, NoteEvent, Request, Scripted, TimerId};
use super::state::{Machine, Requested, Status, Token};
use super::units::{By, Due, Task, Unit};
use crate::agent::{Failure, FailureKind};
use crate::cell::{Finished, Stop, log_request};
use crate::model::TypeRef;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Machine {
    pub(super) fn unit_done(&mut self, owner: &str, unit: Unit, finished: Finished) {
        self.clear_timers(&format!("{owner}/"));
        self.out.push(Command::Release { owner: owner.to_owned() });
        match unit.task {
            Task::Run { cell, item: None } => self.succeed(cell, finished, false),
            Task::Run { cell, item: Some(item) } => {
                if let Some(items) = self.cells[cell].items.as_mut() {
                    items.done.insert(item, finished);
                }
                self.due.push_back(Due::Items(cell));
            }
            Task::Recover { cell } => {
                let outs = self.plan.net().cells[cell].outs.len();
                if finished.emitted.len() == outs || !finished.stops.is_empty() {
                    self.succeed(cell, finished, true);
                } else {
                    self.beyond_recovery(cell);
                }
            }
            Task::AfterFailure { cell, event } => self.followed(cell, event, finished),
            Task::Program { event } => self.program_done(event, finished),
        }
    }

    pub(super) fn unit_failed(&mut self, owner: &str, unit: Unit, failure: Failure) {
        self.clear_timers(&format!("{owner}/"));
        self.out.push(Command::Release { owner: owner.to_owned() });
        match unit.task {
            Task::Run { cell, item: None } => self.attempt_failed(cell, failure.clone(), failure.kind.name()),
            Task::Run { cell, item: Some(item) } => {
                if let Some(items) = self.cells[cell].items.as_mut() {
                    items.failed.insert(item, failure);
                }
                self.due.push_back(Due::Items(cell));
            }
            Task::Recover { cell } => {
                self.risk(self.of(Some(cell)), format!("`recover` failed: {}", failure.message));
                self.beyond_recovery(cell);
            }
            Task::AfterFailure { cell, event } => {
                self.risk(self.of(Some(cell)), format!("`on.{event}` failed: {}", failure.message));
                self.followed(cell, event, Finished::default());
            }
            Task::Program { event } => self.program_failed(event, &failure),
        }
    }

    /// A simulated cell ends as its script says.
    pub(super) fn settle_scripted(&mut self, cell: usize, outcome: &Scripted) {
        if outcome.fail {
            return self.attempt_failed(cell, Failure::new(FailureKind::Fail, "as the script says"), "script");
        }
        let net = &self.plan.net().cells[cell];
        let mut tokens = Vec::new();
        for (index, out) in net.outs.iter().enumerate() {
            let chosen = match &outcome.emit {
                None => out.term.alternatives.first(),
                Some(names) => out.term.alternatives.iter().find(|a| names.contains(&a.to_string())),
            };
            if let Some(type_ref) = chosen {
                let names = (1..=out.count).map(|k| self.token_name(cell, &type_ref.to_string(), k));
                let values = names.map(|name| (Arc::new(Value::from(name.clone())), name));
                let made = values.map(|(value, name)| Token { name, type_ref: type_ref.clone(), value, origin: Some(cell) });
                tokens.push((index, made.collect()));
            }
        }
        self.cells[cell].withheld.clone_from(&outcome.withhold);
        let stops = outcome.stop.iter().map(|result| Stop { result: result.clone(), reason: None }).collect();
        self.hand_over(cell, tokens, Map::new(), stops, false);
    }

    /// A relay forwards what it received, with its origin.
    pub(super) fn relay(&mut self, cell: usize) {
        let net = &self.plan.net().cells[cell];
        let mut tokens = Vec::new();
        for (index, out) in net.outs.iter().enumerate() {
            let slot = net.slots.iter().position(|s| s.key == out.key);
            let filled = slot.and_then(|s| self.cells[cell].filled.get(s)).and_then(Option::as_ref);
            let Some(filled) = filled else {
                let message = format!("nothing to forward for `{}`", out.term);
                return self.attempt_failed(cell, Failure::new(FailureKind::Incomplete, message), "incomplete");
            };
            let forwarded = filled.iter().take(out.count).enumerate().map(|(k, arrival)| {
                let name = self.token_name(cell, &arrival.token.type_ref.to_string(), k + 1);
                Token { name, ..arrival.token.clone() }
            });
            tokens.push((index, forwarded.collect()));
        }
        self.hand_over(cell, tokens, Map::new(), Vec::new(), false);
    }

    fn token_name(&self, cell: usize, type_name: &str, k: usize) -> String {
        let name = format!("{type_name}:{}.r{}", self.plan.net().cells[cell].id, self.round);
        if k > 1 { format!("{name}#{k}") } else { name }
    }

    fn succeed(&mut self, cell: usize, finished: Finished, recovered: bool) {
        let mut tokens = Vec::new();
        for emitted in finished.emitted {
            let type_name = emitted.type_ref.to_string();
            let made = emitted.values.into_iter().enumerate().map(|(k, value)| Token {
                name: self.token_name(cell, &type_name, k + 1),
                type_ref: emitted.type_ref.clone(),
                value: Arc::new(value),
                origin: Some(cell),
            });
            tokens.push((emitted.out, made.collect()));
        }
        self.hand_over(cell, tokens, finished.set, finished.stops, recovered);
    }

    /// All items of an `each` cell are over: the first failure counts, else outputs become lists in the items' order.
    pub(super) fn items_over(&mut self, cell: usize) {
        self.tell_risks(cell);
        let Some(items) = self.cells[cell].items.take() else { return };
        let owner = self.owner(cell, self.cells[cell].attempt);
        self.clear_timers(&format!("{owner}/"));
        if let Some((item, failure)) = items.failed.into_iter().next() {
            let failure = Failure::new(failure.kind, format!("item {item}: {}", failure.message));
            return self.attempt_failed(cell, failure.clone(), failure.kind.name());
        }
        let mut lists: BTreeMap<usize, (TypeRef, Vec<Value>)> = BTreeMap::new();
        for (item, finished) in items.done {
            for emitted in finished.emitted {
                if let Some((chosen, _)) = lists.get(&emitted.out).filter(|(chosen, _)| *chosen != emitted.type_ref) {
                    let message =
                        format!("item {item} emits `{}` where others emit `{chosen}`: one cell emits one alternative", emitted.type_ref);
                    return self.attempt_failed(cell, Failure::new(FailureKind::Schema, message), FailureKind::Schema.name());
                }
                let value = if emitted.values.len() == 1 { emitted.values.into_iter().next() } else { Some(Value::Array(emitted.values)) };
                lists.entry(emitted.out).or_insert_with(|| (emitted.type_ref, Vec::new())).1.extend(value);
            }
        }
        for (index, out) in self.plan.net().cells[cell].outs.iter().enumerate() {
            if let Some(first) = out.term.alternatives.first() {
                lists.entry(index).or_insert_with(|| (first.clone(), Vec::new()));
            }
        }
        let tokens = lists
            .into_iter()
            .map(|(out, (type_ref, values))| {
                let name = self.token_name(cell, &type_ref.to_string(), 1);
                (out, vec![Token { name, type_ref, value: Arc::new(Value::Array(values)), origin: Some(cell) }])
            })
            .collect();
        self.hand_over(cell, tokens, Map::new(), Vec::new(), false);
    }

    /// The risk flags of a cell's items, in the items' order.
    fn tell_risks(&mut self, cell: usize) {
        let risks = self.cells[cell].items.as_mut().map(|items| std::mem::take(&mut items.risks)).unwrap_or_default();
        risks.into_values().flatten().for_each(|message| self.note_risk(Some(cell), message));
    }

    /// A success takes effect: deliveries, state, stops, all together.
    fn hand_over(&mut self, cell: usize, tokens: Vec<(usize, Vec<Token>)>, set: Map<String, Value>, stops: Vec<Stop>, recovered: bool) {
        let deliveries = match self.deliveries(cell, &tokens, &set) {
            Ok(deliveries) => deliveries,
            Err(message) => return self.attempt_failed(cell, Failure::new(FailureKind::Fail, message), FailureKind::Fail.name()),
        };
        self.cells[cell].status = Status::Done;
        self.facts.succeeded(self.of(Some(cell)));
        let emitted = tokens.iter().flat_map(|(_, t)| t.iter().map(|t| t.name.clone())).collect();
        let id = self.plan.net().cells[cell].id.clone();
        self.note(Some(cell), NoteEvent::Done { cell: id.clone(), recovered, emitted });
        self.remember(cell, &tokens);
        for delivery in deliveries {
            self.deliver(cell, delivery);
        }
        let mut changes = std::mem::take(&mut self.cells[cell].kept);
        changes.extend(set);
        if !changes.is_empty() {
            self.patches.insert(cell, changes);
        }
        for Stop { result, reason } in stops {
            let place = self.next_place(cell);
            self.out
                .push(Command::Note(super::contract::Note { place, event: NoteEvent::Stop { result: result.clone(), by: id.clone() } }));
            self.stops.push(Requested { from_failure: false, place, cell: Some(cell), result, reason });
        }
    }

    /// An attempt failed: a record, `on.attempt`, then another try, `recover`, `on.failure` or the run's end.
    pub(super) fn attempt_failed(&mut self, cell: usize, failure: Failure, kind: &str) {
        let owner = self.owner(cell, self.cells[cell].attempt);
        self.clear_timers(&format!("{owner}/"));
        self.out.push(Command::Release { owner });
        self.tell_risks(cell);
        self.facts.failed(self.of(Some(cell)), failure.kind);
        let again = if self.simulated { Ok(None) } else { self.retry_after(cell, &failure) };
        let retried = matches!(again, Ok(Some(_)));
        if let Err(message) = &again {
            self.risk(self.of(Some(cell)), message.clone());
        }
        let (id, attempt) = (self.plan.net().cells[cell].id.clone(), self.cells[cell].attempt);
        let event = NoteEvent::Fail { cell: id, attempt, kind: kind.to_owned(), message: failure.message.clone(), retried };
        self.note(Some(cell), event);
        self.log_failure(cell, &failure);
        self.cells[cell].failure = Some(failure);
        if !self.follow_failure(cell, "attempt") {
            self.after_attempt(cell);
        }
    }

    /// `on.attempt` or `on.failure` is over.
    fn followed(&mut self, cell: usize, event: &'static str, finished: Finished) {
        self.cells[cell].kept.extend(finished.set);
        for stop in finished.stops {
            let place = self.next_place(cell);
            let by = format!("on.{event}");
            self.out.push(Command::Note(super::contract::Note { place, event: NoteEvent::Stop { result: stop.result.clone(), by } }));
            self.stops.push(Requested {
                from_failure: event == "failure",
                place,
                cell: Some(cell),
                result: stop.result,
                reason: stop.reason,
            });
        }
        if event == "attempt" { self.after_attempt(cell) } else { self.give_up(cell) }
    }

    fn after_attempt(&mut self, cell: usize) {
        let Some(failure) = self.cells[cell].failure.clone() else { return };
        // Whether another cell failed for good by now is a matter of time, so it does not cut this cell's further attempts.
        if self.simulated {
            return self.give_up(cell);
        }
        // What kept `retry` from being evaluated was told when the attempt failed.
        match self.retry_after(cell, &failure).unwrap_or(None) {
            Some(0) => self.due.push_back(Due::Attempt(cell)),
            Some(ms) => {
                let owner = self.owner(cell, self.cells[cell].attempt);
                self.set_timer(TimerId(format!("{owner}/backoff")), ms);
            }
            None if self.plan.cell(cell).recover.is_empty() => self.beyond_recovery(cell),
            None => self.recover(cell, &failure),
        }
    }

    fn beyond_recovery(&mut self, cell: usize) {
        if !self.follow_failure(cell, "failure") {
            self.give_up(cell);
        }
    }

    /// The failure stands and ends the run.
    fn give_up(&mut self, cell: usize) {
        let place = self.next_place(cell);
        let message = self.cells[cell].failure.as_ref().map_or_else(String::new, |f| f.message.clone());
        let reason = format!("{} failed: {message}", self.plan.net().cells[cell].id);
        let kept = std::mem::take(&mut self.cells[cell].kept);
        if !kept.is_empty() {
            self.patches.insert(cell, kept);
        }
        self.cells[cell].status = Status::Failed;
        if self.failure.as_ref().is_none_or(|(first, _)| place < *first) {
            self.failure = Some((place, reason));
        }
    }

    /// A failed attempt writes a record of level ERROR by itself (docs/language.md, 3.3).
    fn log_failure(&mut self, cell: usize, failure: &Failure) {
        let id = EffectId(format!("{}.error/1", self.owner(cell, self.cells[cell].attempt)));
        let failures = [format!("{}: {}", failure.kind.name(), failure.message)];
        self.log_by_itself(self.of(Some(cell)), &id, "ERROR", &failure.message, &[], &failures);
    }

    /// A record that no operation asked for. Nothing waits for it.
    pub(super) fn log_by_itself(&mut self, by: By, id: &EffectId, level: &str, message: &str, flags: &[String], failures: &[String]) {
        let Some(cell) = by.cell else { return };
        let plan = Arc::clone(&self.plan);
        let Some(logs) = plan.workflow().execution.logs.as_ref().filter(|_| !self.simulated) else { return };
        let attempt = self.cells[cell].attempt;
        let mut scope = self.cell_scope(cell, attempt);
        scope.set_json("state", &Value::Object(self.state_for(Some(cell))));
        for (name, value) in self.present(by).facts {
            scope.set(name, value);
        }
        let given = json!({
            "level": level, "intent": self.plan.cell(cell).task, "message": message, "failures": failures, "risk_flags": flags,
        });
        let given = given.as_object().cloned().unwrap_or_default();
        match log_request(logs, given, plan.engine(), &scope) {
            Ok(line) => {
                let role = plan.net().roles[plan.net().cells[cell].role].clone();
                self.facts.logged(by, role, level.to_owned(), self.round);
                let request = Request::Log(LogRequest { path: line.path, record: line.record, text: line.text });
                let definition = plan.definition(cell).to_owned();
                self.out.push(Command::Perform { id: id.clone(), definition, request: Box::new(request) });
                self.loose.insert(id.clone());
            }
            Err(error) => self.risk(by, format!("what is logged by itself ({level}) could not be: {error}")),
        }
    }
}
