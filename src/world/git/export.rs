//! The files of a commit in a folder of their own, outside the repository and unknown to it: nothing has to be pruned afterwards.

use super::{COMMIT, Repo, git_fault, object_id};
use crate::world::{Fault, FaultKind};
use git2::build::CheckoutBuilder;
use std::path::Path;

impl Repo {
    /// Writes the tree of a commit (full id) into `target`, which must be an empty or missing folder. Neither HEAD, the index nor the
    /// work tree is touched. The project's part of the tree lies at [`Repo::export_subfolder`] below it.
    ///
    /// # Errors
    /// No such commit, a folder that is not empty, disk full.
    pub fn export(&self, sha: &str, target: &Path) -> Result<(), Fault> {
        let missing = || Fault::new(FaultKind::Missing, format!("there is no commit `{}`", sha.escape_debug()));
        let id = object_id(sha).ok_or_else(missing)?;
        let object = self.inner.find_object(id, COMMIT).map_err(|_| missing())?;
        let what = format!("checking out {sha}");
        std::fs::create_dir_all(target).map_err(|error| Fault::io(&what, &error))?;
        if std::fs::read_dir(target).map_err(|error| Fault::io(&what, &error))?.next().is_some() {
            return Err(Fault::failed(format!("{what}: the folder `{}` is not empty", target.display())));
        }
        let mut options = CheckoutBuilder::new();
        options.force().recreate_missing(true).update_index(false).refresh(false).target_dir(target);
        self.inner.checkout_tree(&object, Some(&mut options)).map_err(|error| git_fault(&what, &error))
    }

    /// Where the project lies inside an export; empty when it is the whole work tree.
    #[must_use]
    pub fn export_subfolder(&self) -> &str {
        self.prefix.trim_end_matches('/')
    }
}
