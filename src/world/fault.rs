//! What went wrong at a door, as a value: a kind that callers act on and a sentence for people.
//!
//! No fault is ever turned into a success here, and none carries a type of a library.

use std::io;

/// What kind of fault; callers map it to their own errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The path or the request is not allowed (leaves the folder, enters `.git`, is no regular file).
    Denied,
    /// The request itself makes no sense (a malformed path, glob or name).
    Invalid,
    /// There is no such thing.
    Missing,
    /// More than the limit.
    TooLarge,
    /// No space left, or the quota is used up.
    DiskFull,
    /// Cancelled from outside.
    Cancelled,
    /// Anything else.
    Failed,
}

/// A fault with a lower-case sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// For people.
    pub message: String,
}

impl Fault {
    /// A fault of `kind`.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// [`FaultKind::Denied`].
    #[must_use]
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, message)
    }

    /// [`FaultKind::Failed`].
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Failed, message)
    }

    /// [`FaultKind::Invalid`].
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Invalid, message)
    }

    /// What the operating system said (file permissions are no refusal of ours) while doing `what` (for instance "writing `a/b`").
    #[must_use]
    pub fn io(what: &str, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FaultKind::DiskFull,
            io::ErrorKind::NotFound => FaultKind::Missing,
            io::ErrorKind::FileTooLarge => FaultKind::TooLarge,
            _ => FaultKind::Failed,
        };
        let help = if kind == FaultKind::DiskFull { "; free some space and run again" } else { "" };
        Self::new(kind, format!("{what}: {}{help}", lower_first(&error.to_string())))
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = Fault::io("writing `a`", &io::Error::from(io::ErrorKind::StorageFull));
        assert!(full.kind == FaultKind::DiskFull && full.message.starts_with("writing `a`: "));
        assert_eq!(Fault::io("x", &io::Error::from(io::ErrorKind::PermissionDenied)).kind, FaultKind::Failed);
    }
}
