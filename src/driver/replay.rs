//! Replaying a record: its inputs are folded through a new machine, and what the machine asks for is compared with what is recorded.
//!
//! Requests are matched by identity, never by order. Only the last input's consequences may be missing from the record: the process ended
//! while they were being written, so none of them was begun.

use super::{Core, DriverError};
use crate::base::Timestamp;
use crate::journal::{Entry, JournalError, Record, RequestRecord, request_digest};
use crate::machine::{Command, EffectId, Input, Request, TimerId};
use std::collections::BTreeMap;

/// Where the record leaves the run.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Requests that were made and have neither outcome nor cancellation.
    pub pending: BTreeMap<EffectId, Box<Request>>,
    /// Consequences of the last input that are not recorded yet: requests, notes, the end.
    pub missing: Vec<Command>,
    /// How it ended, if it did.
    pub end: Option<(String, Option<String>)>,
    /// True where the record says so itself.
    pub end_recorded: bool,
    /// False where no start is recorded: the run has not begun.
    pub begun: bool,
    /// True where a stop was asked for.
    pub stopped: bool,
    /// Time of the last record.
    pub last: Timestamp,
    /// When each timer was set last.
    pub timers: BTreeMap<TimerId, Timestamp>,
}

/// Consequences of one input.
#[derive(Default)]
struct Block {
    seq: u64,
    at: Timestamp,
    commands: Vec<Command>,
    recorded: BTreeMap<EffectId, RequestRecord>,
    notes: usize,
    ended: bool,
}

/// Folds the recorded inputs through `core`.
pub fn replay(core: &mut impl Core, records: &[Record]) -> Result<Replayed, DriverError> {
    let mut state = Replayed::default();
    let mut block = Block::default();
    for record in records {
        state.last = state.last.max(record.at);
        match &record.entry {
            Entry::Header(_) => {}
            Entry::Input(input) => {
                let done = std::mem::take(&mut block);
                let seq = done.seq;
                if let Some(command) = done.settle(&mut state)?.into_iter().find(|command| !matches!(command, Command::Note(_))) {
                    return Err(unrecorded(&command, seq));
                }
                state.begun |= matches!(input.as_ref(), Input::Start { .. });
                state.note_input(input);
                block = Block { seq: record.seq, at: record.at, commands: core.apply(Input::clone(input)), ..Block::default() };
            }
            Entry::Request(request) => {
                block.recorded.insert(request.id.clone(), request.clone());
            }
            Entry::Note(_) => block.notes += 1,
            Entry::End { .. } => block.ended = true,
        }
    }
    state.missing = block.settle(&mut state)?;
    Ok(state)
}

impl Replayed {
    fn note_input(&mut self, input: &Input) {
        match input {
            Input::Effect { id, .. } => {
                self.pending.remove(id);
            }
            Input::Stop { .. } => self.stopped = true,
            _ => {}
        }
    }
}

impl Block {
    /// Compares, notes what is pending, and gives what is not recorded.
    fn settle(mut self, state: &mut Replayed) -> Result<Vec<Command>, DriverError> {
        let mut missing = Vec::new();
        let mut notes = self.notes;
        for command in std::mem::take(&mut self.commands) {
            match &command {
                Command::Perform { id, definition, request } => {
                    state.pending.insert(id.clone(), request.clone());
                    match self.recorded.remove(id) {
                        Some(recorded) => compare(&recorded, definition, request)?,
                        None => missing.push(command),
                    }
                }
                Command::Cancel { id } => {
                    state.pending.remove(id);
                }
                // Notes oblige nobody: one that is told otherwise by a newer program does not stop a resume.
                Command::Note(_) if notes > 0 => notes -= 1,
                Command::Note(_) => missing.push(command),
                Command::End { result, reason } => {
                    state.end = Some((result.clone(), reason.clone()));
                    state.end_recorded = std::mem::take(&mut self.ended);
                    if !state.end_recorded {
                        missing.push(command);
                    }
                }
                // The machine itself knows its timers; a release is made again by whoever resumes.
                Command::SetTimer { id, .. } => {
                    state.timers.insert(id.clone(), self.at);
                }
                Command::CancelTimer { .. } | Command::Release { .. } | Command::Await { .. } => {}
            }
        }
        if let Some((id, _)) = self.recorded.pop_first() {
            return Err(JournalError::RequestChanged { id, what: "it is not made any more".to_owned() }.into());
        }
        if self.ended {
            return Err(DriverError::Diverged { seq: self.seq, what: "the run ended there and now goes on".to_owned() });
        }
        Ok(missing)
    }
}

fn compare(recorded: &RequestRecord, definition: &str, request: &Request) -> Result<(), DriverError> {
    let changed = |what: &str| Err(JournalError::RequestChanged { id: recorded.id.clone(), what: what.to_owned() }.into());
    if recorded.definition != definition {
        return changed("the definition of its cell, or what that uses, differs");
    }
    if recorded.digest != request_digest(request)? {
        return changed("what it asks for differs");
    }
    Ok(())
}

fn unrecorded(command: &Command, seq: u64) -> DriverError {
    match command {
        Command::Perform { id, .. } => JournalError::RequestChanged { id: id.clone(), what: "it was not made then".to_owned() }.into(),
        _ => DriverError::Diverged { seq, what: "the run would end there and did not".to_owned() },
    }
}
