//! What a record of the past can be asked without a run: whether it replays in everything, and which part of it holds under other settings.

use super::replay::replay;
use super::{Core, DriverError};
use crate::journal::{Entry, Journal, JournalError, Record};
use crate::machine::{Command, Input, Note, NoteEvent};
use std::collections::VecDeque;

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Inputs fed.
    pub inputs: usize,
    /// Requests compared.
    pub requests: usize,
    /// Notes compared.
    pub notes: usize,
}

/// Replays the record through machines that `new` gives, without any effect, and compares requests, notes and the end.
///
/// # Errors
/// The first thing that differs.
pub fn verify<C: Core>(new: &dyn Fn() -> C, records: &[Record]) -> Result<Verified, DriverError> {
    replay(&mut new(), records)?;
    let mut core = new();
    let mut counts = Verified::default();
    let mut notes: VecDeque<Note> = VecDeque::new();
    for record in records {
        match &record.entry {
            Entry::Input(input) => {
                if let Some(note) = notes.pop_front() {
                    return Err(diverged(record.seq, &format!("the note {:?} is not recorded", note.event)));
                }
                counts.inputs += 1;
                let told = core.apply(Input::clone(input)).into_iter();
                notes = told.filter_map(|command| if let Command::Note(note) = command { Some(note) } else { None }).collect();
            }
            Entry::Note(note) => {
                counts.notes += 1;
                let made = notes.pop_front();
                if made.as_ref() != Some(note) {
                    return Err(diverged(
                        record.seq,
                        &format!("recorded is {:?}, now it is {:?}", note.event, made.map(|note| note.event)),
                    ));
                }
            }
            Entry::Request(_) => counts.requests += 1,
            Entry::Header(_) | Entry::End { .. } => {}
        }
    }
    Ok(counts)
}

fn diverged(seq: u64, what: &str) -> DriverError {
    DriverError::Diverged { seq, what: what.to_owned() }
}

/// How many of the records hold when `core` (a machine with other settings) is fed their inputs: up to and with the last input before the
/// first that it does not wait for. `None` where it comes to its end all the same.
pub fn compatible(core: &mut impl Core, records: &[Record]) -> Option<usize> {
    let mut end = 0;
    for (index, record) in records.iter().enumerate() {
        let Entry::Input(input) = &record.entry else { continue };
        let awaited = match input.as_ref() {
            Input::Effect { id, .. } => core.pending().contains(id),
            Input::Timer { id, .. } => core.pending_timers().iter().any(|(set, _)| set == id),
            _ => true,
        };
        if !awaited {
            break;
        }
        let commands = core.apply(Input::clone(input));
        if commands.iter().any(|command| matches!(command, Command::End { .. })) {
            return None;
        }
        end = index + 1;
    }
    Some(end)
}

/// Writes the inputs among `records` into a new journal, with what a new machine asks for and tells. What the last one leads to is left to the
/// resume, so that it counts as never begun.
///
/// # Errors
/// The disk refuses.
pub fn retell(core: &mut impl Core, records: &[Record], journal: &mut Journal) -> Result<(), JournalError> {
    let last = records.iter().rposition(|record| matches!(record.entry, Entry::Input(_)));
    for (index, Record { at, entry, .. }) in records.iter().enumerate() {
        let Entry::Input(input) = entry else { continue };
        journal.append_input(*at, input)?;
        if Some(index) == last {
            break;
        }
        for command in core.apply(Input::clone(input)) {
            match command {
                Command::Perform { id, definition, request } => journal.append_request(*at, &id, &definition, &request)?,
                Command::Note(note) => journal.append_note(*at, &note)?,
                _ => {}
            }
        }
    }
    journal.commit()
}

/// The number of records up to and with the input that began `round`.
pub fn round_begins(records: &[Record], round: u32) -> Option<usize> {
    let noted = records.iter().position(
        |record| matches!(&record.entry, Entry::Note(note) if matches!(note.event, NoteEvent::Round { round: begun } if begun == round)),
    )?;
    records[..noted].iter().rposition(|record| matches!(record.entry, Entry::Input(_))).map(|input| input + 1)
}
