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

    /// Looks whether [`Repo::switch_to`] would succeed, and changes nothing.
    ///
    /// # Errors
    /// As there.
    pub fn may_switch_to(&self, name: &str) -> Result<(), Fault> {
        let what = format!("switching to branch `{}`", name.escape_debug());
        if !git2::Branch::name_is_valid(name).unwrap_or(false) {
            return Err(Fault::invalid(format!("`{}` is no name for a branch", name.escape_debug())));
        }
        let found = match self.inner.find_branch(name, git2::BranchType::Local) {
            Ok(branch) => branch.into_reference().peel(git2::ObjectType::Commit),
            Err(_) => self.inner.head().and_then(|head| head.peel(git2::ObjectType::Commit)),
        };
        let tree = found.map_err(|e| git_fault(&what, &e))?;
        self.inner.checkout_tree(&tree, Some(CheckoutBuilder::new().safe().dry_run())).map_err(|e| git_fault(&what, &e))
    }
}
