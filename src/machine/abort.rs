//! The engine gives a run up: what is under way is dropped, `on.failure` and `on.end` run, and no cell starts any more.

use super::contract::{Command, NoteEvent};
use super::state::{Machine, Phase};
use crate::agent::{Failure, FailureKind};
use crate::base::Timestamp;

impl Machine {
    /// Drops everything under way and begins the end. A run that is ending already is left to do so.
    pub(super) fn abort(&mut self, at: Timestamp, message: &str) {
        self.now = at;
        if matches!(self.phase, Phase::Fresh | Phase::Closing | Phase::Aborting | Phase::Ended) {
            return;
        }
        let failure = Failure::new(FailureKind::Crash, message);
        self.drop_units();
        self.facts.failed(self.of(None), failure.kind);
        let event = NoteEvent::Fail {
            cell: "run".to_owned(),
            attempt: 1,
            kind: failure.kind.name().to_owned(),
            message: message.to_owned(),
            retried: false,
        };
        self.note(None, event);
        self.failure = Some((self.program_place(), message.to_owned()));
        self.phase = Phase::Aborting;
        self.start_failure_program(&failure);
    }

    /// Waits for `on.failure`; then the end is decided.
    pub(super) fn after_abort(&mut self) -> bool {
        if !self.units.is_empty() {
            return false;
        }
        self.decide_ending();
        true
    }

    fn drop_units(&mut self) {
        self.due.clear();
        for (id, _) in std::mem::take(&mut self.pending) {
            self.out.push(Command::Cancel { id });
        }
        self.clear_timers("");
        for (owner, _) in std::mem::take(&mut self.units) {
            self.out.push(Command::Release { owner });
        }
    }
}
