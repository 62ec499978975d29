//! Begins and ends rounds, releases what was held, and decides how the run ends.

use super::contract::{Command, Note, NoteEvent, Place};
use super::state::{Arrival, Held, Machine, Phase, Requested, Status};
use crate::rule::to_json;
use serde_json::{Map, Value};
use std::sync::Arc;

impl Machine {
    /// Begins the next round with the loops released into it.
    pub(super) fn start_round(&mut self, loops: Vec<Held>) {
        self.round += 1;
        let plan = Arc::clone(&self.plan);
        for (state, net) in self.cells.iter_mut().zip(&plan.net().cells) {
            state.status = Status::Open;
            state.active = self.round == 1 && net.entry;
            state.waits = false;
            state.notes = 0;
            state.attempt = 0;
            state.failure = None;
            for slot in &mut state.arrived {
                slot.clear();
            }
        }
        let place = Place { round: self.round, seq: 0, role: 0, index: 0 };
        self.out.push(Command::Note(Note { place, event: NoteEvent::Round { round: self.round } }));
        for (index, held) in loops.into_iter().enumerate() {
            let flow = &plan.net().flows[held.flow];
            let place = Place { round: self.round, seq: 0, role: 0, index: u32::try_from(index + 1).unwrap_or(u32::MAX) };
            self.cells[flow.to].active = true;
            for (part, tokens) in flow.parts.iter().zip(held.parts) {
                let arrivals = tokens.into_iter().map(|token| Arrival { token, from: Some(flow.from), place, looped: true });
                self.cells[flow.to].arrived[part.slot].extend(arrivals);
            }
        }
    }

    /// The round has no forward work left. Always true: something changed.
    pub(super) fn end_round(&mut self) -> bool {
        self.close_accounts();
        self.show_views();
        let ends = self.failure.is_some() || !self.stops.is_empty();
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|h| (self.plan.net().flows[h.flow].from, h.flow));
        let looping = |machine: &Self, h: &Held| machine.plan.net().flows[h.flow].looping;
        if ends || (self.facts.stop_requested && held.iter().any(|h| looping(self, h))) {
            self.decide_ending();
            return true;
        }
        self.release_notes(&held);
        self.retain_arrivals();
        let (loops, deposits): (Vec<Held>, Vec<Held>) = held.into_iter().partition(|h| looping(self, h));
        self.deposit(deposits);
        if loops.is_empty() {
            self.finish("COMPLETED", None);
        } else if self.round >= self.plan.limits().rounds {
            self.finish("LIMIT", Some(format!("the limit of {} rounds is reached", self.plan.limits().rounds)));
        } else if self.plan.limits().cost.is_some_and(|limit| self.ledger.cost() > limit) {
            self.finish("LIMIT", Some("the limit of cost is exceeded".to_owned()));
        } else {
            self.start_round(loops);
        }
        true
    }

    /// What happened in the round becomes what everybody sees.
    fn close_accounts(&mut self) {
        for (_, names) in std::mem::take(&mut self.patches) {
            self.state.extend(names);
        }
        self.ledger.close_round();
        self.facts.close_round();
        self.facts.finished_rounds = self.round;
        let mut recent = std::mem::take(&mut self.recent);
        recent.sort_by_key(|r| r.place);
        let round = self.round;
        for known in recent {
            let values = self.memory[known.role].entry(known.token.type_ref.clone()).or_default();
            values.retain(|(place, _)| place.round == round);
            values.push((known.place, known.token));
        }
    }

    fn release_notes(&mut self, held: &[Held]) {
        for (index, h) in held.iter().enumerate() {
            let place = Place { round: self.round, seq: u32::MAX, role: 0, index: u32::try_from(index + 1).unwrap_or(u32::MAX) };
            let flow = self.plan.net().flows[h.flow].id.clone();
            self.out.push(Command::Note(Note { place, event: NoteEvent::Release { flow } }));
        }
    }

    /// Complete sets that arrived this round stay for rounds in which their sources are not active; a loop's value does not.
    fn retain_arrivals(&mut self) {
        let plan = Arc::clone(&self.plan);
        for (state, net) in self.cells.iter_mut().zip(&plan.net().cells) {
            for ((arrived, retained), slot) in state.arrived.iter_mut().zip(&mut state.retained).zip(&net.slots) {
                let kept: Vec<Arrival> = arrived.drain(..).filter(|a| !a.looped).collect();
                if kept.len() == slot.count {
                    *retained = Some(kept);
                }
            }
        }
    }

    /// Feedback without a loop mark waits in its target's entry until the next delivery replaces it.
    fn deposit(&mut self, deposits: Vec<Held>) {
        let plan = Arc::clone(&self.plan);
        let mut sets: std::collections::BTreeMap<(usize, usize), Vec<Arrival>> = Default::default();
        for held in deposits {
            let flow = &plan.net().flows[held.flow];
            let place = Place { round: self.round, seq: u32::MAX, role: 0, index: 0 };
            for (part, tokens) in flow.parts.iter().zip(held.parts) {
                let arrivals = tokens.into_iter().map(|token| Arrival { token, from: Some(flow.from), place, looped: false });
                sets.entry((flow.to, part.slot)).or_default().extend(arrivals);
            }
        }
        for ((cell, slot), mut set) in sets {
            let count = plan.net().cells[cell].slots[slot].count;
            if set.len() >= count {
                self.cells[cell].retained[slot] = Some(set.split_off(set.len() - count));
            }
        }
    }

    /// The first stop in the order of everything wins; one from `on.failure` outranks it; a failure without one is `FAILED`.
    pub(super) fn decide_ending(&mut self) {
        let first = |stops: &[Requested], from_failure: bool| {
            stops.iter().filter(|s| s.from_failure == from_failure).min_by_key(|s| s.place).map(|s| (s.result.clone(), s.reason.clone()))
        };
        let failed = self.failure.take().map(|(_, reason)| reason);
        let stop = first(&self.stops, true).or_else(|| if failed.is_some() { None } else { first(&self.stops, false) });
        match (stop, failed) {
            (Some((result, why)), reason) => self.finish(&result, why.or(reason)),
            (None, Some(reason)) => self.finish("FAILED", Some(reason)),
            (None, None) => self.finish("STOPPED", Some("a stop was requested".to_owned())),
        }
    }

    fn finish(&mut self, result: &str, reason: Option<String>) {
        self.held.clear();
        self.ending = Some((result.to_owned(), reason));
        self.phase = Phase::Closing;
        self.start_program("end");
    }

    /// Values of the document's `view` for watchers; one that cannot be evaluated shows why.
    fn show_views(&mut self) {
        let plan = Arc::clone(&self.plan);
        let views = &plan.workflow().execution.view;
        if self.simulated || views.is_empty() {
            return;
        }
        let mut scope = self.program_scope("view");
        scope.set_json("state", &Value::Object(self.state.clone()));
        for (name, value) in self.present(self.of(None)).facts {
            scope.set(name, value);
        }
        let mut values = Map::new();
        for view in views {
            let value = plan.engine().eval(&view.value, &scope).and_then(|v| to_json(&v));
            values.insert(view.label.clone(), value.unwrap_or_else(|error| Value::from(format!("({error})"))));
        }
        self.note(None, NoteEvent::View { round: self.round, values });
    }
}
