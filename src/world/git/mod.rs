//! The project's repository, through libgit2.
//!
//! Architecture invariants: no program named by the repository is ever run (libgit2 starts no hooks, no filter drivers, no external diff,
//! no file system monitor, no signing program: commits made here are unsigned and pass no hook, see [`Repo::unused_settings`]); what a
//! person has not committed is never overwritten; `index.lock` of somebody else is waited for shortly and never deleted.
//!
//! Paths going in and out are relative to the project's folder, which may lie below the repository's top.

mod branch;
mod commit;
mod diff;
mod exclude;
mod export;
mod history;
mod revert;
mod stale;
mod status;
mod tag;

pub use commit::{CommitRequest, Committed};
pub use diff::{DiffText, FileChange};
pub use history::CommitInfo;
pub use revert::Reverted;
pub use status::Status;
pub use tag::Tagged;

use super::{Fault, FaultKind, crash_point};
use git2::{Commit, ErrorCode, ObjectType, Oid, Repository, Tree};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a locked index is tried again, and how long is waited in between.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// An open repository as seen from the project's folder.
pub struct Repo {
    inner: Repository,
    /// The project's folder relative to the work tree, ending in `/` unless empty.
    prefix: String,
}

impl Repo {
    /// Opens the repository the folder belongs to; `None` when it belongs to none.
    ///
    /// # Errors
    /// A bare or foreign-owned repository, or one whose work tree lies elsewhere.
    pub fn open(project: &Path) -> Result<Option<Self>, Fault> {
        let project = project.canonicalize().map_err(|error| Fault::io("opening the project", &error))?;
        let inner = match Repository::discover(&project) {
            Ok(found) => found,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(git_fault("opening the repository", &error)),
        };
        let Some(top) = inner.workdir().and_then(|top| top.canonicalize().ok()) else {
            return Err(Fault::failed("the repository is bare; open a clone with a work tree"));
        };
        let inside = project.strip_prefix(&top).map_err(|_| {
            Fault::denied(format!("the repository's work tree is `{}`, which does not hold the project (core.worktree)", top.display()))
        })?;
        let inside = inside.to_str().ok_or_else(|| Fault::failed("the project's path is not UTF-8"))?.replace('\\', "/");
        let prefix = if inside.is_empty() { inside } else { format!("{inside}/") };
        Ok(Some(Self { inner, prefix }))
    }

    /// Opens the repository or says that there is none.
    ///
    /// # Errors
    /// As [`Repo::open`], and when the project is in no repository.
    pub fn require(project: &Path) -> Result<Self, Fault> {
        Self::open(project)?.ok_or_else(|| Fault::failed("the project is in no git repository; run `git init` and commit once"))
    }

    /// The commit a name (sha, branch, tag, `HEAD~1` …) stands for.
    ///
    /// # Errors
    /// No such commit.
    pub fn resolve(&self, name: &str) -> Result<String, Fault> {
        self.commit_of(name).map(|commit| commit.id().to_string())
    }

