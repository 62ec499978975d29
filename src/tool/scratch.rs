//! Scratch folders outside the project: caches per role, temporary files and reports per attempt, checkouts per attempt.
//!
//! The whole folder belongs to one process; what an earlier one left of attempts and checkouts is removed at the start.

use super::tool_error;
use crate::base::digest_bytes;
use crate::model::tool::ToolError;
use crate::world::Fault;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that end with their attempt.
const FLEETING: [&str; 2] = ["attempts", "checkouts"];

/// The scratch folders.
#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Takes the folder over, making it and clearing what is left of earlier attempts.
    pub(super) fn open(root: &Path) -> Result<Self, ToolError> {
        let what = format!("making the scratch folder `{}`", root.display());
        fs::create_dir_all(root).and_then(|()| own(root)).map_err(|error| tool_error(Fault::io(&what, &error)))?;
        let root = root.canonicalize().map_err(|error| tool_error(Fault::io(&what, &error)))?;
        let scratch = Self { root };
        scratch.clear();
        Ok(scratch)
    }

    /// Environment variables that send temporary files, caches and coverage data of a program here. The folders are made.
    ///
    /// Compiled Python files are kept per attempt: they are found by path, time and size, which another checkout at the same path could share.
    pub(super) fn env(&self, role: &str, owner: &str) -> Result<BTreeMap<String, String>, ToolError> {
        let [role, attempt] = self.own(role, owner);
        let (temporary, cache, home) = (attempt.join("tmp"), role.join("cache"), role.join("home"));
        for folder in [&temporary, &cache, &home] {
            let what = format!("making `{}`", folder.display());
            fs::create_dir_all(folder).map_err(|error| tool_error(Fault::io(&what, &error)))?;
        }
        let places = [
            ("TMPDIR", temporary.clone()),
            ("TMP", temporary.clone()),
            ("TEMP", temporary),
            ("XDG_CACHE_HOME", cache.clone()),
            ("PIP_CACHE_DIR", cache.join("pip")),
            ("PYTHONPYCACHEPREFIX", attempt.join("pycache")),
            ("COVERAGE_FILE", attempt.join("coverage")),
            ("RSF_SCRATCH", attempt),
            // A person's home holds keys, and settings that are no business of a role.
            ("HOME", home),
        ];
        Ok(places.into_iter().map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned())).collect())
    }

    /// The folders of a role and of one of its attempts.
    pub(super) fn own(&self, role: &str, owner: &str) -> [PathBuf; 2] {
        [self.root.join("roles").join(safe_name(role)), self.root.join("attempts").join(safe_name(owner))]
    }

    /// The folder of all of them.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where a checkout of an attempt lies.
    pub(super) fn checkout(&self, owner: &str, handle: &str) -> PathBuf {
        self.root.join("checkouts").join(safe_name(owner)).join(handle)
    }

    /// Removes what belongs to an attempt.
    pub(super) fn release(&self, owner: &str) {
        for kind in FLEETING {
            remove_tree(&self.root.join(kind).join(safe_name(owner)));
        }
    }

    fn clear(&self) {
        for kind in FLEETING {
            remove_tree(&self.root.join(kind));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Keeps other users of the machine out.
fn own(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let _ = folder;
    Ok(())
}

/// A file name for any text: readable, different for different texts, and short (sockets below TMPDIR have a limit of 108 bytes).
fn safe_name(text: &str) -> String {
    let readable: String = text.chars().take(16).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let digest = digest_bytes(text.as_bytes());
    format!("{readable}-{}", digest.get(..8).unwrap_or(&digest))
}

/// Removes a folder. What cannot be removed stays for the next start; a program may have taken away its own write permission.
fn remove_tree(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() && folder.exists() {
        unlock(folder, 0);
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(unix)]
fn unlock(folder: &Path, depth: usize) {
    use std::os::unix::fs::PermissionsExt;
    const DEEPEST: usize = 100;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth < DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path(), depth + 1);
        }
    }
}

#[cfg(not(unix))]
fn unlock(_folder: &Path, _depth: usize) {}
