//! Undoing a commit by a new one.
//!
//! The result is computed beside the work tree; the work tree is touched only when it is clean where it matters, so a conflict or a
//! refusal leaves everything exactly as it was. Files are written before the commit is made: an interrupted call finds them already as
//! they should be and goes on.

use super::commit::{paths_of, prettified};
use super::{Repo, git_fault, shown_path, standing, system_path};
use crate::world::Fault;
use git2::build::CheckoutBuilder;
use git2::{Commit, Index, Oid, Tree};

/// How a revert ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reverted {
    /// The new commit; `None` on a conflict, or when the commit's changes are undone already.
    pub sha: Option<String>,
    /// Later commits changed the same lines; nothing was done.
    pub conflict: bool,
    /// Paths changed by the new commit, or in conflict.
    pub files: Vec<String>,
}

impl Repo {
    /// Reverts a commit on the present branch. `allowed` says which paths may change.
    ///
    /// # Errors
    /// A merge commit, a path that is not allowed, uncommitted changes in the way, and what [`Repo::commit`] refuses.
    pub fn revert(&self, name: &str, message: Option<&str>, allowed: &dyn Fn(&str) -> Result<(), Fault>) -> Result<Reverted, Fault> {
        self.may_commit()?;
        let commit = self.commit_of(name)?;
        let head = self.head_commit()?.ok_or_else(|| Fault::failed("there is no commit to revert on this branch"))?;
        if commit.parent_count() > 1 {
            let help = "revert the commits it brought in, one by one";
            return Err(Fault::invalid(format!("`{name}` is a merge of {} commits; {help}", commit.parent_count())));
        }
        let trace = format!("This reverts commit {}.", commit.id());
        let head_tree = head.tree().map_err(|error| git_fault("reading HEAD", &error))?;
        if shown_path(head.message_bytes()).contains(&trace) {
            let files = self.changed_between(Self::first_parent_tree(&head)?.as_ref(), Some(&head_tree))?;
            return Ok(Reverted { sha: Some(head.id().to_string()), conflict: false, files });
        }
        let mut index = self.inner.revert_commit(&commit, &head, 0, None).map_err(|error| git_fault("reverting", &error))?;
        if index.has_conflicts() {
            return Ok(Reverted { sha: None, conflict: true, files: self.conflicts(&index)? });
        }
        let tree =
            index.write_tree_to(&self.inner).and_then(|id| self.inner.find_tree(id)).map_err(|error| git_fault("reverting", &error))?;
        if tree.id() == head_tree.id() {
            return Ok(Reverted::default());
        }
        let message = prettified(&full_message(&commit, message, &trace))?;
        self.apply(&head, &head_tree, &tree, &message, allowed)
    }

    fn apply(
        &self,
        head: &Commit<'_>,
        before: &Tree<'_>,
        after: &Tree<'_>,
        message: &str,
        allowed: &dyn Fn(&str) -> Result<(), Fault>,
    ) -> Result<Reverted, Fault> {
        let diff = self.inner.diff_tree_to_tree(Some(before), Some(after), None).map_err(|error| git_fault("reverting", &error))?;
        let paths: Vec<Vec<u8>> =
            diff.deltas().filter_map(|delta| delta.new_file().path_bytes().or(delta.old_file().path_bytes()).map(<[u8]>::to_vec)).collect();
        for path in &paths {
            let shown = shown_path(path);
            let Some(inside) = self.inside(&shown) else {
                return Err(Fault::denied(format!("the commit changes `{shown}`, which lies outside the project")));
            };
            allowed(inside)?;
        }
        self.nothing_in_the_way(&paths, after)?;
        self.check_out(after, &paths)?;
        let author = self.inner.signature().map_err(|error| git_fault("reverting", &error))?;
        let sha = self.patiently("reverting", || self.inner.commit(Some("HEAD"), &author, &author, message, after, &[head]))?;
        Ok(Reverted { sha: Some(sha.to_string()), conflict: false, files: self.changed_between(Some(before), Some(after))? })
    }

    /// Refuses when an affected path, a file where one of its folders must be, or anything below it is not as HEAD has it (unless it is
    /// already as it should become).
    fn nothing_in_the_way(&self, paths: &[Vec<u8>], after: &Tree<'_>) -> Result<(), Fault> {
        let changes = self.changes()?;
        let changed = paths_of(&changes);
        let mut blocked: Vec<String> = Vec::new();
        for path in paths {
            let related = changed.iter().any(|other| touches(path, other)) || self.ignored_in_the_way(path);
            if related && !self.is_already(path, after) {
                blocked.push(shown_path(path));
            }
        }
        if blocked.is_empty() {
            return Ok(());
        }
        Err(Fault::failed(format!("reverting would overwrite uncommitted changes in {}; commit or stash them first", blocked.join(", "))))
    }

    /// A file that HEAD does not have, is ignored, and stands where the revert writes.
    fn ignored_in_the_way(&self, path: &[u8]) -> bool {
        let tracked = self
            .head_commit()
            .ok()
            .flatten()
            .and_then(|head| head.tree().ok())
            .is_some_and(|tree| tree.get_path(system_path(path)).is_ok());
        !tracked && standing(&self.top(), path).is_some()
    }

    fn is_already(&self, path: &[u8], after: &Tree<'_>) -> bool {
        let found = standing(&self.top(), path);
        match after.get_path(system_path(path)) {
            Err(_) => found.is_none(),
            Ok(entry) => {
                found.is_some_and(|found| found.is_file()) && self.hash_of(&self.top().join(system_path(path))) == Some(entry.id())
            }
        }
    }

    fn hash_of(&self, full: &std::path::Path) -> Option<Oid> {
        // Through the repository, so that line-end conversion is the one git would do.
        self.inner.blob_path(full).ok()
    }

    fn check_out(&self, tree: &Tree<'_>, paths: &[Vec<u8>]) -> Result<(), Fault> {
        self.patiently("writing the reverted files", || {
            let mut options = CheckoutBuilder::new();
            options.force().disable_pathspec_match(true);
            for path in paths {
                options.path(path.as_slice());
            }
            self.inner.checkout_tree(tree.as_object(), Some(&mut options))
        })
    }

    fn conflicts(&self, index: &Index) -> Result<Vec<String>, Fault> {
        let conflicts = index.conflicts().map_err(|error| git_fault("reverting", &error))?;
        let mut files: Vec<String> = conflicts
            .flatten()
            .filter_map(|conflict| conflict.our.or(conflict.their).or(conflict.ancestor))
            .map(|entry| shown_path(&entry.path))
            .map(|path| self.inside(&path).unwrap_or(&path).to_owned())
            .collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }
}

/// Same path, or one is a folder of the other.
fn touches(a: &[u8], b: &[u8]) -> bool {
    let below = |inner: &[u8], outer: &[u8]| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(b"/"));
    a == b || below(a, b) || below(b, a)
}

fn full_message(commit: &Commit<'_>, message: Option<&str>, trace: &str) -> String {
    let subject = message.map_or_else(|| format!("Revert \"{}\"", shown_path(commit.summary_bytes().unwrap_or_default())), str::to_owned);
    format!("{subject}\n\n{trace}")
}
