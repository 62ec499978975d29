//! The state of sessions below a project: `.claude/hooks/state/turn-{id}.txt` holds the count as a bare decimal, so that shell scripts can
//! read it; `.seen` beside it the count at the last stop. Everything is changed under one lock, by replacing whole files.
//!
//! Removes nothing but files of these names. A broken count is set aside and rebuilt from the last stop, never taken for 0 in silence.

use crate::world::{Lock, Root};
use std::path::Path;
use std::time::{Duration, SystemTime};

const FOLDER: &str = ".claude/hooks/state";
const LOCK: &str = "turn.lock";
const PATIENCE: Duration = Duration::from_secs(5);
/// A count is a short file; what is longer is none.
const COUNT_BYTES: u64 = 64;
/// Digits of a count: what has more was not counted.
const DIGITS: usize = 18;
/// Entries looked at when old files are removed.
const MOST_ENTRIES: usize = 20_000;
const ENDINGS: [&str; 3] = [".txt", ".seen", ".broken"];
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The state folder of a project.
pub(super) struct State {
    root: Root,
}

/// A session's state while nobody else can change it.
pub(super) struct Held<'a> {
    root: &'a Root,
    count: String,
    seen: String,
    broken: String,
    _lock: Lock,
}

impl State {
    /// Opens the folder; with `make`, makes it. `None` where there is none.
    pub(super) fn open(project: &Path, make: bool) -> Result<Option<Self>, String> {
        let folder = project.join(FOLDER);
        if !folder.is_dir() {
            if !make {
                return Ok(None);
            }
            std::fs::create_dir_all(&folder).map_err(|error| format!("`{}` cannot be made: {error}", folder.display()))?;
        }
        Root::open(&folder).map(|root| Some(Self { root })).map_err(|fault| fault.to_string())
    }

    /// Takes the lock for the session `key`.
    pub(super) fn hold(&self, key: &str) -> Result<Held<'_>, String> {
        let lock = self.root.lock(LOCK, PATIENCE).map_err(|fault| fault.to_string())?;
        let name = |ending: &str| format!("turn-{key}{ending}");
        Ok(Held { root: &self.root, count: name(".txt"), seen: name(".seen"), broken: name(".broken"), _lock: lock })
    }

    /// Removes the files of a session and of its subagents.
    pub(super) fn remove(&self, session: &str) -> Result<(), String> {
        let prefix = format!("turn-{session}.");
        self.remove_where(|name, _| name.starts_with(&prefix))
    }

    /// Removes the files of sessions that nothing was heard of for `days`.
    pub(super) fn remove_old(&self, days: u64) -> Result<(), String> {
        let age = DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
        let Some(before) = SystemTime::now().checked_sub(age) else { return Ok(()) };
        self.remove_where(|_, changed| changed.is_some_and(|changed| changed < before))
    }

    fn remove_where(&self, chosen: impl Fn(&str, Option<SystemTime>) -> bool) -> Result<(), String> {
        let _lock = self.root.lock(LOCK, PATIENCE).map_err(|fault| fault.to_string())?;
        let entries = std::fs::read_dir(self.root.path()).map_err(|error| format!("the state folder cannot be read: {error}"))?;
        for entry in entries.take(MOST_ENTRIES).flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let ours = name.starts_with("turn-") && ENDINGS.iter().any(|ending| name.ends_with(ending));
            let Some(meta) = entry.metadata().ok().filter(|meta| ours && meta.is_file()) else { continue };
            if chosen(&name, meta.modified().ok()) {
                self.root.remove(&name).map_err(|fault| fault.to_string())?;
            }
        }
        Ok(())
    }
}

impl Held<'_> {
    /// The count, and a note where it had to be rebuilt.
    pub(super) fn count(&self) -> Result<(u64, Option<String>), String> {
        let broken = match self.root.read(&self.count, COUNT_BYTES) {
            Ok(None) => return Ok((self.seen(), None)),
            Ok(Some(bytes)) => match decimal(&bytes) {
                Some(count) => return Ok((count, None)),
                None => "is no number",
            },
            Err(fault) if fault.kind == crate::world::FaultKind::TooLarge => "is too long for a number",
            Err(fault) => return Err(fault.to_string()),
        };
        self.root.rename(&self.count, &self.broken).map_err(|fault| fault.to_string())?;
        let count = self.seen();
        Ok((count, Some(format!("`{}` {broken}; it lies in `{}` now and counting goes on from {count}", self.count, self.broken))))
    }

    /// The count at the last stop; 0 where none is known.
    pub(super) fn seen(&self) -> u64 {
        // A note of the last stop that cannot be read costs at most one message that was given before.
        self.root.read(&self.seen, COUNT_BYTES).ok().flatten().and_then(|bytes| decimal(&bytes)).unwrap_or(0)
    }

    pub(super) fn set_count(&self, count: u64) -> Result<(), String> {
        self.root.replace(&self.count, count.to_string().as_bytes()).map_err(|fault| fault.to_string())
    }

    pub(super) fn set_seen(&self, count: u64) -> Result<(), String> {
        self.root.replace(&self.seen, count.to_string().as_bytes()).map_err(|fault| fault.to_string())
    }
}

/// A bare decimal; white space around it (a newline, a carriage return) is no part of it.
fn decimal(bytes: &[u8]) -> Option<u64> {
    let text = bytes.trim_ascii();
    let plain = !text.is_empty() && text.len() <= DIGITS && text.iter().all(u8::is_ascii_digit);
    plain.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn a_count_is_a_plain_decimal() {
        for (text, count) in [("7", 7), ("7\r\n", 7), (" 08 ", 8), ("0", 0), ("999999999999999999", 999_999_999_999_999_999)] {
            assert_eq!(decimal(text.as_bytes()), Some(count), "{text:?}");
        }
        for text in ["", " ", "-1", "+1", "1.0", "0x10", "7 8", "seven", "\u{feff}7", "٧", "1000000000000000000"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text:?}");
        }
    }
}
