//! The one place of this room that writes: it picks the mode for a stream and hands the text of [`Progress`] to it.

use super::progress::{Mode, Progress};
use super::sheet::Sheet;
use crate::driver::Event;
use std::io::{IsTerminal, Stderr, Write};

/// Terminals smaller than this get plain lines.
const LEAST: (u16, u16) = (40, 8);

/// Progress written to standard error, so that standard output stays free for results.
#[derive(Debug)]
pub struct Console {
    progress: Progress,
    stream: Stderr,
    live: bool,
}

impl Console {
    /// Progress of a run of the document that `sheet` describes; `plain` forbids the table, and so does a terminal that
    /// says it cannot move its cursor.
    #[must_use]
    pub fn new(sheet: Sheet, plain: bool) -> Self {
        let stream = std::io::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        let live = !plain && !dumb && stream.is_terminal();
        let mode = if live { size(&stream) } else { Mode::Plain };
        Self { progress: Progress::new(sheet, mode), stream, live }
    }

    /// Shows one event. A stream that cannot be written to any more (a closed pipe) is no reason to end a run.
    pub fn event(&mut self, event: &Event) {
        if self.live {
            self.progress.resize(size(&self.stream));
        }
        let text = self.progress.event(event);
        self.write(&text);
    }

    /// Takes in one event of the past without showing it.
    pub fn remember(&mut self, event: &Event) {
        self.progress.remember(event);
    }

    /// Takes the table off the screen, e.g. before a question is put.
    pub fn clear(&mut self) {
        let text = self.progress.clear();
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = self.stream.write_all(text.as_bytes()).and_then(|()| self.stream.flush());
        }
    }
}

fn size(stream: &Stderr) -> Mode {
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col >= LEAST.0 && size.ws_row >= LEAST.1 => {
            Mode::Live { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) }
        }
        _ => Mode::Plain,
    }
}
