//! Works on a branch of its own: makes it from the present commit where it does not exist. Never throws changes away.

use super::{Repo, git_fault};
use crate::world::Fault;
use git2::build::CheckoutBuilder;

impl Repo {
    /// Makes `name` the current branch.
    ///
    /// # Errors
    /// An invalid name, no commit to begin from, or changes that the other branch would overwrite.
    pub fn switch_to(&self, name: &str) -> Result<(), Fault> {
        let what = format!("switching to branch `{}`", name.escape_debug());
        self.may_switch_to(name)?;
        let branch = match self.inner.find_branch(name, git2::BranchType::Local) {
            Ok(branch) => branch,
            Err(_) => {
                let head = self.inner.head().and_then(|head| head.peel_to_commit()).map_err(|e| git_fault(&what, &e))?;
                self.inner.branch(name, &head, false).map_err(|e| git_fault(&what, &e))?
            }
        };
        let reference = branch.into_reference();
        let tree = reference.peel(git2::ObjectType::Commit).map_err(|e| git_fault(&what, &e))?;
        self.inner.checkout_tree(&tree, Some(CheckoutBuilder::new().safe())).map_err(|e| git_fault(&what, &e))?;
        self.inner.set_head(&format!("refs/heads/{name}")).map_err(|e| git_fault(&what, &e))
    }

    /// Makes a new branch at a commit; the current one stays.
    ///
    /// # Errors
    /// An invalid name, a branch of that name, no such commit.
    pub fn branch_at(&self, name: &str, commit: &str) -> Result<(), Fault> {
        let what = format!("making the branch `{}`", name.escape_debug());
        let commit = self.commit_of(commit)?;
        self.inner.branch(name, &commit, false).map(|_| ()).map_err(|e| git_fault(&what, &e))
    }

    /// Looks whether [`Repo::switch_to`] would succeed, and changes nothing.
    ///
    /// # Errors
    /// As there.
    pub fn may_switch_to(&self, name: &str) -> Result<(), Fault> {
        let what = format!("switching to branch `{}`", name.escape_debug());
        if !git2::Branch::name_is_valid(name).unwrap_or(false) {
            return Err(Fault::invalid(format!("`{}` is no name for a branch", name.escape_debug())));
        }
        let head = self.inner.head().and_then(|head| head.peel_to_tree()).map_err(|e| git_fault(&what, &e))?;
        // A branch that is made now is made from the present commit and changes no file.
        let Ok(branch) = self.inner.find_branch(name, git2::BranchType::Local) else { return Ok(()) };
        let target = branch.into_reference().peel_to_tree().map_err(|e| git_fault(&what, &e))?;
        let diff = self.inner.diff_tree_to_tree(Some(&head), Some(&target), None).map_err(|e| git_fault(&what, &e))?;
        let dirty = self.status()?.dirty;
        let in_the_way = |path: &str| dirty.iter().any(|d| d == path || (d.ends_with('/') && path.starts_with(d.as_str())));
        let files = diff.deltas().flat_map(|delta| [delta.old_file().path(), delta.new_file().path()]).flatten();
        match files.map(|path| path.to_string_lossy()).find(|path| in_the_way(path)) {
            Some(path) => {
                let path = path.escape_debug();
                Err(Fault::failed(format!("{what} would overwrite the uncommitted changes of `{path}`: commit or stash them first")))
            }
            None => Ok(()),
        }
    }
}
