//! Lock files that a process of ours left in the repository when it was killed. A lock that anybody else may hold is never touched.

use super::Repo;
use crate::base::Timestamp;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl Repo {
    /// Removes the locks that a killed git call of ours left: only files that appeared after `since` (when that call was asked for) and no
    /// process has open. Gives their paths. To be called by the one process that works on the project, while no git call is under way.
    #[must_use]
    pub fn remove_stale_locks(&self, since: Timestamp) -> Vec<String> {
        // File systems round the time of a file; some to two seconds.
        let Ok(millis) = u64::try_from(since.0.saturating_sub(2000)) else { return Vec::new() };
        let since = UNIX_EPOCH + Duration::from_millis(millis);
        let stale = |path: &PathBuf| appeared_after(path, since) && !is_open(path) && std::fs::remove_file(path).is_ok();
        self.lock_files().into_iter().filter(stale).map(|path| path.display().to_string()).collect()
    }

    /// The locks that committing, reverting and tagging take.
    fn lock_files(&self) -> Vec<PathBuf> {
        let folder = self.inner.path();
        let mut files = vec![folder.join("index.lock"), folder.join("HEAD.lock"), folder.join("packed-refs.lock")];
        if let Ok(head) = self.inner.find_reference("HEAD")
            && let Ok(Some(branch)) = head.symbolic_target()
        {
            files.push(self.inner.commondir().join(format!("{branch}.lock")));
        }
        tag_locks(&self.inner.commondir().join("refs/tags"), 0, &mut files);
        files
    }
}

fn tag_locks(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    const DEEPEST: usize = 8;
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth < DEEPEST {
            tag_locks(&path, depth + 1, into);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            into.push(path);
        }
    }
}

fn appeared_after(path: &Path, since: SystemTime) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.modified().is_ok_and(|at| at >= since))
}

/// True when a process has the file open, as far as this system can tell.
#[cfg(target_os = "linux")]
fn is_open(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return true };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())));
    let mut handles = numbered.flat_map(|process| std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten());
    handles.any(|handle| std::fs::read_link(handle.path()).is_ok_and(|target| target == path))
}

/// Where nobody can tell, the lock stays and its message says what to do.
#[cfg(not(target_os = "linux"))]
fn is_open(_path: &Path) -> bool {
    true
}
