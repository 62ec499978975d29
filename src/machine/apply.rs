//! Takes one input and gives every command it leads to.

use super::contract::{Command, Input, NoteEvent, Place, Scripted};
use super::state::{Machine, Phase, Status};
use super::units::Due;
use crate::base::Timestamp;
use serde_json::Value;

impl Machine {
    /// Applies one input. The commands are complete: nothing more happens until the next input.
    pub fn apply(&mut self, input: Input) -> Vec<Command> {
        if self.phase == Phase::Ended {
            return Vec::new();
        }
        match input {
            Input::Start { at, project } => self.begin(at, project),
            Input::Effect { id, at, outcome } => {
                self.now = at;
                self.outcome(&id, outcome);
            }
            Input::Timer { id, at } => {
                self.now = at;
                if self.timers.remove(&id).is_some() {
                    self.rang(&id);
                }
            }
            Input::Stop { at } => {
                self.now = at;
                self.facts.stop_requested = true;
            }
            Input::Resume { at } => {
                self.now = at;
                self.facts.resumed = true;
                self.resumes += 1;
                self.start_program("resume");
            }
            Input::Fact { name, value, at } => {
                self.now = at;
                self.facts.tell(name, value);
            }
            Input::Abort { message, at } => self.abort(at, &message),
            Input::Scripted { cell, outcome, at } => {
                self.now = at;
                self.scripted(&cell, &outcome);
            }
        }
        self.pump();
        std::mem::take(&mut self.out)
    }

    fn begin(&mut self, at: Timestamp, project: Value) {
        if self.phase != Phase::Fresh {
            return;
        }
        self.now = at;
        self.facts.started = at.rfc3339();
        self.project = project;
        self.settle_base();
        self.phase = Phase::Starting;
        self.start_program("start");
    }

    /// What the first round would ask for first, as if `on.start` had done nothing: for looking ahead without a run.
    pub fn rehearse(mut self, at: Timestamp, project: Value) -> Vec<Command> {
        self.now = at;
        self.project = project;
        self.settle_base();
        self.phase = Phase::Rounds;
        self.start_round(Vec::new());
        self.pump();
        self.out
    }

    /// Goes on until every further step waits for an input.
    fn pump(&mut self) {
        loop {
            if let Some(due) = self.due.pop_front() {
                self.go_on(due);
                continue;
            }
            let moved = match self.phase {
                Phase::Fresh | Phase::Ended => false,
                Phase::Starting => self.after_start(),
                Phase::Rounds => self.schedule(),
                Phase::Aborting => self.after_abort(),
                Phase::Closing => self.after_end(),
            };
            if !moved {
                return;
            }
        }
    }

    fn go_on(&mut self, due: Due) {
        match due {
            Due::Attempt(cell) if self.cells[cell].status == Status::Running => self.next_attempt(cell),
            Due::Attempt(_) => {}
            Due::Items(cell) => self.more_items(cell),
        }
    }

    fn scripted(&mut self, cell: &str, outcome: &Scripted) {
        let index = self.plan.net().cells.iter().position(|c| c.id == cell);
        if let Some(index) = index.filter(|i| self.simulated && self.cells[*i].status == Status::Running) {
            self.settle_scripted(index, outcome);
        }
    }

    /// Gives a note with its place: in a cell of this round, or at the round's end.
    pub(super) fn note(&mut self, cell: Option<usize>, event: NoteEvent) {
        let place = match cell {
            Some(cell) => self.next_place(cell),
            None => Place { round: self.round, seq: u32::MAX, role: 0, index: 0 },
        };
        self.out.push(Command::Note(super::contract::Note { place, event }));
    }

    /// The next place within a cell of this round.
    pub(super) fn next_place(&mut self, cell: usize) -> Place {
        let net = &self.plan.net().cells[cell];
        let (seq, role) = (net.seq, u32::try_from(net.role).unwrap_or(u32::MAX));
        let notes = &mut self.cells[cell].notes;
        *notes += 1;
        Place { round: self.round, seq, role, index: *notes }
    }
}
