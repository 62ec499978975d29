//! `rdf.index`: writes what a project's Python sources define into `rdf/ast/`. A file whose index did not change is not written.

use super::Desk;
use super::given::{failed, globs, optional_text};
use crate::knowledge::{Index, IndexSource, index, recorded, rescue};
use crate::model::tool::{ToolError, ToolErrorKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SOURCES: &str = "rdf/ast/index.ttl";
const CONTEXT: &str = "rdf/ast/runtime-ctx.ttl";
const EXAMPLES: &str = "rdf/ast/examples.ttl";
/// Most files that are indexed.
const FILES: usize = 5000;
/// Most bytes of them together.
const BYTES: usize = 64 * 1024 * 1024;
/// Notes handed back.
const NOTES: usize = 50;
const HEADER: &str = "# Made by rdf.index from the sources; what is changed here is lost at the next run of it.\n";

/// Runs the tool.
///
/// # Errors
/// Globs that do not parse, too many files, an index that may not be written.
pub fn run(desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let project = optional_text(args, "project")?.unwrap_or("project");
    let given = globs(args, "paths")?;
    let all = given.is_none();
    let globs = given.unwrap_or_else(|| vec!["src/**/*.py".to_owned(), "tests/**/*.py".to_owned(), "**/*.py".to_owned()]);
    let mut notes = Vec::new();
    let sources = sources(desk, &globs, all, &mut notes)?;
    let files: Vec<IndexSource<'_>> = sources.iter().map(|(path, bytes)| IndexSource { path, bytes }).collect();
    let index = index(project, &files);
    let before = earlier(desk, project)?;
    let (changed, removed) = compare(&before, &index.digests);
    let written = write(desk, &index)?;
    notes.extend(index.notes);
    if notes.len() > NOTES {
        let more = notes.len() - NOTES;
        notes.truncate(NOTES);
        notes.push(format!("and {more} more notes"));
    }
    let unchanged = files.len() - changed.len();
    Ok(json!({
        "files": files.len(), "symbols": index.symbols, "written": written,
        "changed": changed, "removed": removed, "unchanged": unchanged, "notes": notes,
    }))
}

fn sources(desk: &dyn Desk, globs: &[String], all: bool, notes: &mut Vec<String>) -> Result<BTreeMap<String, Vec<u8>>, ToolError> {
    let mut sources = BTreeMap::new();
    let mut total = 0;
    for path in desk.files(globs)? {
        if !path.ends_with(".py") || (all && foreign(&path)) {
            continue;
        }
        if sources.len() >= FILES {
            return Err(failed(format!("more than {FILES} sources: narrow `paths`")));
        }
        match desk.read(&path) {
            Ok(Some(bytes)) => {
                total += bytes.len();
                if total > BYTES {
                    return Err(failed(format!("the sources hold more than {BYTES} bytes: narrow `paths`")));
                }
                sources.insert(path, bytes);
            }
            Ok(None) => {}
            Err(fault) if fault.kind == ToolErrorKind::Failed => {
                notes.push(format!("{} is left out: {}", path.escape_debug(), fault.message))
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(sources)
}

/// Folders of other people's code, which nobody means by "the project's sources".
fn foreign(path: &str) -> bool {
    path.split('/').any(|part| {
        matches!(part, "venv" | "env" | "site-packages" | "node_modules" | "__pycache__" | "__pypackages__" | "build" | "dist")
            || (part.starts_with('.') && part.len() > 1)
    })
}

fn earlier(desk: &dyn Desk, project: &str) -> Result<BTreeMap<String, String>, ToolError> {
    let bytes = desk.read(SOURCES)?.unwrap_or_default();
    let (graph, _) = rescue(SOURCES, &bytes);
    Ok(recorded(project, &graph))
}

fn compare(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let changed = now.iter().filter(|(path, digest)| before.get(*path) != Some(digest)).map(|(path, _)| path.clone()).collect();
    let removed = before.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
    (changed, removed)
}

fn write(desk: &dyn Desk, index: &Index) -> Result<Vec<&'static str>, ToolError> {
    let mut written = Vec::new();
    for (path, text) in [(SOURCES, &index.sources), (CONTEXT, &index.context), (EXAMPLES, &index.examples)] {
        let bytes = format!("{HEADER}{text}").into_bytes();
        if desk.read(path)?.as_deref() != Some(bytes.as_slice()) {
            desk.write(path, &bytes)?;
            written.push(path);
        }
    }
    Ok(written)
}
