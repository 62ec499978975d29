//! The last screen of a run: what came out, why, what it took, what went wrong on the way, and where the files are.

use super::progress::risk_words;
use super::sheet::Sheet;
use super::text::{duration, one_line, plural};
use super::view::{History, draw};
use crate::base::Timestamp;
use crate::driver::Event;
use crate::machine::NoteEvent;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Failures and risks that are listed; the rest is counted.
const LISTED: usize = 10;
/// Folders of written documents that are named, and files of one folder that are named one by one.
const FOLDERS: usize = 20;
const FILES: usize = 2;

/// Collects events for the last screen.
#[derive(Debug, Default)]
pub struct Summary {
    sheet: Sheet,
    history: History,
    run: String,
    journal: String,
    first: Option<Timestamp>,
    last: Timestamp,
    rounds: u32,
    done: u64,
    recovered: u64,
    skipped: u64,
    retried: u64,
    failures: List,
    risks: List,
    views: Map<String, Value>,
    /// Effects under way that write documents.
    storing: BTreeSet<String>,
    /// Folder → names of the documents written there.
    written: BTreeMap<String, BTreeSet<String>>,
    end: Option<(String, Option<String>, u8)>,
}

/// The first lines of something, and how many there were.
#[derive(Debug, Default)]
struct List {
    lines: Vec<String>,
    total: u64,
}

impl List {
    fn add(&mut self, line: String) {
        self.total += 1;
        if self.lines.len() < LISTED {
            self.lines.push(line);
        }
    }

    fn print(&self, heading: &str, out: &mut Vec<String>) {
        if self.total == 0 {
            return;
        }
        out.push(format!("{heading} ({}):", self.total));
        out.extend(self.lines.iter().map(|line| format!("  {line}")));
        let left = self.total - self.lines.len() as u64;
        if left > 0 {
            out.push(format!("  … {left} more, see the journal"));
        }
    }
}

impl Summary {
    /// A summary of a run of the document that `sheet` describes.
    #[must_use]
    pub fn new(sheet: Sheet) -> Self {
        Self { sheet, ..Self::default() }
    }

    /// Takes in one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Started { run, journal, at, .. } => {
                self.run = one_line(run);
                self.journal = one_line(journal);
                self.seen(*at);
            }
            Event::Note { at, note } => {
                self.seen(*at);
                self.note(&note.event);
            }
            Event::Ended { result, reason, exit, at } => {
                self.seen(*at);
                self.end = Some((one_line(result), reason.as_deref().map(one_line), *exit));
            }
            Event::EffectStarted { id, kind, at, .. } => {
                self.seen(*at);
                if *kind == "store" {
                    self.storing.insert(id.0.clone());
                }
            }
            Event::EffectDone { id, ok, detail, at, .. } => {
                self.seen(*at);
                if self.storing.remove(&id.0) && *ok {
                    self.wrote(detail);
                }
            }
            Event::Message { at, .. } => self.seen(*at),
        }
    }

    /// Remembers what a finished store says it wrote.
    fn wrote(&mut self, detail: &str) {
        for path in detail.split(", ").filter(|path| !path.is_empty() && !path.ends_with('…')) {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            self.written.entry(one_line(folder)).or_default().insert(one_line(name));
        }
    }

    /// The documents written, by folder.
    fn documents(&self, out: &mut Vec<String>) {
        if self.written.is_empty() {
            return;
        }
        out.push("documents written:".to_owned());
        for (folder, names) in self.written.iter().take(FOLDERS) {
            let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            if names.len() > FILES {
                out.push(format!("  {folder} ({})", plural(names.len() as u64, "file")));
            } else {
                out.extend(names.iter().map(|name| format!("  {folder}{name}")));
            }
        }
        if self.written.len() > FOLDERS {
            out.push(format!("  … {} more folders", self.written.len() - FOLDERS));
        }
    }

    fn seen(&mut self, at: Timestamp) {
        self.first.get_or_insert(at);
        self.last = at;
    }

    fn note(&mut self, event: &NoteEvent) {
        match event {
            NoteEvent::Round { round } => self.rounds = self.rounds.max(*round),
            NoteEvent::Done { recovered, .. } => {
                self.done += 1;
                self.recovered += u64::from(*recovered);
            }
            NoteEvent::Skip { .. } => self.skipped += 1,
            NoteEvent::Fail { cell, attempt, kind, message, retried } => {
                self.retried += u64::from(*retried);
                let round = self.rounds;
                self.failures.add(format!("{} round {round} attempt {attempt}: {}: {}", one_line(cell), one_line(kind), one_line(message)));
            }
            NoteEvent::Risk { cell, message } => self.risks.add(risk_words(cell, message)),
            NoteEvent::View { values, .. } => {
                self.history.add(values);
                self.views.extend(values.clone());
            }
            _ => {}
        }
    }

    /// The screen. `places` are captions and paths of what the run left behind, e.g. `("reports", "…/reports")`.
    #[must_use]
    pub fn text(&self, places: &[(&str, &str)]) -> String {
        let mut out = self.head();
        for (label, value) in &self.views {
            let drawing = self.sheet.views.get(label).copied().unwrap_or_default();
            out.extend(draw(label, value, drawing, &self.history));
        }
        self.failures.print("failed attempts", &mut out);
        self.risks.print("risks", &mut out);
        self.documents(&mut out);
        if !self.journal.is_empty() {
            out.push(format!("journal: {}", self.journal));
        }
        out.extend(places.iter().map(|(caption, path)| format!("{}: {}", one_line(caption), one_line(path))));
        if let Some((_, _, exit)) = &self.end {
            out.push(format!("exit code: {exit}"));
        }
        out.push(String::new());
        out.join("\n")
    }

    fn head(&self) -> Vec<String> {
        let result = match &self.end {
            Some((result, Some(reason), _)) => format!("{result}: {reason}"),
            Some((result, None, _)) => result.clone(),
            None => "the run did not end; `rsf resume` continues it".to_owned(),
        };
        let elapsed = self.last.0.saturating_sub(self.first.unwrap_or(self.last).0);
        let mut cells = plural(self.done, "cell");
        for (count, word) in [(self.recovered, "recovered"), (self.skipped, "skipped"), (self.retried, "tried again")] {
            if count > 0 {
                cells = format!("{cells}, {count} {word}");
            }
        }
        let time = duration(u64::try_from(elapsed).unwrap_or(0));
        vec![String::new(), result, format!("run {}: {}, {cells}, {time}", self.run, plural(u64::from(self.rounds), "round"))]
    }
}
