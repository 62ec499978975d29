//! The state of the table of cells as the events tell it, and its drawing for a terminal of a given size.

use super::sheet::Sheet;
use super::text::{clip, one_line, width};
use super::view::grid;
use crate::base::Timestamp;
use crate::driver::Event;
use crate::machine::{EffectId, NoteEvent};
use std::collections::BTreeMap;

/// Columns a cell of the table takes at most; more would only spread it.
const CELL_COLUMNS: usize = 18;
/// Running cells listed below the table.
const ACTIVE_LINES: usize = 6;

/// How a cell stands in the present round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running { attempt: u32, since: Timestamp },
    Done,
    Recovered,
    Failed,
    Skipped,
}

impl State {
    fn mark(self) -> String {
        match self {
            Self::Running { attempt: 1, .. } => "▶".to_owned(),
            Self::Running { attempt, .. } => format!("▶{attempt}"),
            Self::Done => "✓".to_owned(),
            Self::Recovered => "↺".to_owned(),
            Self::Failed => "✗".to_owned(),
            Self::Skipped => "–".to_owned(),
        }
    }
}

/// The table of cells in the present round.
#[derive(Debug)]
pub struct Board {
    sheet: Sheet,
    round: u32,
    states: BTreeMap<String, State>,
    /// Running cell → what it is doing.
    doing: BTreeMap<String, String>,
}

impl Board {
    /// A board on which nothing has run.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self { sheet, round: 0, states: BTreeMap::new(), doing: BTreeMap::new() }
    }

    /// The table and its captions.
    #[must_use]
    pub fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    /// Milliseconds since the cell's present attempt began, if it is running.
    #[must_use]
    pub fn running_ms(&self, cell: &str, now: Timestamp) -> Option<u64> {
        match self.states.get(&one_line(cell))? {
            State::Running { since, .. } => u64::try_from(now.0.saturating_sub(since.0)).ok(),
            _ => None,
        }
    }

    /// Takes in one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Note { at, note } => self.note(*at, &note.event),
            Event::EffectStarted { id, kind, what, .. } => {
                if let Some(cell) = cell_of(id) {
                    self.doing.insert(one_line(cell), format!("{kind} {}", one_line(what)));
                }
            }
            Event::EffectDone { id, .. } => {
                if let Some(cell) = cell_of(id) {
                    self.doing.remove(&one_line(cell));
                }
            }
            Event::Started { .. } | Event::Message { .. } | Event::Ended { .. } => {}
        }
    }

    fn note(&mut self, at: Timestamp, event: &NoteEvent) {
        match event {
            NoteEvent::Round { round } => {
                self.round = *round;
                self.states.clear();
                self.doing.clear();
            }
            NoteEvent::Run { cell, attempt, .. } => self.put(cell, State::Running { attempt: *attempt, since: at }),
            NoteEvent::Done { cell, recovered, .. } => self.put(cell, if *recovered { State::Recovered } else { State::Done }),
            NoteEvent::Fail { cell, .. } => self.put(cell, State::Failed),
            NoteEvent::Skip { cell } => self.put(cell, State::Skipped),
            _ => {}
        }
    }

    fn put(&mut self, cell: &str, state: State) {
        let cell = one_line(cell);
        if !matches!(state, State::Running { .. }) {
            self.doing.remove(&cell);
        }
        self.states.insert(cell, state);
    }

    /// The lines to show on a terminal of `columns` × `rows`: the table where it fits, else the running cells alone.
    #[must_use]
    pub fn draw(&self, columns: usize, rows: usize) -> Vec<String> {
        let active = self.active(columns);
        let mut lines = self.table(columns).filter(|table| table.len() + active.len() + 1 < rows).unwrap_or_default();
        lines.extend(active);
        lines.truncate(rows.saturating_sub(1));
        lines
    }

    fn active(&self, columns: usize) -> Vec<String> {
        let running: Vec<&String> =
            self.states.iter().filter(|(_, state)| matches!(state, State::Running { .. })).map(|(cell, _)| cell).collect();
        let mut lines = vec![clip(&format!("round {}, {} running", self.round, running.len()), columns)];
        for cell in running.iter().take(ACTIVE_LINES) {
            let what = self.doing.get(*cell).map_or("", String::as_str);
            lines.push(clip(format!("  ▶ {cell}  {what}").trim_end(), columns));
        }
        if running.len() > ACTIVE_LINES {
            lines.push(format!("  … {} more", running.len() - ACTIVE_LINES));
        }
        lines
    }

    /// The table, or `None` where the terminal is too narrow for it.
    fn table(&self, columns: usize) -> Option<Vec<String>> {
        let first = self.sheet.steps.iter().map(|(seq, _)| seq.to_string().len()).max()?.max(4);
        // Every column has a border and a space on both sides; the last border closes the line.
        let rest = columns.checked_sub(first + 4)?;
        let each = (rest / self.sheet.roles.len().max(1)).checked_sub(3)?.min(CELL_COLUMNS);
        if each < 2 || self.sheet.roles.is_empty() {
            return None;
        }
        let mut grid = grid();
        grid.set_header(std::iter::once("step".to_owned()).chain(self.sheet.roles.iter().map(|role| clip(role, each))));
        for (seq, _) in &self.sheet.steps {
            let cells = self.sheet.roles.iter().map(|role| self.cell(&format!("{role}@{seq}"), each));
            grid.add_row(std::iter::once(seq.to_string()).chain(cells));
        }
        let lines: Vec<String> = grid.to_string().lines().map(str::to_owned).collect();
        lines.iter().all(|line| width(line) <= columns).then_some(lines)
    }

    fn cell(&self, id: &str, columns: usize) -> String {
        let Some(title) = self.sheet.cells.get(id) else { return String::new() };
        let mark = self.states.get(id).map_or_else(|| "·".to_owned(), |state| state.mark());
        clip(&format!("{mark} {title}"), columns)
    }
}

/// `role@seq` of an effect's identity; `None` for a program of `on`.
fn cell_of(id: &EffectId) -> Option<&str> {
    let at = id.0.rfind('@')?;
    let digits = id.0.get(at + 1..)?.bytes().take_while(u8::is_ascii_digit).count();
    id.0.get(..at + 1 + digits)
}