    /// Names of settings a person may expect to work but that do nothing here: `commit.gpgsign` and installed hooks.
    #[must_use]
    pub fn unused_settings(&self) -> Vec<String> {
        let mut found = Vec::new();
        let config = self.inner.config().and_then(|mut config| config.snapshot());
        if config.as_ref().is_ok_and(|config| config.get_bool("commit.gpgsign").unwrap_or(false)) {
            found.push("commit.gpgsign".to_owned());
        }
        let custom = config.ok().and_then(|config| config.get_path("core.hooksPath").ok());
        let hooks = custom.map_or_else(|| self.inner.commondir().join("hooks"), |path| self.top().join(path));
        for name in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"] {
            if hooks.join(name).is_file() {
                found.push(format!("hook {name}"));
            }
        }
        found
    }

    fn commit_of(&self, name: &str) -> Result<Commit<'_>, Fault> {
        let invalid = || Fault::new(FaultKind::Missing, format!("there is no commit `{}`", name.escape_debug()));
        // Ranges, searches through messages and reflogs have no place in an argument that means one commit.
        if name.is_empty() || name.starts_with('-') || name.contains(['\0', ':']) || name.contains("..") || name.contains("@{") {
            return Err(invalid());
        }
        let object = self.inner.revparse_single(name).map_err(|_| invalid())?;
        object.peel_to_commit().map_err(|_| invalid())
    }

    /// The commit at HEAD; `None` on an unborn branch.
    fn head_commit(&self) -> Result<Option<Commit<'_>>, Fault> {
        match self.inner.head() {
            Ok(head) => head.peel_to_commit().map(Some).map_err(|error| git_fault("reading HEAD", &error)),
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
            Err(error) => Err(git_fault("reading HEAD", &error)),
        }
    }

    /// The tree a name stands for; `None` (the empty tree) for the parent of a first commit and for HEAD of an unborn branch.
    fn tree_of(&self, name: &str) -> Result<Option<Tree<'_>>, Fault> {
        match self.commit_of(name) {
            Ok(commit) => commit.tree().map(Some).map_err(|error| git_fault("reading a tree", &error)),
            Err(fault) => {
                let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '~' | '^'));
                let unborn = base == "HEAD" && self.head_commit()?.is_none();
                let before_first = base.len() < name.len() && !base.is_empty() && self.commit_of(base).is_ok();
                if unborn || before_first { Ok(None) } else { Err(fault) }
            }
        }
    }

    fn first_parent_tree<'a>(commit: &Commit<'a>) -> Result<Option<Tree<'a>>, Fault> {
        if commit.parent_count() == 0 {
            return Ok(None);
        }
        let tree = commit.parent(0).and_then(|parent| parent.tree());
        tree.map(Some).map_err(|error| git_fault("reading the parent of a commit", &error))
    }

    /// Top of the work tree. [`Repo::open`] has made sure that there is one.
    fn top(&self) -> PathBuf {
        self.inner.workdir().map(Path::to_path_buf).unwrap_or_default()
    }

    /// Runs `work` again while the index is locked by another program, up to two seconds.
    fn patiently<T>(&self, what: &str, work: impl FnMut() -> Result<T, git2::Error>) -> Result<T, Fault> {
        crash_point("git.before");
        let done = self.trying(what, work);
        crash_point("git.after");
        done
    }

    fn trying<T>(&self, what: &str, mut work: impl FnMut() -> Result<T, git2::Error>) -> Result<T, Fault> {
        for _ in 0..LOCK_TRIES {
            match work() {
                Err(error) if error.code() == ErrorCode::Locked => std::thread::sleep(LOCK_PAUSE),
                other => return other.map_err(|error| git_fault(what, &error)),
            }
        }
        work().map_err(|error| match error.code() {
            ErrorCode::Locked => {
                let lock = self.inner.path().join("index.lock");
                let help = "wait until the other git program has ended; if none is running, remove its lock file yourself";
                Fault::failed(format!("{what}: {} (`{}`); {help}", error.message(), lock.display()))
            }
            _ => git_fault(what, &error),
        })
    }

    /// A path of the repository as the project sees it; `None` outside the project.
    fn inside<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.prefix.as_str())
    }
}

fn git_fault(what: &str, error: &git2::Error) -> Fault {
    let text = error.message();
    if error.code() == ErrorCode::Owner {
        let help = "it belongs to another user; if you trust it, run `git config --global --add safe.directory <path>`";
        return Fault::failed(format!("{what}: {help}"));
    }
    if text.contains("No space left") || text.contains("quota exceeded") {
        return Fault::new(FaultKind::DiskFull, format!("{what}: {text}; free some space and run again"));
    }
    Fault::failed(format!("{what}: {text}"))
}

fn is_gitlink(mode: u32) -> bool {
    mode == u32::from(git2::FileMode::Commit)
}

fn object_id(text: &str) -> Option<Oid> {
    Oid::from_str(text).ok()
}

/// Bytes of a path in the repository as a path of this system.
#[cfg(unix)]
fn system_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn system_path(bytes: &[u8]) -> &Path {
    Path::new(std::str::from_utf8(bytes).unwrap_or(""))
}

/// What stands at a path of the work tree; nothing behind a link that took the place of a folder.
fn standing(top: &Path, path: &[u8]) -> Option<Metadata> {
    let relative = system_path(path);
    let folders = relative.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    for folder in folders {
        if !top.join(folder).symlink_metadata().ok()?.is_dir() {
            return None;
        }
    }
    // The link itself, so that one that points nowhere counts as there.
    top.join(relative).symlink_metadata().ok()
}

fn shown_path(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const COMMIT: Option<ObjectType> = Some(ObjectType::Commit);
