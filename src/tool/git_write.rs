//! Tools that change the repository: `git.commit`, `git.revert`, `git.tag`. Each looks for its own trace first: HEAD as recorded before
//! the commit, the sentence "This reverts commit …", the tag's name.

use super::git_read::{path_filter, repo};
use super::traces::Traces;
use super::{ProjectDesk, arguments, tool_error};
use crate::model::tool::ToolError;
use crate::world::git::CommitRequest;
use crate::world::{Fault, RelPath};
use serde_json::{Value, json};

pub(super) fn commit(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let message = arguments::required(args, "message")?;
    let chosen = path_filter(arguments::texts(args, "paths"))?;
    let wanted = |path: &str| chosen(path) && RelPath::parse(path).is_ok_and(|path| desk.gate.may_write(&path).is_ok());
    let repo = repo(desk)?;
    let traces = Traces::new(desk.project, desk.run_dir);
    let recorded_heads = recorded(&traces, &desk.request.key, repo.status().map_err(tool_error)?.head)?;
    let request = CommitRequest { message, wanted: &wanted, recorded_heads: &recorded_heads };
    let done = repo.commit(&request).map_err(tool_error)?;
    let left: Vec<String> = done.left.into_iter().filter(|path| !desk.is_engines(path)).collect();
    Ok(json!({ "sha": done.sha, "files_changed": done.files_changed, "left": left }))
}

/// The heads at which this very call was made before; the present one is recorded with them. An unborn branch is the empty text.
fn recorded(traces: &Traces<'_>, key: &str, head: Option<String>) -> Result<Vec<String>, ToolError> {
    const KEPT: usize = 4;
    let before = traces.find(key)?.and_then(|trace| serde_json::from_value::<Vec<String>>(trace["heads"].clone()).ok()).unwrap_or_default();
    let mut heads = before.clone();
    heads.retain(|known| Some(known) != head.as_ref());
    heads.push(head.unwrap_or_default());
    let surplus = heads.len().saturating_sub(KEPT);
    traces.record(key, json!({ "heads": heads.split_off(surplus) }))?;
    Ok(before)
}

pub(super) fn revert(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let commit = arguments::required(args, "commit")?;
    let allowed = |path: &str| {
        let path = RelPath::parse(path)?;
        desk.gate.unprotected(&path).map_err(|error| Fault::denied(error.message))
    };
    let done = repo(desk)?.revert(commit, arguments::text(args, "message"), &allowed).map_err(tool_error)?;
    Ok(json!({ "sha": done.sha, "conflict": done.conflict, "files": done.files }))
}

pub(super) fn tag(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let name = arguments::required(args, "name")?;
    let (repo, traces) = (repo(desk)?, Traces::new(desk.project, desk.run_dir));
    let there = repo.resolve(&format!("refs/tags/{name}")).is_ok();
    let made_before = there && traces.find(&desk.request.key)?.is_some_and(|trace| trace["tag"] == name);
    if !there {
        traces.record(&desk.request.key, json!({ "tag": name }))?;
    }
    let done = repo.tag(name, arguments::text(args, "commit"), arguments::text(args, "message")).map_err(tool_error)?;
    Ok(json!({ "name": done.name, "commit": done.commit, "existed": done.existed && !made_before }))
}
