//! Programs of `on`: start, resume, end, and those that follow a failed attempt.

use super::contract::{Command, NoteEvent, Place, TimerId};
use super::state::{Machine, Phase};
use super::units::{Task, error_value, program};
use crate::agent::{Failure, FailureKind};
use crate::base::Timestamp;
use crate::cell::{Finished, Interpreter, Mode, Who};
use crate::rule::Scope;

impl Machine {
    /// Starts a program of the run as a whole, if the document has it.
    pub(super) fn start_program(&mut self, event: &'static str) {
        if self.simulated || program(&self.plan, event).is_empty() {
            return;
        }
        let scope = self.program_scope(event);
        let mut owner = format!("on.{event}.r{}", self.round);
        if event == "resume" && self.resumes > 1 {
            // A round may be resumed more than once; each time has effects of its own.
            owner = format!("{owner}.n{}", self.resumes);
        }
        let state = self.state_for(None);
        self.launch_program(owner, Task::Program { event }, event, scope, state);
    }

    /// Starts `on.attempt` or `on.failure` for a cell; false where the document has none.
    pub(super) fn follow_failure(&mut self, cell: usize, event: &'static str) -> bool {
        if self.simulated || program(&self.plan, event).is_empty() {
            return false;
        }
        let Some(failure) = self.cells[cell].failure.clone() else { return false };
        let attempt = self.cells[cell].attempt;
        let mut scope = self.program_scope(event);
        scope.set_json("error", &error_value(&failure, &self.plan.net().cells[cell].id, attempt));
        let owner = format!("on.{event}:{}", self.owner(cell, attempt));
        let state = self.state_for(Some(cell));
        self.launch_program(owner, Task::AfterFailure { cell, event }, event, scope, state);
        true
    }

    /// Starts `on.failure` for the run as a whole, if the document has it.
    pub(super) fn start_failure_program(&mut self, failure: &Failure) {
        if self.simulated || program(&self.plan, "failure").is_empty() {
            return;
        }
        let mut scope = self.program_scope("failure");
        scope.set_json("error", &error_value(failure, "run", 1));
        let state = self.state_for(None);
        self.launch_program(format!("on.failure.r{}", self.round), Task::Program { event: "failure" }, "failure", scope, state);
    }

    fn launch_program(&mut self, owner: String, task: Task, event: &str, scope: Scope, state: serde_json::Map<String, serde_json::Value>) {
        let role = self.program_role();
        let timeout = self.plan.limits().timeout_ms;
        let who = Who {
            layers: self.layers(&role, None),
            role: role.clone(),
            cell: format!("on.{event}"),
            round: self.round,
            attempt: 1,
            item: None,
            owner: owner.clone(),
            key: format!("{}/{owner}", self.prepared.run_id),
            deadline: Timestamp(self.now.0.saturating_add(i64::try_from(timeout).unwrap_or(i64::MAX))),
        };
        self.set_timer(TimerId(format!("{owner}/timeout")), timeout);
        let interpreter = Interpreter::new(who, Mode::Program, Vec::new(), &self.prepared.ids, scope, state);
        self.launch(owner, task, role, interpreter);
    }

    /// A program's time is up.
    pub(super) fn program_timed_out(&mut self, owner: &str) {
        let Some(unit) = self.units.remove(owner) else { return };
        let waiting: Vec<_> = self.pending.iter().filter(|(_, o)| *o == owner).map(|(id, _)| id.clone()).collect();
        for id in waiting {
            self.pending.remove(&id);
            self.out.push(Command::Cancel { id });
        }
        self.unit_failed(owner, unit, Failure::new(FailureKind::Timeout, "the program's time was up"));
    }

    /// A program of the run as a whole succeeded.
    pub(super) fn program_done(&mut self, event: &'static str, finished: Finished) {
        self.state.extend(finished.set);
        let place = self.program_place();
        for stop in finished.stops {
            self.note(None, NoteEvent::Stop { result: stop.result.clone(), by: format!("on.{event}") });
            if event == "end" {
                self.ending = Some((stop.result, stop.reason));
            } else {
                self.stops.push(super::state::Requested {
                    from_failure: event == "failure",
                    place,
                    cell: None,
                    result: stop.result,
                    reason: stop.reason,
                });
            }
        }
    }

    /// A program of the run as a whole failed: that ends the run, unless it was ending anyway.
    pub(super) fn program_failed(&mut self, event: &'static str, failure: &Failure) {
        let message = format!("on.{event}: {}", failure.message);
        self.facts.failed(self.of(None), failure.kind);
        self.note(
            None,
            NoteEvent::Fail {
                cell: format!("on.{event}"),
                attempt: 1,
                kind: failure.kind.name().to_owned(),
                message: message.clone(),
                retried: false,
            },
        );
        if self.phase == Phase::Closing {
            // The account of the run could not be closed: that is no success (default of an unknown outcome).
            self.ending = Some(("FAILED".to_owned(), Some(message)));
        } else if self.failure.is_none() {
            self.failure = Some((self.program_place(), message));
        }
    }

    pub(super) fn program_place(&self) -> Place {
        Place { round: self.round, seq: 0, role: 0, index: 0 }
    }

    /// Waits for `on.start`; then the first round begins, or the run ends without one.
    pub(super) fn after_start(&mut self) -> bool {
        if !self.units.is_empty() {
            return false;
        }
        if self.failure.is_some() || !self.stops.is_empty() {
            self.decide_ending();
        } else {
            self.phase = Phase::Rounds;
            self.start_round(Vec::new());
        }
        true
    }

    /// Waits for `on.end` and the last records; then the run is over.
    pub(super) fn after_end(&mut self) -> bool {
        if !self.units.is_empty() || !self.loose.is_empty() {
            return false;
        }
        let (result, reason) = self.ending.clone().unwrap_or_else(|| ("FAILED".to_owned(), None));
        self.note(None, NoteEvent::End { result: result.clone() });
        self.out.push(Command::End { result, reason });
        self.phase = Phase::Ended;
        true
    }
}
