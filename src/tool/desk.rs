//! What a tool that works on files is given: the files it may see, already behind the gate.

use crate::model::tool::{ToolError, ToolRequest};

/// A project (or a checkout of it) as one call may see it. Paths are relative, with `/`; every method checks the call's grants and refuses
/// paths that leave the project (`..`, absolute, through a symlink, into `.git`) with `ToolErrorKind::Denied`.
pub trait Desk {
    /// The call being served.
    fn request(&self) -> &ToolRequest;

    /// The bytes of a file, `None` where there is none. Regular files up to [`crate::base::limits::FILE_BYTES`] only.
    ///
    /// # Errors
    /// Denied, too large, unreadable.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ToolError>;

    /// Writes a file atomically (temporary file, fsync, rename), making its folders.
    ///
    /// # Errors
    /// Denied, disk full, unwritable.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ToolError>;

    /// The answer of this very call, when an interrupted try has made the file what it is `now`.
    ///
    /// # Errors
    /// The engine's own notes cannot be read.
    fn done_before(&self, _now: &[u8]) -> Result<Option<serde_json::Value>, ToolError> {
        Ok(None)
    }

    /// Says beforehand what a file will be and what the call will answer, for [`Desk::done_before`].
    ///
    /// # Errors
    /// Disk full, unwritable.
    fn promise(&self, _after: &[u8], _answer: &serde_json::Value) -> Result<(), ToolError> {
        Ok(())
    }

    /// Paths of the readable regular files matching any of `globs`, sorted; links are not followed, `.git` is never entered.
    ///
    /// # Errors
    /// A glob that does not parse, an unreadable folder.
    fn files(&self, globs: &[String]) -> Result<Vec<String>, ToolError>;

    /// Draws the next number of a name kept by the engine outside the project's tracked files, under a lock; the same `key` gets the same number again.
    ///
    /// # Errors
    /// Disk full, unwritable.
    fn next_number(&self, name: &str, key: &str) -> Result<u64, ToolError>;
}
