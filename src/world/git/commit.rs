//! Committing chosen paths and nothing else, whatever else is changed or staged.
//!
//! The commit's tree is HEAD's tree with only the chosen paths replaced. Everything is staged before the commit is made, so an
//! interrupted call only has to be made again. Nested repositories are never committed (they would become links to nowhere).

use super::status::Change;
use super::{Repo, git_fault, is_gitlink, object_id, shown_path, standing, system_path};
use crate::world::{Fault, torn_point};
use git2::{AttrCheckFlags, Commit, Index, IndexEntry, RepositoryState};

/// What to commit.
pub struct CommitRequest<'a> {
    /// The message.
    pub message: &'a str,
    /// Which paths of the project may go in.
    pub wanted: &'a dyn Fn(&str) -> bool,
    /// HEAD as recorded when this very call was made before: if nothing is left to commit and HEAD is the child of such a commit with the
    /// same message, the call had succeeded and its commit is the answer.
    pub recorded_heads: &'a [String],
}

/// What was committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The new commit; `None` when there was nothing to commit.
    pub sha: Option<String>,
    /// Paths in it.
    pub files_changed: Vec<String>,
    /// Changed paths of the project that stay uncommitted.
    pub left: Vec<String>,
}

impl Repo {
    /// Commits the wanted changes on the present branch, by the configured identity.
    ///
    /// # Errors
    /// Detached HEAD, no identity, a merge or rebase in progress, a conflict, a locked index.
    pub fn commit(&self, request: &CommitRequest<'_>) -> Result<Committed, Fault> {
        let message = prettified(request.message)?;
        self.may_commit()?;
        let head = self.head_commit()?;
        let (chosen, left) = self.chosen(request.wanted)?;
        let mut done = Committed { left, ..Committed::default() };
        let tree = self.staged_tree(head.as_ref(), &chosen)?;
        if head.as_ref().map_or_else(empty_tree, Commit::tree_id) == tree {
            self.answer_again(&mut done, head.as_ref(), &message, request.recorded_heads)?;
            return Ok(done);
        }
        let tree = self.inner.find_tree(tree).map_err(|error| git_fault("committing", &error))?;
        let author = self.inner.signature().map_err(|_| no_identity())?;
        let parents: Vec<&Commit<'_>> = head.iter().collect();
        let sha = self.patiently("committing", || self.inner.commit(Some("HEAD"), &author, &author, &message, &tree, &parents))?;
        let before = head.as_ref().map(Commit::tree).transpose().map_err(|error| git_fault("committing", &error))?;
        done.files_changed = self.changed_between(before.as_ref(), Some(&tree))?;
        done.sha = Some(sha.to_string());
        Ok(done)
    }

    /// Refuses what would lose commits or mix them with a half-done merge.
    pub(super) fn may_commit(&self) -> Result<(), Fault> {
        if self.inner.signature().is_err() {
            return Err(no_identity());
        }
        if self.inner.head_detached().unwrap_or(false) {
            return Err(Fault::failed("HEAD is at no branch, so the commit would get lost; run `git switch <branch>` first"));
        }
        match self.inner.state() {
            RepositoryState::Clean => Ok(()),
            state => Err(Fault::failed(format!("the repository is in the middle of something ({state:?}); finish or abort it first"))),
        }
    }

    /// Changed paths of the project: those to commit, and the shown names of those that stay.
    fn chosen(&self, wanted: &dyn Fn(&str) -> bool) -> Result<(Vec<Vec<u8>>, Vec<String>), Fault> {
        let (mut chosen, mut left) = (Vec::new(), Vec::new());
        for change in self.changes()? {
            let shown = shown_path(&change.path);
            let Some(inside) = self.inside(&shown) else { continue };
            if change.is_nested() || !wanted(inside) {
                left.push(inside.to_owned());
            } else if change.conflicted {
                return Err(Fault::failed(format!("`{inside}` has an unresolved conflict; resolve it first")));
            } else if let Some(filter) = self.filter_of(&change.path) {
                let help = "programs named by the repository are not run here; commit this file yourself";
                return Err(Fault::failed(format!("`{inside}` goes through the filter `{filter}` (.gitattributes); {help}")));
            } else {
                chosen.push(change.path);
            }
        }
        left.sort_unstable();
        Ok((chosen, left))
    }

