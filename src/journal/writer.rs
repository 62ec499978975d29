//! The one writer: records gather in memory and become durable together. Nothing is readable before its commit, nothing is written twice.

use super::blob::{self, Blob};
use super::delta::Sessions;
use super::disk::{Disk, Durability, FILE, FileDisk};
use super::line::{self, Chain};
use super::record::{Entry, Header, Record};
use super::scan::scan;
use super::{Blobs, JournalError};
use crate::base::Timestamp;
use crate::machine::{EffectId, Input, Note, Request};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// The folder of a run below the project's run directory.
///
/// # Errors
/// The name of the run would leave that folder.
pub fn run_folder(dir: &Path, run: &str) -> Result<PathBuf, JournalError> {
    let plain = run.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !plain || run.is_empty() || run.starts_with('.') || run.len() > 200 {
        return Err(JournalError::RunName { run: run.to_owned() });
    }
    Ok(dir.join("runs").join(run))
}

/// A journal that is being written.
pub struct Journal {
    disk: Box<dyn Disk>,
    path: PathBuf,
    chain: Chain,
    /// Offset behind the last committed line.
    end: u64,
    lines: Vec<u8>,
    blobs: Vec<Blob>,
    /// Blobs written by this process: they are not looked for again.
    known: BTreeSet<String>,
    sessions: Sessions,
    failed: bool,
    /// Makes room on a full disk, once.
    relief: Option<Box<dyn FnOnce() -> bool + Send>>,
    relieved: bool,
}

/// A journal that was opened again.
pub struct Opened {
    /// Ready to be appended to.
    pub journal: Journal,
    /// What the run was started with.
    pub header: Header,
    /// All records, the header included.
    pub records: Vec<Record>,
    /// For people: what was cut off.
    pub notes: Vec<String>,
}

impl Journal {
    /// Begins the journal of a run in its folder (see [`run_folder`]); its header is durable when this returns.
    ///
    /// # Errors
    /// There is one already, or the disk refuses.
    pub fn create(folder: &Path, header: Header, at: Timestamp, durability: Durability) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let disk = FileDisk::create(folder, durability).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists { path: path.clone() },
            _ => JournalError::io("create", &path, error),
        })?;
        Self::create_on(path, Box::new(disk), header, at)
    }

    /// The same on a disk of the caller's; `path` is for messages.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn create_on(path: impl Into<PathBuf>, disk: Box<dyn Disk>, header: Header, at: Timestamp) -> Result<Self, JournalError> {
        let mut journal = Self::with(path.into(), disk, Chain::default(), 0, Sessions::default());
        journal.append(at, &Entry::Header(Box::new(header)))?;
        journal.commit()?;
        Ok(journal)
    }

    /// Opens a journal to go on with it: a torn tail is cut off with a note, damage is refused.
    ///
    /// # Errors
    /// There is none, it is damaged or of a newer format, or the disk refuses.
    pub fn open(folder: &Path, durability: Durability) -> Result<Opened, JournalError> {
        let path = folder.join(FILE);
        let disk = FileDisk::open(folder, durability).map_err(|error| opening(&path, error))?;
        Self::open_on(folder, Box::new(disk))
    }

    /// The same, writing to a disk of the caller's.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_on(folder: &Path, mut disk: Box<dyn Disk>) -> Result<Opened, JournalError> {
        let path = folder.join(FILE);
        let file = File::open(&path).map_err(|error| opening(&path, error))?;
        let found = scan(BufReader::with_capacity(256 * 1024, file), &Blobs::of(folder), &path)?;
        if found.torn {
            disk.cut(found.end).map_err(|error| JournalError::io("cut", &path, error))?;
        }
        let journal = Self::with(path, disk, found.chain, found.end, found.sessions);
        Ok(Opened { journal, header: found.header, records: found.records, notes: found.notes })
    }

    fn with(path: PathBuf, disk: Box<dyn Disk>, chain: Chain, end: u64, sessions: Sessions) -> Self {
        let (lines, blobs, known) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { disk, path, chain, end, lines, blobs, known, sessions, failed: false, relief: None, relieved: false }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record to the next commit. Requests are better added by [`Journal::append_request`].
    ///
    /// # Errors
    /// An earlier commit failed, or the record has no JSON form.
    pub fn append(&mut self, at: Timestamp, entry: &Entry) -> Result<(), JournalError> {
        if self.failed {
            return Err(JournalError::Closed { path: self.path.clone() });
        }
        let mut body = entry.body()?;
        if !matches!(entry, Entry::Request(_)) {
            body = blob::encode(body, &mut self.blobs);
        }
        line::render(&mut self.chain, at, entry.kind(), &body, &mut self.lines);
        Ok(())
    }

    /// Adds an input.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_input(&mut self, at: Timestamp, input: &Input) -> Result<(), JournalError> {
        self.append(at, &Entry::Input(Box::new(input.clone())))
    }

    /// Adds a request, a model's with what is new in its history only.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_request(&mut self, at: Timestamp, id: &EffectId, definition: &str, request: &Request) -> Result<(), JournalError> {
        let record = self.sessions.record(id, definition, request, &mut self.blobs)?;
        self.append(at, &Entry::Request(record))
    }

    /// Adds a note.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_note(&mut self, at: Timestamp, note: &Note) -> Result<(), JournalError> {
        self.append(at, &Entry::Note(note.clone()))
    }

    /// Makes everything appended durable: the blobs first, then all lines in one write.
    ///
    /// # Errors
    /// The disk refuses; from then on the journal takes nothing any more, because nobody knows what a failed sync has kept.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.failed {
            return Err(JournalError::Closed { path: self.path.clone() });
        }
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut drafted = self.write_all();
        if drafted.as_ref().is_err_and(is_full)
            && let Some(relief) = self.relief.take()
        {
            self.relieved = true;
            // Nothing was synced, so the same bytes may be written to the same place again.
            if relief() {
                drafted = self.write_all();
            }
        }
        let written = drafted.and_then(|()| self.disk.sync());
        self.failed = written.is_err();
        written.map_err(|error| JournalError::io("write", &self.path, error))?;
        self.end += self.lines.len() as u64;
        self.lines.clear();
        self.blobs.clear();
        Ok(())
    }

    fn write_all(&mut self) -> io::Result<()> {
        let mut fresh = false;
        for Blob { digest, bytes } in &self.blobs {
            if !self.known.contains(digest) {
                self.disk.blob(digest, bytes)?;
                self.known.insert(digest.clone());
                fresh = true;
            }
        }
        if fresh || self.relieved {
            self.disk.sync_blobs()?;
        }
        self.disk.write(self.end, &self.lines)
    }

    /// What makes room when the disk is full: called once, by the first commit that finds it so, which is then tried again.
    pub fn relieve_with(&mut self, relief: impl FnOnce() -> bool + Send + 'static) {
        self.relief = Some(Box::new(relief));
    }

    /// True once, after a commit that found the disk full.
    pub fn take_relieved(&mut self) -> bool {
        std::mem::take(&mut self.relieved)
    }

    /// Commits and gives the reserved space back.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.commit()?;
        self.disk.cut(self.end).map_err(|error| JournalError::io("close", &self.path, error))
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn opening(path: &Path, error: io::Error) -> JournalError {
    match error.kind() {
        io::ErrorKind::NotFound => JournalError::Missing { path: path.to_owned() },
        _ => JournalError::io("open", path, error),
    }
}
