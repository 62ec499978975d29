//! What a process that was killed has left: programs it had started, its scratch folder, files that were not whole yet, git's locks.
//! Cleared by the one process that holds the project's lock, before it begins or goes on.

use crate::base::Timestamp;
use crate::base::limits::FILE_BYTES;
use crate::journal::{Entry, Record};
use crate::machine::{EffectId, Input};
use crate::world::{DRAFTS, Fault, Root, end_users_of, git::Repo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// File of the run directory that names the scratch folder of the present (or last) process.
const SCRATCH: &str = "SCRATCH";
/// Every scratch folder's name begins with this.
const PREFIX: &str = "rsf-scratch-";

/// Clears up behind an earlier process; gives what a person may want to know.
pub fn clear(root: &Root, dir: &str, records: &[Record]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(scratch) = named_scratch(root, dir) {
        let ended = end_users_of("RSF_SCRATCH", &scratch);
        if ended > 0 {
            notes.push(format!("{ended} programs that the earlier process had started were still running and were ended"));
        }
        // What cannot be removed lies among the system's temporary files.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    if let Some(since) = interrupted_git(records)
        && let Ok(Some(repo)) = Repo::open(root.path())
    {
        let removed = repo.remove_stale_locks(since);
        notes.extend(removed.into_iter().map(|path| format!("removed `{path}`, which the earlier process left when it was killed")));
    }
    notes
}

/// A scratch folder of this process, noted in the run directory so that whoever comes after a crash finds it.
///
/// # Errors
/// The disk refuses.
pub fn scratch(root: &Root, dir: &str) -> Result<TempDir, Fault> {
    let made = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(|error| Fault::io("making a scratch folder", &error))?;
    let path = made.path().canonicalize().map_err(|error| Fault::io("finding the scratch folder", &error))?;
    root.write_atomic(&format!("{dir}/{SCRATCH}"), format!("{}\n", path.display()).as_bytes())?;
    Ok(made)
}

/// The folder of the project, writing its drafts into the run directory.
///
/// # Errors
/// It cannot be opened.
pub fn open(root: &Path, dir: &str) -> Result<Root, Fault> {
    Ok(Root::open(root)?.with_drafts(format!("{dir}/{DRAFTS}")))
}

/// Only a folder that can be one of ours is ever removed.
fn named_scratch(root: &Root, dir: &str) -> Option<PathBuf> {
    let text = root.read(&format!("{dir}/{SCRATCH}"), FILE_BYTES).ok()??;
    let path = PathBuf::from(String::from_utf8(text).ok()?.trim());
    let temporary = std::env::temp_dir().canonicalize().ok()?;
    let ours = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    (path.parent() == Some(temporary.as_path()) && ours).then_some(path)
}

/// When the earliest git call that has no outcome was asked for.
fn interrupted_git(records: &[Record]) -> Option<Timestamp> {
    let mut open: BTreeMap<&EffectId, Timestamp> = BTreeMap::new();
    for record in records {
        match &record.entry {
            Entry::Request(request) if request.request.pointer("/tool/tool").and_then(|tool| tool.as_str()).is_some_and(is_git) => {
                open.insert(&request.id, record.at);
            }
            Entry::Input(input) => {
                if let Input::Effect { id, .. } = input.as_ref() {
                    open.remove(id);
                }
            }
            _ => {}
        }
    }
    open.into_values().min()
}

fn is_git(tool: &str) -> bool {
    tool.starts_with("git.")
}
