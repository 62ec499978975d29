//! The table that governs: one that was named, else the project's own, else the built-in one. A table that cannot be used is a fault, and
//! nothing is said by another in its place.

use crate::base::{FileId, Severity};
use crate::bundle::Bundle;
use crate::governor::Governor;
use crate::model::decode_table;
use crate::rule::{Engine, Limits};
use crate::syntax;
use crate::world::Root;
use std::path::{Path, PathBuf};

/// Path of the table in a project and among the built-in files.
pub const TABLE: &str = "workflows/turn-cadence.json";
const MOST_BYTES: u64 = 1024 * 1024;

/// A compiled table with what it needs.
#[derive(Debug)]
pub struct Rules {
    /// The table.
    pub governor: Governor,
    /// Its texts.
    pub engine: Engine,
    /// Folder from which its paths are written; `None` for the built-in one.
    root: Option<PathBuf>,
}

/// Loads the table for the project at `project`. `named` is one named by the user, from the project's folder.
///
/// # Errors
/// It cannot be read, is no decision table, or is none for a governor.
pub fn load(project: &Path, named: Option<&Path>) -> Result<Rules, String> {
    let own = project.join(TABLE);
    let path = match named {
        Some(path) => Some(project.join(path)),
        None => own.is_file().then_some(own),
    };
    let Some(path) = path else {
        let text = Bundle::embedded_text(TABLE).ok_or_else(|| format!("`{TABLE}` is not among the built-in files"))?;
        return compile(text.as_bytes(), TABLE, None);
    };
    let shown = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| format!("`{shown}` names no file"))?;
    let bytes = Root::open(&folder).and_then(|root| root.read(name, MOST_BYTES)).map_err(|fault| fault.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("there is no file `{shown}`"))?;
    let root = if folder.ends_with("workflows") { folder.parent().map(Path::to_owned) } else { Some(folder) };
    compile(&bytes, &shown, root)
}

fn compile(bytes: &[u8], shown: &str, root: Option<PathBuf>) -> Result<Rules, String> {
    let (tree, problems) = syntax::parse(bytes, FileId(0));
    let decoded = tree.root.as_ref().map(|node| decode_table(node, FileId(0), ""));
    let (table, more) = decoded.ok_or_else(|| format!("`{shown}` is no JSON document"))?;
    if let Some(problem) = problems.iter().chain(&more).find(|problem| problem.severity == Severity::Error) {
        return Err(format!("`{shown}` cannot be used: {}; `rsf validate` shows the place", problem.message));
    }
    let mut engine = Engine::new(Limits::default());
    match Governor::compile(&table, &mut engine) {
        Ok(governor) => Ok(Rules { governor, engine, root }),
        Err(faults) => {
            let first = faults.first().map_or(String::new(), ToString::to_string);
            Err(format!("`{shown}` cannot be used: {first}; `rsf validate` shows the place"))
        }
    }
}

impl Rules {
    /// The text that is placed after everything else a session is told, if the table names one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn constraint(&self) -> Result<Option<String>, String> {
        let Some(path) = &self.governor.options.constraint else { return Ok(None) };
        let missing = || format!("`constraint` names `{path}`, which cannot be read");
        let text = match &self.root {
            None => Bundle::embedded_text(path).map(str::to_owned),
            Some(root) => {
                let bytes = Root::open(root).and_then(|root| root.read(path, MOST_BYTES)).map_err(|fault| fault.to_string())?;
                bytes.and_then(|bytes| String::from_utf8(bytes).ok())
            }
        };
        text.map(|text| Some(text.trim_end().to_owned())).ok_or_else(missing)
    }
}
