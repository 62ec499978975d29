//! Tools that read the repository: `git.status`, `git.diff`, `git.show`, `git.log`, `git.patch`. The permission for them is `git: read`
//! alone: who may read the history may read what it holds.

use super::read::is_binary;
use super::{ProjectDesk, arguments, failed, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::ToolError;
use crate::world::git::{CommitInfo, FileChange, Repo};
use crate::world::{RelPath, compile_globs};
use serde_json::{Value, json};

const LOG_DEFAULT: usize = 20;
const LOG_MOST: usize = 1000;
/// A patch must be whole to be applied, so its limit is a file's.
const PATCH_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn status(desk: &ProjectDesk<'_>) -> Result<Value, ToolError> {
    let status = repo(desk)?.status().map_err(tool_error)?;
    let dirty: Vec<String> = status.dirty.into_iter().filter(|path| !desk.is_engines(path)).collect();
    Ok(json!({
        "head": status.head, "branch": status.branch, "dirty": dirty, "unborn": status.unborn, "detached": status.detached
    }))
}

pub(super) fn diff(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let chosen = path_filter(arguments::texts(args, "paths"))?;
    let wanted = |path: &str| chosen(path) && !desk.is_engines(path);
    let (from, to) = (arguments::text(args, "from"), arguments::text(args, "to"));
    let diff = repo(desk)?.diff(from, to, &wanted, desk.output_bytes).map_err(tool_error)?;
    let files: Vec<Value> = diff.files.iter().map(file_json).collect();
    Ok(json!({ "text": diff.text, "files": files, "truncated": diff.truncated }))
}

pub(super) fn show(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let repo = repo(desk)?;
    let name = arguments::text(args, "commit").unwrap_or("HEAD");
    let commit = repo.commit_info(name).map_err(tool_error)?;
    let text = match arguments::text(args, "path") {
        None => {
            let patch = repo.patch(&commit.sha, desk.output_bytes).map_err(tool_error)?;
            if patch.truncated { format!("{}\n[… cut; use git.diff with paths …]\n", patch.text) } else { patch.text }
        }
        Some(path) => {
            let real = RelPath::parse(path).map_err(tool_error)?;
            let bytes = repo.file_at(&commit.sha, real.as_str(), FILE_BYTES).map_err(tool_error)?;
            let bytes = bytes.ok_or_else(|| failed(format!("the commit {} has no file `{path}`", commit.sha)))?;
            if is_binary(&bytes) {
                return Err(failed(format!("`{path}` is a binary file of {} bytes", bytes.len())));
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    Ok(json!({ "commit": commit.sha, "message": commit.message, "author": commit.author, "time": commit.time, "text": text }))
}

pub(super) fn log(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let max = arguments::count(args, "max", LOG_DEFAULT, LOG_MOST);
    let found = repo(desk)?.log(arguments::text(args, "from"), arguments::text(args, "contains"), max).map_err(tool_error)?;
    Ok(json!({ "commits": found.iter().map(commit_json).collect::<Vec<_>>() }))
}

pub(super) fn patch(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let commit = arguments::required(args, "commit")?;
    let patch = repo(desk)?.patch(commit, PATCH_BYTES).map_err(tool_error)?;
    if patch.truncated {
        return Err(failed(format!("the patch of `{commit}` is larger than {PATCH_BYTES} bytes")));
    }
    Ok(json!({ "text": patch.text }))
}

pub(super) fn repo(desk: &ProjectDesk<'_>) -> Result<Repo, ToolError> {
    Repo::require(desk.project.path()).map_err(tool_error)
}

/// Paths as people give them: a file, a folder, or a glob; everything when none are given.
pub(super) fn path_filter(paths: Option<Vec<String>>) -> Result<impl Fn(&str) -> bool, ToolError> {
    let set = compile_globs(paths.as_deref().unwrap_or_default(), false).map_err(tool_error)?;
    let below = |path: &str, folder: &str| {
        let folder = folder.trim_end_matches('/').trim_start_matches("./");
        folder == "." || folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    Ok(move |path: &str| paths.as_ref().is_none_or(|paths| set.is_match(path) || paths.iter().any(|folder| below(path, folder))))
}

fn file_json(file: &FileChange) -> Value {
    json!({ "path": file.path, "status": file.status, "added": file.added, "removed": file.removed })
}

fn commit_json(commit: &CommitInfo) -> Value {
    json!({
        "sha": commit.sha, "parents": commit.parents, "message": commit.message, "author": commit.author, "time": commit.time
    })
}
