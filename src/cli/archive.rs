//! The runs of a project, as their journals tell of them. Reads only.

use super::ready::{Refused, refuse};
use super::{Status, complain, crash_log};
use crate::journal::{Entry, Header, Reader, Record, RunLock};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A run that left a journal.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The run directory it lies in.
    pub dir: PathBuf,
    /// When its journal was written last.
    pub written: SystemTime,
}

/// What a journal says.
#[derive(Debug)]
pub struct Told {
    /// What the run was started with.
    pub header: Header,
    /// All whole records.
    pub records: Vec<Record>,
}

/// All runs of the project, the newest last.
pub fn runs(root: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for dir in std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()) {
        for folder in std::fs::read_dir(dir.join("runs")).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let Ok(journal) = std::fs::metadata(folder.join("journal.jsonl")) else { continue };
            let Some(name) = folder.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
            let written = journal.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            found.push(Found { name, folder, dir: dir.clone(), written });
        }
    }
    found.sort_by(|a, b| (a.written, &a.name).cmp(&(b.written, &b.name)));
    found
}

/// The project's folder as a path without links.
pub fn project(repo: &Path) -> Result<PathBuf, Refused> {
    repo.canonicalize().map_err(|e| refuse(Status::Usage, &format!("--repo {}: {e}", repo.display())))
}

/// The run of that name, or the newest.
pub fn choose(root: &Path, name: Option<&str>) -> Result<Found, Refused> {
    let chosen = runs(root).into_iter().rev().find(|run| name.is_none_or(|name| run.name == name));
    chosen.ok_or_else(|| {
        let what = name.map_or_else(|| "no run".to_owned(), |name| format!("no run `{}`", name.escape_debug()));
        refuse(Status::Usage, &format!("{what} in {}; `rsf runs` lists them", root.display()))
    })
}

impl Found {
    /// What its journal says now.
    pub fn told(&self) -> Result<Told, Refused> {
        let read = Reader::open(&self.folder).and_then(|mut reader| reader.poll());
        let records = read.map_err(|error| refuse(Status::Code(1), &error.to_string()))?;
        let header =
            records.first().and_then(|record| if let Entry::Header(header) = &record.entry { Some(Header::clone(header)) } else { None });
        match header {
            Some(header) => Ok(Told { header, records }),
            None => Err(refuse(Status::Code(1), &format!("the journal in {} has no header yet", self.folder.display()))),
        }
    }

    /// True while a process works on it.
    pub fn is_live(&self) -> bool {
        let holder = RunLock::holder(&self.dir).ok().flatten();
        holder.is_some_and(|holder| holder.starts_with(&format!("run {},", self.name)))
    }
}

impl Told {
    /// Result and reason, once it is over.
    pub fn end(&self) -> Option<(&str, Option<&str>)> {
        self.records.iter().rev().find_map(|record| match &record.entry {
            Entry::End { result, reason } => Some((result.as_str(), reason.as_deref())),
            _ => None,
        })
    }

    /// Its last round and the cells under way.
    pub fn place(&self) -> (u32, Vec<String>) {
        crash_log::place(&self.records)
    }

    /// What the run is for, as far as its parameters say it in one text.
    pub fn goal(&self) -> String {
        let texts = self.header.params.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
        texts.max_by_key(|text| text.len()).unwrap_or_default().to_owned()
    }
}

/// Says so where the newest run of the project did not come to its end.
pub fn mention_unfinished(root: &Path) {
    let Some(run) = runs(root).pop().filter(|run| !run.is_live()) else { return };
    let Ok(records) = Reader::open(&run.folder).and_then(|mut reader| reader.poll()) else { return };
    let ended = records.iter().any(|record| matches!(record.entry, Entry::End { .. }));
    if !ended && !records.is_empty() {
        let (round, _) = crash_log::place(&records);
        complain(&format!("rsf: the run {} did not come to its end (round {round}); `rsf resume {}` goes on with it", run.name, run.name));
    }
}
