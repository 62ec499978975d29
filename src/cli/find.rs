//! Which document is meant: a file, the name of a built-in workflow, or a trigger word. A project that is worked on never captures a word: a
//! file in it is meant only where a path or an ending says so, or where nothing else bears the name.

use super::load::{Loaded, examine, load};
use crate::bundle::Bundle;
use std::path::{Path, PathBuf};

/// Looks a workflow up. `folder` holds further workflows whose names and triggers may be used.
///
/// # Errors
/// What was looked for and where, with the names that exist.
pub fn find(name: &str, folder: Option<&Path>) -> Result<Loaded, String> {
    let found = look(name, folder)?;
    if found.is_table {
        return Err(format!("`{}` is a decision table: workflows use it, it does not run by itself", name.escape_debug()));
    }
    Ok(found)
}

fn look(name: &str, folder: Option<&Path>) -> Result<Loaded, String> {
    // A bare word is no file where anything else bears the name: a project that is worked on could hold one.
    let path = name.contains('/') || name.contains(std::path::MAIN_SEPARATOR) || name.ends_with(".json");
    if name == "-" || (path && Path::new(name).is_file()) {
        return load(name).map_err(|e| e.to_string());
    }
    let plain = name.trim_end_matches(".json").trim_start_matches("workflows/");
    if let Some(bundle) = Bundle::embedded(plain) {
        return Ok(examine(bundle));
    }
    let mut named = of_folder(folder)?;
    if let Some(path) = named.iter().find(|path| path.file_stem().is_some_and(|stem| stem == plain)) {
        return load(&path.to_string_lossy()).map_err(|e| e.to_string());
    }
    for known in Bundle::embedded_names() {
        let found = Bundle::embedded(&known).map(examine).filter(|loaded| triggered(loaded, name));
        if let Some(loaded) = found {
            return Ok(loaded);
        }
    }
    named.sort();
    for path in named {
        // A file that cannot be read is none of this word's business.
        if let Some(loaded) = load(&path.to_string_lossy()).ok().filter(|loaded| triggered(loaded, name)) {
            return Ok(loaded);
        }
    }
    if Path::new(name).is_file() {
        return load(name).map_err(|e| e.to_string());
    }
    let known = Bundle::embedded_names().join(", ");
    Err(format!(
        "no workflow, file or trigger word `{}`; built in are: {known} (see `rsf init`), more with --workflows DIR",
        name.escape_debug()
    ))
}

fn triggered(loaded: &Loaded, word: &str) -> bool {
    loaded.workflow.execution.triggers.iter().any(|trigger| trigger == word)
}

fn of_folder(folder: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let failed = |error: std::io::Error| format!("--workflows {}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "json") && path.is_file() {
            paths.push(path);
        }
    }
    Ok(paths)
}
