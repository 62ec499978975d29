//! Reading a journal that another process may be writing. Never writes, never locks, and takes an unfinished line for unfinished.

use super::disk::FILE;
use super::line::{self, Chain, LINE_BYTES};
use super::record::Record;
use super::scan::read_record;
use super::{Blobs, JournalError};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Follows a journal as it grows.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    blobs: Blobs,
    /// Offset behind the last whole line.
    offset: u64,
    chain: Chain,
    first: Option<Record>,
    /// A line that did not fit when it was last looked at.
    suspect: Option<Vec<u8>>,
}

impl Reader {
    /// Opens the journal of the run in `folder`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => JournalError::Missing { path: path.clone() },
            _ => JournalError::io("open", &path, error),
        })?;
        Ok(Self { file, path, blobs: Blobs::of(folder), offset: 0, chain: Chain::default(), first: None, suspect: None })
    }

    /// The blobs beside the journal.
    #[must_use]
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// The records that were added since the last call. An unfinished line is left for the next one.
    ///
    /// # Errors
    /// The journal is damaged, of a newer format, or cannot be read.
    pub fn poll(&mut self) -> Result<Vec<Record>, JournalError> {
        let mut records = Vec::new();
        let mut carry = Vec::new();
        self.file.seek(SeekFrom::Start(self.offset)).map_err(|error| JournalError::io("read", &self.path, error))?;
        loop {
            let before = carry.len();
            let chunk = (&self.file).take(256 * 1024).read_to_end(&mut carry);
            chunk.map_err(|error| JournalError::io("read", &self.path, error))?;
            let grown = carry.len() > before;
            let mut start = 0;
            while let Some(length) = carry.get(start..).and_then(|rest| rest.iter().position(|b| *b == b'\n')) {
                let whole = carry.get(start..start + length).unwrap_or_default().to_vec();
                match self.take_line(&whole)? {
                    Some(record) => records.push(record),
                    None => return Ok(records),
                }
                start += length + 1;
            }
            carry.drain(..start);
            let reserved = carry.first() == Some(&0);
            if !grown || reserved {
                return Ok(records);
            }
            if carry.len() > LINE_BYTES {
                return Err(self.damaged(format!("a line longer than {LINE_BYTES} bytes")));
            }
        }
    }

    /// `None` for a line that may be still on its way.
    fn take_line(&mut self, bytes: &[u8]) -> Result<Option<Record>, JournalError> {
        match line::parse(bytes, &mut self.chain) {
            Ok(line) => {
                let record = read_record(line, &self.blobs, &self.path, self.first.as_ref())?;
                self.offset += bytes.len() as u64 + 1;
                self.suspect = None;
                if self.first.is_none() {
                    self.first = Some(record.clone());
                }
                Ok(Some(record))
            }
            // A write may be seen in pieces: its end before its beginning. Only what stays as it is, is damage.
            Err(what) if self.suspect.as_deref() == Some(bytes) && !bytes.contains(&0) => Err(self.damaged(what)),
            Err(_) => {
                self.suspect = Some(bytes.to_vec());
                Ok(None)
            }
        }
    }

    fn damaged(&self, what: String) -> JournalError {
        JournalError::Damaged { path: self.path.clone(), good: self.chain.last(), what }
    }
}
