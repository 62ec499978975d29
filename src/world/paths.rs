//! Relative paths as tools write them: `/` only, no way up, no way into `.git`, the same rules on every system.
//!
//! Only text is looked at here; links are the business of [`super::Root`].

use super::Fault;

/// Name of the folder of files that are not whole yet, in the run directory.
pub const DRAFTS: &str = "drafts";
/// Files the engine writes on the way to an atomic rename begin with this; they are never listed and never committed.
pub const TEMPORARY_PREFIX: &str = ".rsf-tmp-";

/// Longest path, in bytes.
const MAX_BYTES: usize = 4096;
/// Most components of a path.
const MAX_COMPONENTS: usize = 128;

/// A relative path that stays inside the folder it is used in, as far as text can tell. The folder itself is the empty text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelPath(String);

impl RelPath {
    /// Reads a path, dropping `.` and doubled slashes.
    ///
    /// # Errors
    /// Denied: `..`, absolute, drive letters, backslashes, NUL, a `.git` component; invalid: too long.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let shown = text.escape_debug();
        if text.len() > MAX_BYTES {
            return Err(Fault::invalid(format!("the path is {} bytes long; the limit is {MAX_BYTES}", text.len())));
        }
        if text.contains('\0') {
            return Err(Fault::denied(format!("the path `{shown}` holds a NUL character")));
        }
        if text.contains('\\') {
            return Err(Fault::denied(format!("the path `{shown}` holds a backslash; write `/` between folders")));
        }
        if text.starts_with('/') || has_drive(text) {
            return Err(Fault::denied(format!("the path `{shown}` is absolute; write it relative to the project")));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.len() > MAX_COMPONENTS {
            return Err(Fault::invalid(format!("the path has {} components; the limit is {MAX_COMPONENTS}", parts.len())));
        }
        if parts.contains(&"..") {
            return Err(Fault::denied(format!("the path `{shown}` holds `..`; paths stay inside the project")));
        }
        if parts.iter().any(|part| is_git_component(part)) {
            return Err(Fault::denied(format!("the path `{shown}` enters `.git`, which no tool touches")));
        }
        Ok(Self(parts.join("/")))
    }

    /// The normalised text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the folder itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Folder and last component.
    #[must_use]
    pub fn split_last(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// True for every spelling that some file system takes for `.git`: any case, trailing dots and blanks, a stream suffix, the short name
/// `GIT~1`, and code points that are ignored in names.
#[must_use]
pub fn is_git_component(part: &str) -> bool {
    let visible: String = part.chars().filter(|c| !is_ignorable(*c)).collect();
    let name = visible.split(':').next().unwrap_or("").trim_end_matches(['.', ' ']).to_lowercase();
    name == ".git" || name == "git~1"
}

/// Code points HFS+ leaves out when it compares names (the list git itself uses).
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_out_are_refused_and_plain_names_are_not() {
        for bad in [
            "../x",
            "/etc/x",
            "a/../../x",
            "a/..",
            "C:\\x",
            "c:/x",
            "\\\\srv\\x",
            "a\0b",
            "a/.git/config",
            ".GIT/config",
            ".git",
            "x/.git. ",
            "GIT~1/hooks",
            ".g\u{200d}it/x",
            ".git::$INDEX_ALLOCATION/x",
        ] {
            assert!(RelPath::parse(bad).is_err(), "{bad:?} must be refused");
        }
        for (good, normal) in
            [("a/b", "a/b"), ("./a//b/", "a/b"), (".", ""), (".gitignore", ".gitignore"), ("a..b/...", "a..b/..."), (" x\t", " x\t")]
        {
            assert_eq!(RelPath::parse(good).map(|path| path.0), Ok(normal.to_owned()));
        }
    }
}