    /// The filter program git would put a file through (Git LFS is one): without it the wrong content would be committed.
    fn filter_of(&self, path: &[u8]) -> Option<String> {
        let name = self.inner.get_attr(system_path(path), "filter", AttrCheckFlags::FILE_THEN_INDEX).ok().flatten()?.to_owned();
        let config = self.inner.config().and_then(|mut config| config.snapshot()).ok()?;
        let configured = ["clean", "process"].iter().any(|kind| config.get_bytes(&format!("filter.{name}.{kind}")).is_ok());
        configured.then_some(name)
    }

    /// Stages the chosen paths and gives the tree of HEAD with them.
    fn staged_tree(&self, head: Option<&Commit<'_>>, chosen: &[Vec<u8>]) -> Result<git2::Oid, Fault> {
        let staged = self.patiently("staging", || {
            let mut index = self.inner.index()?;
            index.read(true)?;
            for path in chosen {
                stage(&mut index, &self.top(), path)?;
            }
            if !chosen.is_empty() {
                torn_point("git.locked", b"DIRC", |half| drop(std::fs::write(self.inner.path().join("index.lock"), half)));
                index.write()?;
            }
            Ok(index)
        })?;
        self.tree_with(head, chosen, &staged).map_err(|error| git_fault("building the commit", &error))
    }

    fn tree_with(&self, head: Option<&Commit<'_>>, chosen: &[Vec<u8>], staged: &Index) -> Result<git2::Oid, git2::Error> {
        let mut index = Index::new()?;
        if let Some(head) = head {
            index.read_tree(&head.tree()?)?;
        }
        // All removals first: a file may have become a folder.
        let entries: Vec<(&[u8], Option<IndexEntry>)> =
            chosen.iter().map(|path| (&path[..], staged.get_path(system_path(path), 0))).collect();
        for (path, _) in &entries {
            let _ = index.remove(system_path(path), 0);
        }
        for entry in entries.iter().filter_map(|(_, entry)| entry.as_ref()) {
            if is_gitlink(entry.mode) {
                return Err(git2::Error::from_str(&format!("`{}` is a repository of its own", shown_path(&entry.path))));
            }
            index.add(entry)?;
        }
        index.write_tree_to(&self.inner)
    }

    fn answer_again(&self, done: &mut Committed, head: Option<&Commit<'_>>, message: &str, recorded: &[String]) -> Result<(), Fault> {
        let Some(head) = head else { return Ok(()) };
        let parent = head.parent_ids().next();
        if head.message_bytes() == message.as_bytes() && recorded.iter().any(|sha| object_id(sha) == parent) {
            let tree = head.tree().map_err(|error| git_fault("reading HEAD", &error))?;
            done.files_changed = self.changed_between(Self::first_parent_tree(head)?.as_ref(), Some(&tree))?;
            done.sha = Some(head.id().to_string());
        }
        Ok(())
    }
}

/// Stages one path as it stands in the work tree; a path that is gone is staged as removed.
fn stage(index: &mut Index, top: &std::path::Path, path: &[u8]) -> Result<(), git2::Error> {
    let relative = system_path(path);
    // A pipe in a file's place must not be opened.
    match standing(top, path) {
        Some(found) if found.is_file() || found.is_symlink() => index.add_path(relative),
        _ => index.remove_path(relative),
    }
}

pub(super) fn prettified(message: &str) -> Result<String, Fault> {
    if message.contains('\0') {
        return Err(Fault::invalid("the commit message holds a NUL character"));
    }
    let pretty = git2::message_prettify(message, None).map_err(|error| git_fault("reading the message", &error))?;
    if pretty.trim().is_empty() {
        return Err(Fault::invalid("the commit message is empty"));
    }
    Ok(pretty)
}

fn no_identity() -> Fault {
    Fault::failed("git does not know who commits; run `git config user.name \"…\"` and `git config user.email \"…\"`")
}

/// The id of the tree without entries.
fn empty_tree() -> git2::Oid {
    git2::Oid::hash_object(git2::ObjectType::Tree, b"").unwrap_or(git2::Oid::ZERO_SHA1)
}

/// Used by revert to know which of the affected paths a person has changed.
pub(super) fn paths_of(changes: &[Change]) -> Vec<&[u8]> {
    changes.iter().map(|change| change.path.strip_suffix(b"/").unwrap_or(&change.path)).collect()
}
