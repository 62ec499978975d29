//! Starts cells in their order and ends the round when nothing is left (docs/language.md, 2).

use super::contract::NoteEvent;
use super::fill::Unfilled;
use super::state::{CellState, Machine, Status};
use super::units::Task;
use crate::agent::{Failure, FailureKind};
use crate::model::Ordering;
use std::collections::BTreeSet;

impl Machine {
    /// One pass over the cells. True when something changed.
    pub(super) fn schedule(&mut self) -> bool {
        if self.gate() {
            return false;
        }
        if self.failure.is_some() {
            return self.wind_down();
        }
        let mut moved = false;
        let mut open = BTreeSet::new();
        let mut busy_roles = BTreeSet::new();
        let mut lowest_busy = u32::MAX;
        for cell in 0..self.cells.len() {
            let status = self.cells[cell].status;
            if matches!(status, Status::Done | Status::Failed | Status::Idle) {
                continue;
            }
            let (role, seq) = (self.plan.net().cells[cell].role, self.plan.net().cells[cell].seq);
            if status == Status::Open && self.may_decide(cell, &open, &busy_roles, lowest_busy) && self.decide(cell) {
                moved = true;
                if self.failure.is_some() {
                    return true;
                }
            }
            if matches!(self.cells[cell].status, Status::Open | Status::Running) {
                open.insert(cell);
                busy_roles.insert(role);
                lowest_busy = lowest_busy.min(seq);
            }
        }
        if moved {
            return true;
        }
        open.is_empty() && self.end_round()
    }

    /// While `on.resume` runs, no cell starts.
    fn gate(&self) -> bool {
        self.units.values().any(|unit| unit.task == Task::Program { event: "resume" })
    }

    /// After a failure that ends the run nothing starts; what runs is awaited. A cell that waits for its `exclusive` name takes its turn
    /// nevertheless: whether the name was free before the failure came would be a matter of time.
    fn wind_down(&mut self) -> bool {
        let waiting = |c: &CellState| c.status == Status::Open && c.waits;
        let turn = (0..self.cells.len()).find(|cell| waiting(&self.cells[*cell]) && !self.excluded(*cell));
        if let Some(cell) = turn {
            return self.decide(cell);
        }
        let under_way = self.cells.iter().any(|c| c.status == Status::Running || waiting(c));
        !under_way && self.end_round()
    }

    /// Whether all that a cell depends on is settled.
    fn may_decide(&self, cell: usize, open: &BTreeSet<usize>, busy_roles: &BTreeSet<usize>, lowest_busy: u32) -> bool {
        let net = self.plan.net();
        match net.ordering {
            Ordering::Steps => lowest_busy >= net.cells[cell].seq,
            Ordering::Flows => {
                let settled = net.cells[cell].incoming.iter().all(|flow| !open.contains(&net.flows[*flow].from));
                settled && !busy_roles.contains(&net.cells[cell].role)
            }
        }
    }

    /// Starts a cell that is active, or marks it as idle. True when its status changed.
    fn decide(&mut self, cell: usize) -> bool {
        if !self.cells[cell].active {
            self.cells[cell].status = Status::Idle;
            return true;
        }
        if self.excluded(cell) {
            self.cells[cell].waits = true;
            return false;
        }
        match self.fill(cell) {
            Ok(filled) => {
                self.cells[cell].filled = filled;
                self.cells[cell].attempt = 0;
                self.cells[cell].status = Status::Running;
                self.next_attempt(cell);
            }
            Err(Unfilled::Missing(_)) if self.stopped_before(cell) => {
                self.cells[cell].status = Status::Idle;
                let name = self.plan.net().cells[cell].id.clone();
                self.note(Some(cell), NoteEvent::Skip { cell: name });
            }
            Err(unfilled) => {
                self.cells[cell].filled = vec![None; self.plan.net().cells[cell].slots.len()];
                self.cells[cell].attempt = 1;
                self.cells[cell].status = Status::Running;
                let (kind, message) = match unfilled {
                    Unfilled::Missing(message) => ("incomplete", message),
                    Unfilled::Oversupply(message) => ("oversupply", message),
                };
                self.attempt_failed(cell, Failure::new(FailureKind::Incomplete, message), kind);
            }
        }
        true
    }

    /// A cell shares its `exclusive` name with one that runs.
    fn excluded(&self, cell: usize) -> bool {
        let Some(name) = self.plan.cell(cell).exclusive.as_deref() else { return false };
        (0..self.cells.len()).any(|other| {
            other != cell && self.cells[other].status == Status::Running && self.plan.cell(other).exclusive.as_deref() == Some(name)
        })
    }

    /// A cell ordered before this one (or a program) asked for the end.
    fn stopped_before(&self, cell: usize) -> bool {
        self.stops.iter().any(|stop| self.sees(Some(cell), stop.cell))
    }
}
