//! Differences as text and as counts per file. External diff programs and text conversions of the repository's configuration are not used.

use super::{Repo, git_fault, shown_path};
use crate::world::Fault;
use git2::{Delta, Diff, DiffFormat, DiffOptions, Patch, Tree};

/// Files larger than this are shown as binary.
const MAX_FILE: i64 = 4 * 1024 * 1024;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path inside the project.
    pub path: String,
    /// `added`, `deleted`, `modified` or `typechange`.
    pub status: &'static str,
    /// Lines added; 0 for binary files.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// A difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffText {
    /// Unified diff, cut at a line.
    pub text: String,
    /// Counts per file, all of them.
    pub files: Vec<FileChange>,
    /// True when the text was cut.
    pub truncated: bool,
}

impl Repo {
    /// The difference of two commits, or of a commit (HEAD unless given) and the work tree with its untracked files. A parent that does not
    /// exist (`HEAD~1` of a first commit) is the empty tree.
    ///
    /// # Errors
    /// A name that stands for no commit, an unreadable repository.
    pub fn diff(&self, from: Option<&str>, to: Option<&str>, wanted: &dyn Fn(&str) -> bool, max_bytes: usize) -> Result<DiffText, Fault> {
        let before = self.tree_of(from.unwrap_or("HEAD"))?;
        let mut options = self.diff_options();
        let diff = match to {
            Some(to) => {
                let after = self.tree_of(to)?;
                self.inner
                    .diff_tree_to_tree(before.as_ref(), after.as_ref(), Some(&mut options))
                    .map_err(|error| git_fault("comparing", &error))?
            }
            None => {
                options.include_untracked(true).recurse_untracked_dirs(true).show_untracked_content(true).ignore_submodules(true);
                self.patiently("comparing", || self.inner.diff_tree_to_workdir_with_index(before.as_ref(), Some(&mut options)))?
            }
        };
        let (bytes, truncated) = self.print(&diff, wanted, max_bytes)?;
        Ok(DiffText { text: lossy(&bytes), files: self.file_changes(&diff, wanted)?, truncated })
    }

    /// The patch of a commit against its first parent (or the empty tree), complete with binary content, as `git apply` takes it.
    ///
    /// # Errors
    /// No such commit, or the patch is larger than `max_bytes`.
    pub fn patch(&self, commit: &str, max_bytes: usize) -> Result<DiffText, Fault> {
        let commit = self.commit_of(commit)?;
        let tree = commit.tree().map_err(|error| git_fault("reading a commit", &error))?;
        let before = Self::first_parent_tree(&commit)?;
        let print = |as_binary: bool| {
            let mut options = self.diff_options();
            options.show_binary(true).id_abbrev(40).force_binary(as_binary);
            let diff = self.inner.diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options));
            self.print(&diff.map_err(|error| git_fault("comparing", &error))?, &|_| true, max_bytes)
        };
        let (bytes, truncated) = print(false)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // Lines in another encoding would not survive as text; binary patches are ASCII.
            Err(_) => lossy(&print(true)?.0),
        };
        Ok(DiffText { text, files: Vec::new(), truncated })
    }

    pub(super) fn changed_between(&self, before: Option<&Tree<'_>>, after: Option<&Tree<'_>>) -> Result<Vec<String>, Fault> {
        let diff = self.inner.diff_tree_to_tree(before, after, None).map_err(|error| git_fault("comparing", &error))?;
        let paths = diff.deltas().filter_map(|delta| delta.new_file().path_bytes().or(delta.old_file().path_bytes()));
        Ok(paths.map(shown_path).filter_map(|path| self.inside(&path).map(str::to_owned)).collect())
    }

    fn diff_options(&self) -> DiffOptions {
        let mut options = DiffOptions::new();
        options.max_size(MAX_FILE).include_typechange(true).disable_pathspec_match(true);
        if !self.prefix.is_empty() {
            options.pathspec(self.prefix.trim_end_matches('/'));
        }
        options
    }

    fn file_changes(&self, diff: &Diff<'_>, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<FileChange>, Fault> {
        let mut files = Vec::new();
        for (position, delta) in diff.deltas().enumerate() {
            let bytes = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default();
            let path = shown_path(bytes);
            let Some(path) = self.inside(&path).filter(|path| wanted(path)) else { continue };
            let patch = Patch::from_diff(diff, position).map_err(|error| git_fault("comparing", &error))?;
            let stats = patch.map(|patch| patch.line_stats()).transpose().map_err(|error| git_fault("comparing", &error))?;
            let (_, added, removed) = stats.unwrap_or_default();
            files.push(FileChange { path: path.to_owned(), status: word(delta.status()), added, removed });
        }
        Ok(files)
    }

    /// The bytes of the wanted part of a patch, whole lines up to a limit, and whether some were left out.
    fn print(&self, diff: &Diff<'_>, wanted: &dyn Fn(&str) -> bool, max_bytes: usize) -> Result<(Vec<u8>, bool), Fault> {
        let (mut bytes, mut truncated) = (Vec::new(), false);
        let printed = diff.print(DiffFormat::Patch, |delta, _, line| {
            let path = shown_path(delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default());
            if !self.inside(&path).is_some_and(wanted) {
                return true;
            }
            truncated |= bytes.len() + line.content().len() + 1 > max_bytes;
            if !truncated {
                if matches!(line.origin(), '+' | '-' | ' ') {
                    bytes.push(u8::try_from(line.origin()).unwrap_or(b' '));
                }
                bytes.extend_from_slice(line.content());
            }
            true
        });
        printed.map_err(|error| git_fault("comparing", &error))?;
        Ok((bytes, truncated))
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn word(status: Delta) -> &'static str {
    match status {
        Delta::Added | Delta::Untracked | Delta::Copied => "added",
        Delta::Deleted => "deleted",
        Delta::Typechange => "typechange",
        _ => "modified",
    }
}
