//! Listing a folder by globs: sorted, bounded, links never followed, `.git` never entered.
//!
//! What git ignores is left out below a wildcard; a folder or file that a glob names literally (`coverage/**`, `.env.example`) is listed
//! whether ignored or not, as people expect of search tools.

use super::paths::{TEMPORARY_PREFIX, is_git_component};
use super::{Fault, Kind, Root};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use std::collections::BTreeSet;
use std::path::Path;

/// Entries looked at before a walk gives up.
const MAX_VISITED: usize = 200_000;
/// Most globs of one list, and the longest one in bytes: compiled patterns cost memory.
const MAX_GLOBS: usize = 1000;
const MAX_GLOB_BYTES: usize = 1024;
/// Deepest folder.
const MAX_DEPTH: usize = 128;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Paths, sorted by code point.
    pub files: Vec<String>,
    /// True when a bound cut the list.
    pub truncated: bool,
}

/// Compiles globs whose `*` and `?` stop at `/`; `**` does not.
///
/// # Errors
/// A glob that does not parse, too many, or too long.
pub fn compile_globs(globs: &[String], ignore_case: bool) -> Result<GlobSet, Fault> {
    if globs.len() > MAX_GLOBS {
        return Err(Fault::invalid(format!("{} globs are too many; the limit is {MAX_GLOBS}", globs.len())));
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if glob.len() > MAX_GLOB_BYTES {
            return Err(Fault::invalid(format!("a glob of {} bytes is too long; the limit is {MAX_GLOB_BYTES}", glob.len())));
        }
        let text = glob.strip_prefix("./").unwrap_or(glob);
        let built = GlobBuilder::new(text).literal_separator(true).case_insensitive(ignore_case).build();
        set.add(built.map_err(|error| Fault::invalid(format!("the glob `{glob}` does not parse: {}", error.kind())))?);
    }
    set.build().map_err(|error| Fault::invalid(format!("the globs cannot be compiled: {error}")))
}

impl Root {
    /// The regular files that match any of `globs` and that `keep` accepts, at most `max`.
    ///
    /// # Errors
    /// A glob that does not parse, or one whose literal beginning leaves the folder.
    pub fn list(&self, globs: &[String], max: usize, keep: &dyn Fn(&str) -> bool) -> Result<Listing, Fault> {
        let set = compile_globs(globs, false)?;
        let mut found = BTreeSet::new();
        let mut budget = MAX_VISITED;
        for start in starts(globs) {
            if self.resolve(&start)?.as_str() != start {
                continue; // Behind a link: links are not followed.
            }
            match self.kind(&start)? {
                Some(Kind::Folder) => self.walk(&start, &set, keep, &mut budget, &mut found),
                Some(Kind::File) if set.is_match(&start) && keep(&start) => {
                    found.insert(start);
                }
                _ => {}
            }
        }
        let truncated = budget == 0 || found.len() > max;
        Ok(Listing { files: found.into_iter().take(max).collect(), truncated })
    }

    fn walk(&self, start: &str, set: &GlobSet, keep: &dyn Fn(&str) -> bool, budget: &mut usize, found: &mut BTreeSet<String>) {
        let mut walk = WalkBuilder::new(self.path().join(start));
        walk.hidden(false).ignore(false).git_global(false).follow_links(false).max_depth(Some(MAX_DEPTH));
        walk.sort_by_file_name(std::ffi::OsStr::cmp).filter_entry(is_wanted);
        // An unreadable folder hides its files as a missing one would; the rest is still listed.
        for entry in walk.build().flatten() {
            if *budget == 0 {
                return;
            }
            *budget -= 1;
            let Some(path) = entry.path().strip_prefix(self.path()).ok().and_then(slashed) else { continue };
            if entry.file_type().is_some_and(|kind| kind.is_file()) && set.is_match(&path) && keep(&path) {
                found.insert(path);
            }
        }
    }
}

fn is_wanted(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0 || !(is_git_component(&name) || name.starts_with(TEMPORARY_PREFIX))
}

/// `None` for names that are not UTF-8: no argument could name them.
fn slashed(path: &Path) -> Option<String> {
    path.to_str().map(|text| text.replace(std::path::MAIN_SEPARATOR, "/"))
}

/// The literal folders (or files) the globs begin with. One below another is kept: the outer walk leaves out what git ignores.
fn starts(globs: &[String]) -> BTreeSet<String> {
    globs.iter().map(|glob| literal_start(glob)).collect()
}

fn literal_start(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let literal = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!']));
    literal.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
