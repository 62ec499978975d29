//! Keeping the engine's own folders out of git through `info/exclude`, which belongs to this clone alone. `.gitignore` is the user's and
//! is never edited.

use super::Repo;
use crate::world::Fault;
use std::fs;

const HEADING: &str = "# kept out by rsf";

impl Repo {
    /// Makes sure that each pattern stands in the exclude file. Patterns are anchored at the project (`.rsf/` becomes `/sub/.rsf/`).
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn ensure_excluded(&self, patterns: &[&str]) -> Result<(), Fault> {
        let path = self.inner.commondir().join("info").join("exclude");
        let what = format!("writing `{}`", path.display());
        let old = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Fault::io(&what, &error)),
        };
        let has = |line: &str| old.split(|byte| *byte == b'\n').any(|known| known.trim_ascii() == line.as_bytes());
        let wanted: Vec<String> = patterns.iter().map(|pattern| format!("/{}{}", self.prefix, pattern.trim_start_matches('/'))).collect();
        let missing: Vec<&String> = wanted.iter().filter(|line| !has(line)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut text = old.clone();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        for line in std::iter::once(HEADING).filter(|line| !has(line)).chain(missing.iter().map(|line| line.as_str())) {
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        let write = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            // Where the link leads, if it is one: the rename must not replace it.
            let place = path.canonicalize().unwrap_or_else(|_| path.clone());
            let temporary = place.with_file_name(format!("exclude.rsf-{}", std::process::id()));
            fs::write(&temporary, &text)?;
            fs::rename(&temporary, &place)
        };
        write().map_err(|error: std::io::Error| Fault::io(&what, &error))
    }
}
