//! One run per project. The lock is the operating system's, on an open file: it ends with its process, however that ends, and a process
//! id that is used again means nothing to it. The text in the file is for the message only.

use super::JournalError;
use crate::base::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

/// Who holds a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Run id.
    pub run: String,
    /// Process id.
    pub pid: u32,
    /// When it took the lock, as text.
    pub since: String,
}

/// Holds a project until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of the run directory `dir`, without waiting.
    ///
    /// # Errors
    /// Another process holds it (the message says which), or the disk refuses.
    pub fn acquire(dir: &Path, run: &str, now: Timestamp) -> Result<Self, JournalError> {
        let path = dir.join("LOCK");
        fs::create_dir_all(dir).map_err(|error| JournalError::io("create", dir, error))?;
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(|error| JournalError::io("open", &path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Held { holder: describe(&mut file), path }),
            Err(TryLockError::Error(error)) => return Err(JournalError::io("lock", &path, error)),
        }
        let holder = Holder { run: run.to_owned(), pid: std::process::id(), since: now.rfc3339() };
        write_holder(&mut file, &holder).map_err(|error| JournalError::io("write", &path, error))?;
        Ok(Self { file })
    }

    /// Who holds the lock of `dir`, if anyone does.
    ///
    /// # Errors
    /// The lock file is there but cannot be read.
    pub fn holder(dir: &Path) -> Result<Option<String>, JournalError> {
        let path = dir.join("LOCK");
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&path) else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(describe(&mut file))),
            Err(TryLockError::Error(error)) => Err(JournalError::io("lock", &path, error)),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Left empty, not removed: a file that is removed could be locked twice under one name.
        let _ = self.file.set_len(0);
    }
}

fn write_holder(file: &mut File, holder: &Holder) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())
}

fn describe(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(4096).read_to_string(&mut text);
    match read.ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok()) {
        Some(Holder { run, pid, since }) => format!("run {run}, pid {pid}, since {since}"),
        None => "a run that has not said its name yet".to_owned(),
    }
}
