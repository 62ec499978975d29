//! Progress of a run: events in, text out. Plain lines anywhere, and on a terminal the table of cells redrawn below them.
//!
//! [`Progress::event`] only builds text: who writes it, and where, is [`super::console`]'s business.

use super::board::Board;
use super::sheet::Sheet;
use super::text::{duration, lines, one_line};
use super::view::{History, draw};
use crate::base::Timestamp;
use crate::driver::Event;
use crate::machine::NoteEvent;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Lines shown of one message; the journal holds all of it.
const MESSAGE_LINES: usize = 12;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Lines only, no cursor movement: files, pipes, dumb terminals.
    Plain,
    /// Lines, and below them the table, redrawn in place.
    Live {
        /// Columns of the terminal.
        columns: usize,
        /// Rows of the terminal.
        rows: usize,
    },
}

/// Turns events into what a person reads.
#[derive(Debug)]
pub struct Progress {
    board: Board,
    history: History,
    mode: Mode,
    /// Lines of the table that stand on the screen now.
    drawn: usize,
    /// The table as it was drawn last.
    frame: Vec<String>,
}

impl Progress {
    /// Progress of a run of the document that `sheet` describes.
    #[must_use]
    pub fn new(sheet: Sheet, mode: Mode) -> Self {
        Self { board: Board::new(sheet), history: History::default(), mode, drawn: 0, frame: Vec::new() }
    }

    /// The terminal was resized; takes effect with the next event.
    pub fn resize(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Takes in one event and gives the bytes to write; empty where there is nothing to show.
    pub fn event(&mut self, event: &Event) -> String {
        let told = self.tell(event);
        self.board.event(event);
        let mut out = String::new();
        match self.mode {
            Mode::Plain => push(&mut out, &told),
            Mode::Live { columns, rows } => {
                let ended = matches!(event, Event::Ended { .. });
                let frame = if ended { Vec::new() } else { self.board.draw(columns.saturating_sub(1), rows) };
                // Most events change nothing that is shown; drawing the same again only flickers.
                if told.is_empty() && frame == self.frame && self.drawn == frame.len() {
                    return out;
                }
                self.erase(&mut out);
                push(&mut out, &told);
                self.drawn = frame.len();
                push(&mut out, &frame);
                self.frame = frame;
            }
        }
        out
    }

    /// Takes in one event of the past: nothing is shown.
    pub fn remember(&mut self, event: &Event) {
        if let Event::Note { note, .. } = event
            && let NoteEvent::View { values, .. } = &note.event
        {
            self.history.add(values);
        }
        self.board.event(event);
    }

    /// Takes the table off the screen, e.g. before a question is put.
    pub fn clear(&mut self) -> String {
        let mut out = String::new();
        self.erase(&mut out);
        out
    }

    fn erase(&mut self, out: &mut String) {
        if self.drawn > 0 {
            // Up to the table's first line, then clear to the end of the screen.
            let _ = write!(out, "\r\u{1b}[{}A\u{1b}[0J", self.drawn);
            self.drawn = 0;
        }
    }

    /// The lasting lines of an event.
    fn tell(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::Started { run, journal, resumed, .. } => {
                let word = if *resumed { "resumed" } else { "started" };
                vec![format!("run {} {word}, journal {}", one_line(run), one_line(journal))]
            }
            Event::Note { at, note } => self.tell_note(*at, &note.event),
            Event::EffectDone { id, ok: false, detail, .. } => vec![format!("    {}: {}", one_line(&id.0), one_line(detail))],
            Event::EffectStarted { .. } | Event::EffectDone { .. } => Vec::new(),
            Event::Message { text, .. } => lines(text, MESSAGE_LINES),
            Event::Ended { result, reason, exit, .. } => {
                let reason = reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
                vec![format!("run ended with {} (exit {exit}){reason}", one_line(result))]
            }
        }
    }

    fn tell_note(&mut self, at: Timestamp, event: &NoteEvent) -> Vec<String> {
        match event {
            NoteEvent::Round { round } => vec![format!("round {round}")],
            // On a terminal the table shows what runs; a line would be said twice.
            NoteEvent::Run { .. } if self.mode != Mode::Plain => Vec::new(),
            NoteEvent::Run { cell, attempt, .. } => vec![format!("  ▶ {}{}", self.named(cell), attempt_words(*attempt))],
            NoteEvent::Done { cell, recovered, emitted } => {
                let mark = if *recovered { "↺" } else { "✓" };
                let how = if *recovered { ", recovered" } else { "" };
                let gave = if emitted.is_empty() { String::new() } else { format!(" → {}", one_line(&emitted.join(", "))) };
                vec![format!("  {mark} {}{}{how}{gave}", one_line(cell), self.took(cell, at))]
            }
            NoteEvent::Fail { cell, attempt, kind, message, retried } => {
                let then = if *retried { ", is tried again" } else { "" };
                vec![format!(
                    "  ✗ {}{}{}: {}: {}{then}",
                    one_line(cell),
                    attempt_words(*attempt),
                    self.took(cell, at),
                    one_line(kind),
                    one_line(message)
                )]
            }
            NoteEvent::Skip { cell } => vec![format!("  – {} skipped", one_line(cell))],
            NoteEvent::Stop { result, by } => vec![format!("  stop with {} asked for by {}", one_line(result), one_line(by))],
            NoteEvent::Risk { cell, message } => vec![format!("  ! {}", risk_words(cell, message))],
            NoteEvent::View { values, .. } => self.tell_view(values),
            NoteEvent::Deliver { .. } | NoteEvent::Release { .. } | NoteEvent::End { .. } => Vec::new(),
        }
    }

    fn tell_view(&mut self, values: &Map<String, Value>) -> Vec<String> {
        self.history.add(values);
        let views = &self.board.sheet().views;
        let drawn = values.iter().flat_map(|(label, value)| {
            let drawing = views.get(label).copied().unwrap_or_default();
            draw(label, value, drawing, &self.history)
        });
        drawn.map(|line| format!("    {line}")).collect()
    }

    fn named(&self, cell: &str) -> String {
        let cell = one_line(cell);
        match self.board.sheet().cells.get(&cell) {
            Some(title) if !title.is_empty() => format!("{cell} {title}"),
            _ => cell,
        }
    }

    fn took(&self, cell: &str, now: Timestamp) -> String {
        self.board.running_ms(cell, now).map(|ms| format!(" ({})", duration(ms))).unwrap_or_default()
    }
}

/// A risk with the cell it arose in, which most messages name themselves.
pub(super) fn risk_words(cell: &str, message: &str) -> String {
    let (cell, message) = (one_line(cell), one_line(message));
    if message.starts_with(&format!("{cell}: ")) { message } else { format!("{cell}: {message}") }
}

fn attempt_words(attempt: u32) -> String {
    if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() }
}

fn push(out: &mut String, lines: &[String]) {
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
}
