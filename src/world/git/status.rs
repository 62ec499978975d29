//! What differs from the last commit, and where HEAD stands. Reads only (the index on disk is not refreshed).

use super::{Repo, git_fault};
use crate::world::{Fault, TEMPORARY_PREFIX};
use git2::{StatusOptions, StatusShow};

/// State of the work tree as seen from the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Commit at HEAD.
    pub head: Option<String>,
    /// Branch at HEAD, an unborn one too; `None` when detached.
    pub branch: Option<String>,
    /// Changed and untracked paths inside the project, sorted; a nested repository ends in `/`.
    pub dirty: Vec<String>,
    /// The branch has no commit yet.
    pub unborn: bool,
    /// HEAD is at no branch.
    pub detached: bool,
    /// A name and an e-mail address are configured.
    pub identity: bool,
}

/// A changed path of the repository.
pub(super) struct Change {
    /// Bytes as git keeps them.
    pub(super) path: Vec<u8>,
    /// Staged or not, it has a conflict.
    pub(super) conflicted: bool,
}

impl Change {
    /// An untracked repository inside this one (or a folder that cannot be looked into).
    pub(super) fn is_nested(&self) -> bool {
        self.path.ends_with(b"/")
    }
}

impl Repo {
    /// The present state; submodules are not looked into.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn status(&self) -> Result<Status, Fault> {
        let head = self.head_commit()?.map(|commit| commit.id().to_string());
        let detached = self.inner.head_detached().map_err(|error| git_fault("reading HEAD", &error))?;
        let changes = self.changes()?.into_iter().map(|change| super::shown_path(&change.path));
        let mut dirty: Vec<String> = changes.filter_map(|path| self.inside(&path).map(str::to_owned)).collect();
        dirty.sort_unstable();
        dirty.dedup();
        let branch = if detached { None } else { self.branch_name() };
        Ok(Status { unborn: head.is_none(), head, branch, dirty, detached, identity: self.inner.signature().is_ok() })
    }

    /// Whether git knows a file of the project.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn is_tracked(&self, path: &str) -> Result<bool, Fault> {
        let index = self.patiently("reading the index", || self.inner.index())?;
        Ok(index.get_path(super::system_path(format!("{}{path}", self.prefix).as_bytes()), 0).is_some())
    }

    fn branch_name(&self) -> Option<String> {
        // Through the symbolic reference: an unborn branch has a name too.
        let head = self.inner.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok().flatten()?;
        Some(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned())
    }

    /// Every changed or untracked path of the work tree that is not ignored.
    pub(super) fn changes(&self) -> Result<Vec<Change>, Fault> {
        let mut options = StatusOptions::new();
        options.show(StatusShow::IndexAndWorkdir).include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
        let statuses = self.patiently("reading the status", || self.inner.statuses(Some(&mut options)))?;
        let changes = statuses.iter().filter(|entry| !is_temporary(entry.path_bytes()));
        Ok(changes.map(|entry| Change { path: entry.path_bytes().to_vec(), conflicted: entry.status().is_conflicted() }).collect())
    }
}

fn is_temporary(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(TEMPORARY_PREFIX.as_bytes()))
}
