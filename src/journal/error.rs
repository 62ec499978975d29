//! What can go wrong with a journal: each with its place and a way out.

use crate::machine::EffectId;
use std::io;
use std::path::PathBuf;

/// A fault of the journal. The messages are lower-case sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// Verb.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No space left; everything committed before is intact.
    #[error("no space left on the device for the journal {}; free some space, then resume the run", path.display())]
    DiskFull {
        /// Where.
        path: PathBuf,
    },
    /// A run of this name exists already.
    #[error("there is a journal already at {}; resume that run or start one under another id", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// There is no journal.
    #[error("there is no journal at {}", path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// The name of a run would leave its folder.
    #[error("`{run}` cannot name a run: use letters, digits, `-`, `_` and `.`")]
    RunName {
        /// The name.
        run: String,
    },
    /// A line that is not the last one is broken or missing, or a blob is.
    #[error(
        "the journal {} is damaged behind record {}: {what}; nothing behind it can be trusted",
        path.display(), good.map_or("none".to_owned(), |n| n.to_string())
    )]
    Damaged {
        /// Where.
        path: PathBuf,
        /// Last record that is whole.
        good: Option<u64>,
        /// What was found.
        what: String,
    },
    /// The journal was written by a newer program.
    #[error("the journal {} has {what}, which this program does not know (written by version {program}); use that version or a newer one", path.display())]
    Unknown {
        /// Where.
        path: PathBuf,
        /// What is unknown.
        what: String,
        /// The program that wrote it.
        program: String,
    },
    /// A value cannot be put into words.
    #[error("a record of kind `{kind}` cannot be written: {message}")]
    Unwritable {
        /// Kind of the record.
        kind: &'static str,
        /// Why.
        message: String,
    },
    /// An earlier commit failed; what was appended since then is not in the file.
    #[error("the journal {} takes no more records since a write failed; resume the run", path.display())]
    Closed {
        /// Where.
        path: PathBuf,
    },
    /// A request that is made again differs from the recorded one.
    #[error("the request {} is no longer the recorded one: {what}; the document, its files or the program changed since the run began", id.0)]
    RequestChanged {
        /// Which effect.
        id: EffectId,
        /// What differs.
        what: String,
    },
    /// Another process works on this project.
    #[error("another run holds this project: {holder}; wait for its end or stop it ({} is its lock)", path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who, as far as the lock file tells.
        holder: String,
    },
}

impl JournalError {
    /// Wraps an error of the operating system; a full disk is its own kind.
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Self::DiskFull { path }
        } else {
            Self::Io { what, path, source }
        }
    }
}
