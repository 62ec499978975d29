//! `CRASH.log`: what a person needs to know of a death, taken from the journal and the system. Never a value of the run's configuration,
//! no text of a model, no environment.

use super::leftovers;
use crate::base::Timestamp;
use crate::base::limits::FILE_BYTES;
use crate::driver::past_events;
use crate::journal::{Entry, Reader, Record, run_folder};
use crate::machine::NoteEvent;
use crate::report::events;
use crate::world::{Clock, SystemClock};
use std::fmt::Write as _;
use std::path::Path;

/// Records shown.
const LAST: usize = 20;
/// Longest line shown, in characters.
const LINE_CHARS: usize = 400;

/// Adds an entry to the project's `CRASH.log`.
///
/// # Errors
/// The disk refuses.
pub fn write(project: &Path, dir: &str, run: &str, story: &str) -> Result<(), String> {
    let root = leftovers::open(project, dir).map_err(|fault| fault.to_string())?;
    let path = format!("{dir}/CRASH.log");
    let mut text = root.read(&path, FILE_BYTES).ok().flatten().map_or_else(String::new, |old| String::from_utf8_lossy(&old).into_owned());
    let records = run_folder(&project.join(dir), run).and_then(|folder| Reader::open(&folder)?.poll());
    text.push_str(&entry(SystemClock.now(), run, story, records.as_deref().unwrap_or_default()));
    if let Err(error) = records {
        let _ = writeln!(text, "journal: {error}");
    }
    let _ = write!(text, "{}", system());
    root.write_atomic(&path, text.as_bytes()).map_err(|fault| fault.to_string())
}

fn entry(now: Timestamp, run: &str, story: &str, records: &[Record]) -> String {
    let mut text = format!("=== {} {story}\nrun: {run}\n", now.rfc3339());
    if let Some(header) = records.iter().find_map(|record| if let Entry::Header(header) = &record.entry { Some(header) } else { None }) {
        for (name, id) in header.settings["prepared"]["ids"].as_object().into_iter().flatten() {
            let _ = writeln!(text, "{name}: {}", id.as_str().unwrap_or_default());
        }
    }
    let (round, running) = place(records);
    let _ = writeln!(text, "round: {round}\ncells under way: {}", if running.is_empty() { "none".to_owned() } else { running.join(", ") });
    let _ = writeln!(text, "last records ({} in all):", records.len());
    for event in past_events(&records[records.len().saturating_sub(LAST)..], "", |_| 0) {
        let line: String = events::line(&event).trim_end().chars().take(LINE_CHARS).collect();
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// The last round and the cells that had begun in it and not ended.
pub fn place(records: &[Record]) -> (u32, Vec<String>) {
    let (mut round, mut running) = (0, Vec::<String>::new());
    for record in records {
        let Entry::Note(note) = &record.entry else { continue };
        match &note.event {
            NoteEvent::Round { round: begun } => round = *begun,
            NoteEvent::Run { cell, .. } if !running.contains(cell) => running.push(cell.clone()),
            NoteEvent::Done { cell, .. } | NoteEvent::Fail { cell, retried: false, .. } | NoteEvent::Skip { cell } => {
                running.retain(|open| open != cell);
            }
            _ => {}
        }
    }
    (round, running)
}

/// Load and memory, where the system tells.
fn system() -> String {
    let mut text = format!("system: {} {}, rsf {}\n", std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION"));
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        let _ = writeln!(text, "load: {}", load.trim());
    }
    if let Ok(memory) = std::fs::read_to_string("/proc/meminfo") {
        for line in memory.lines().filter(|line| line.starts_with("MemTotal") || line.starts_with("MemAvailable")) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}
