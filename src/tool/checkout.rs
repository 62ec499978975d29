//! Tool `git.checkout`, and finding the checkout a later call names.
//!
//! A handle says which commit it holds, so a checkout that ended with a crashed process is made again when the resumed cell uses its
//! recorded handle. Checkouts belong to an attempt: another attempt that uses the same handle gets a folder of its own.

use super::registry::Inner;
use super::{Gate, arguments, denied, error, tool_error};
use crate::base::digest_bytes;
use crate::model::tool::{ToolError, ToolErrorKind, ToolRequest};
use crate::world::Root;
use crate::world::git::Repo;
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};

/// Makes a checkout for the attempt that asks.
pub(super) fn run(inner: &Inner, request: &ToolRequest) -> Result<Value, ToolError> {
    let name = arguments::required(&request.args, "commit")?;
    let sha = Repo::require(inner.project.path()).and_then(|repo| repo.resolve(name)).map_err(tool_error)?;
    let digest = digest_bytes(request.key.as_bytes());
    let handle = format!("checkout-{sha}-{}", digest.get(..8).unwrap_or_default());
    make(inner, &request.owner, &handle, &sha)?;
    Ok(json!({ "handle": handle, "commit": sha }))
}

/// The folder a handle names.
pub(super) fn find(inner: &Inner, request: &ToolRequest, gate: &Gate, handle: &str) -> Result<Arc<Root>, ToolError> {
    let key = (request.owner.clone(), handle.to_owned());
    let known = inner.checkouts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if let Some(root) = known {
        return Ok(root);
    }
    let Some(sha) = commit_in(handle) else {
        let message = format!("there is no checkout `{}`; pass the handle that git.checkout gave", handle.escape_debug());
        return Err(error(ToolErrorKind::Arguments, message));
    };
    if !gate.reads_git() {
        return Err(denied("this role may not check out commits (git: read)"));
    }
    let _git = inner.git.lock().unwrap_or_else(PoisonError::into_inner);
    make(inner, &request.owner, handle, sha)
}

/// The commit a handle holds; handles become file names, so nothing but their exact form passes.
fn commit_in(handle: &str) -> Option<&str> {
    let (sha, call) = handle.strip_prefix("checkout-")?.split_once('-')?;
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (sha.len() == 40 && call.len() == 8 && hex(sha) && hex(call)).then_some(sha)
}

/// The caller holds the git lock.
fn make(inner: &Inner, owner: &str, handle: &str, sha: &str) -> Result<Arc<Root>, ToolError> {
    let key = (owner.to_owned(), handle.to_owned());
    let known = inner.checkouts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if let Some(root) = known {
        return Ok(root);
    }
    let folder = inner.scratch.checkout(owner, handle);
    let repo = Repo::require(inner.project.path()).map_err(tool_error)?;
    repo.export(sha, &folder).map_err(tool_error)?;
    let project = folder.join(repo.export_subfolder());
    // A commit from before the project's folder existed.
    std::fs::create_dir_all(&project).map_err(|fault| tool_error(crate::world::Fault::io("making the checkout's folder", &fault)))?;
    let root = Arc::new(Root::open(&project).map_err(tool_error)?);
    inner.checkouts.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&root));
    Ok(root)
}
