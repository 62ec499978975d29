//! Before a run writes: what the last run left in the run directory is moved to its own folder, and the engine's folders are kept out of git.

use crate::base::limits::FILE_BYTES;
use crate::model::{Keep, Workflow};
use crate::world::{Fault, Root};

/// Name of the file that holds the id of the last run.
const LAST: &str = "RUN";
/// Most files of one run that are moved.
const MAX_FILES: usize = 100_000;

/// The run directory of a workflow.
pub fn run_dir(workflow: &Workflow) -> String {
    workflow.execution.dir.clone().unwrap_or_else(|| ".rsf".to_owned()).trim_matches('/').to_owned()
}

/// Folders that are never committed: the run directory and the root of the logs.
pub fn untracked(workflow: &Workflow) -> Vec<String> {
    let mut folders = vec![format!("/{}/", run_dir(workflow))];
    if let Some(logs) = &workflow.execution.logs
        && let Some((first, _)) = logs.path.split_once('/')
        && !first.contains("{{")
    {
        folders.push(format!("/{first}/"));
    }
    folders.dedup();
    folders
}

/// Moves what the last run stored with `keep: run` to `{dir}/runs/{its id}/`, and notes the new run's id.
///
/// # Errors
/// The disk refuses.
pub fn put_away(root: &Root, workflow: &Workflow, run_id: &str) -> Result<usize, Fault> {
    let dir = run_dir(workflow);
    let last = format!("{dir}/{LAST}");
    let mut moved = 0;
    if let Some(bytes) = root.read(&last, FILE_BYTES)? {
        let id = String::from_utf8_lossy(&bytes).trim().to_owned();
        if !id.is_empty() && id != run_id && crate::journal::run_folder(std::path::Path::new(&dir), &id).is_ok() {
            moved = move_files(root, workflow, &dir, &id)?;
        }
    }
    root.write_atomic(&last, format!("{run_id}\n").as_bytes())?;
    Ok(moved)
}

fn move_files(root: &Root, workflow: &Workflow, dir: &str, id: &str) -> Result<usize, Fault> {
    let of = |keep: Keep| -> Vec<String> {
        let types = workflow.execution.types.values().filter(|t| t.keep == keep);
        types.flat_map(|t| &t.store).map(|template| glob(template)).collect()
    };
    let kept = root.list(&of(Keep::Project), MAX_FILES, &|_| true)?.files;
    let files = root.list(&of(Keep::Run), MAX_FILES, &|_| true)?.files;
    let prefix = format!("{dir}/");
    let mut moved = 0;
    for file in files.iter().filter(|file| !kept.contains(file)) {
        if let Some(rest) = file.strip_prefix(&prefix).filter(|rest| !rest.starts_with("runs/")) {
            root.rename(file, &format!("{dir}/runs/{id}/{rest}"))?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// A path template as a glob: every block stands for anything within one path component.
fn glob(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(&globset::escape(before));
        out.push('*');
        rest = after.split_once("}}").map_or("", |(_, rest)| rest);
    }
    out.push_str(&globset::escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn blocks_become_stars_and_nothing_else_does() {
        assert_eq!(glob(".x/{{ round }}-t0.json"), ".x/*-t0.json");
        assert_eq!(glob("a[1]/b"), "a[[]1[]]/b");
        assert_eq!(glob("x/{{ open"), "x/*");
    }
}
