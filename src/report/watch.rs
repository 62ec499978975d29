//! Whoever watches a run on a command line: progress and a last screen for people, or JSON lines for programs.

use super::console::Console;
use super::events;
use super::sheet::Sheet;
use super::summary::Summary;
use crate::driver::Event;
use std::io::Write;

/// Shows a run as it goes and at its end.
#[derive(Debug)]
pub enum Watch {
    /// Progress on standard error, the last screen on standard output.
    People {
        /// Lines and table.
        console: Box<Console>,
        /// Collects the last screen.
        summary: Box<Summary>,
    },
    /// One JSON object per event on standard output.
    Programs,
}

impl Watch {
    /// A watcher for people; `plain` forbids the table even on a terminal.
    #[must_use]
    pub fn people(sheet: Sheet, plain: bool) -> Self {
        Self::People { summary: Box::new(Summary::new(sheet.clone())), console: Box::new(Console::new(sheet, plain)) }
    }

    /// Shows one event.
    pub fn event(&mut self, event: &Event) {
        match self {
            Self::People { console, summary } => {
                console.event(event);
                summary.event(event);
            }
            Self::Programs => write(&events::line(event)),
        }
    }

    /// Takes in what happened before a run was resumed, without showing it: the table and the last screen are of the whole run.
    pub fn remember(&mut self, past: &[Event]) {
        if let Self::People { console, summary } = self {
            for event in past {
                console.remember(event);
                summary.event(event);
            }
        }
    }

    /// Shows the last screen; `places` are captions and paths of what the run left behind.
    pub fn finish(&mut self, places: &[(&str, &str)]) {
        if let Self::People { console, summary } = self {
            console.clear();
            write(&summary.text(places));
        }
    }
}

/// A reader that went away (a closed pipe) is no reason to end a run.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
