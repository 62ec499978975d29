//! Drives the machine with scripted outcomes in place of interpretation, and writes the trace of a run.
//!
//! Used by tests and proofs; pure, like the machine itself.

mod random;

pub use random::{Odds, Outcome, random_run};

use crate::base::Timestamp;
use crate::check::plan::Plan;
use crate::machine::{Command, Input, Machine, Note, NoteEvent, Prepared, Scripted};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Outcomes by `role@seq`: the first for the cell's first run, and so on; a cell without one emits one value per `out` entry.
pub type Script = BTreeMap<String, Vec<Scripted>>;

/// Runs the machine to its end with the outcomes of a script. `pick(n)` says which of the `n` running cells ends next, so that
/// every order can be tried; a number out of range means the last one. Gives every note in the order in which it was given.
pub fn run(plan: Arc<Plan>, script: &Script, pick: impl FnMut(usize) -> usize) -> Vec<Note> {
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    let decide = |cell: &str, _round: u32| {
        let count = runs.entry(cell.to_owned()).or_default();
        let outcome = script.get(cell).and_then(|outcomes| outcomes.get(*count)).cloned().unwrap_or_default();
        *count += 1;
        outcome
    };
    drive(plan, decide, pick)
}

/// Runs the machine to its end; `decide(cell, round)` says how a cell ends, asked once for each run of a cell when it starts.
pub fn drive(plan: Arc<Plan>, mut decide: impl FnMut(&str, u32) -> Scripted, mut pick: impl FnMut(usize) -> usize) -> Vec<Note> {
    let prepared = Prepared { run_id: "simulation".to_owned(), params: params(&plan), ..Prepared::default() };
    let mut machine = Machine::simulated(plan, prepared);
    let mut waiting: Vec<(String, Scripted)> = Vec::new();
    let mut notes = Vec::new();
    let mut commands = machine.apply(Input::Start { at: Timestamp::default(), project: Value::Null });
    loop {
        for command in commands.drain(..) {
            match command {
                Command::Await { cell, round, .. } => {
                    let outcome = decide(&cell, round);
                    waiting.push((cell, outcome));
                }
                Command::Note(note) => notes.push(note),
                Command::End { .. } => return notes,
                // A simulated machine interprets nothing, so it asks for nothing else.
                Command::Perform { .. }
                | Command::SetTimer { .. }
                | Command::CancelTimer { .. }
                | Command::Cancel { .. }
                | Command::Release { .. } => {}
            }
        }
        if waiting.is_empty() {
            return notes;
        }
        let index = pick(waiting.len()).min(waiting.len() - 1);
        let (cell, outcome) = waiting.remove(index);
        commands = machine.apply(Input::Scripted { cell, outcome, at: Timestamp::default() });
    }
}

/// Something for every entry that a run takes from its parameters.
fn params(plan: &Plan) -> Map<String, Value> {
    let entries = plan.net().cells.iter().filter(|cell| cell.entry).flat_map(|cell| &cell.slots).filter(|slot| !slot.fed);
    entries.filter_map(|slot| slot.term.alternatives.first()).map(|name| (name.to_string(), Value::Null)).collect()
}

/// The trace of a run: its notes in the order of everything, one line each.
#[must_use]
pub fn trace(notes: &[Note]) -> Vec<String> {
    let mut sorted: Vec<&Note> = notes.iter().collect();
    sorted.sort_by_key(|note| note.place);
    // The end comes last wherever it was noted.
    let (end, rest): (Vec<&Note>, Vec<&Note>) = sorted.into_iter().partition(|n| matches!(n.event, NoteEvent::End { .. }));
    rest.into_iter().chain(end).filter_map(|note| line(&note.event)).collect()
}

fn line(event: &NoteEvent) -> Option<String> {
    match event {
        NoteEvent::Round { round } => Some(format!("round {round}")),
        NoteEvent::Run { cell, inputs, .. } => {
            let entries = inputs.iter().map(|(key, names)| {
                let values = names.as_ref().map_or_else(|| "null".to_owned(), |names| names.join(","));
                format!(" {key}={values}")
            });
            Some(format!("run {cell}{}", entries.collect::<String>()))
        }
        NoteEvent::Deliver { flow } => Some(format!("deliver {flow}")),
        NoteEvent::Skip { cell } => Some(format!("skip {cell}")),
        NoteEvent::Fail { cell, kind, .. } => Some(format!("fail {cell} {kind}")),
        NoteEvent::Release { flow } => Some(format!("release {flow}")),
        NoteEvent::End { result } => Some(format!("end {result}")),
        NoteEvent::Done { .. } | NoteEvent::Stop { .. } | NoteEvent::View { .. } | NoteEvent::Risk { .. } => None,
    }
}
