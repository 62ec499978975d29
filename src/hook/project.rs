//! Which folder is the project: the one that the agent's environment or the payload names. Looks, and makes nothing.

use super::agent::Agent;
use super::payload::Payload;
use std::ffi::OsString;
use std::path::PathBuf;

/// The project's folder, and what is worth a note about it.
pub(super) fn folder(
    agent: Agent,
    payload: &Payload,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(PathBuf, Option<String>), String> {
    let named = agent.project_variables().iter().filter_map(|name| variable(name)).map(PathBuf::from);
    let given = [payload.first("workspace_roots"), payload.text("cwd")].into_iter().flatten().map(PathBuf::from);
    let mut missing = None;
    for path in named.chain(given).filter(|path| path.is_absolute()) {
        if path.is_dir() {
            return Ok((path, None));
        }
        missing.get_or_insert(path);
    }
    let here = std::env::current_dir().map_err(|error| format!("there is no project folder: {error}"))?;
    let note = missing.map(|path| format!("there is no folder `{}`; the state is kept in the current one", path.display()));
    Ok((here, note))
}
