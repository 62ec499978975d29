//! Tool `sequence`: numbers that are drawn once in a project's life.
//!
//! The file lies in the run directory and is changed under a lock. The same key gets the same number again, so that a failed attempt's
//! number goes to the next one. A damaged file is an error, never a fresh start: numbers would be given twice.

use super::{Desk, ProjectDesk, arguments, failed, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::ToolError;
use crate::world::Root;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Keys remembered per name; older ones belong to calls that are long over.
const KEYS: usize = 1000;

static WRITER: Mutex<()> = Mutex::new(());

#[derive(Default, Serialize, Deserialize)]
struct Sequence {
    last: u64,
    /// Key and its number, oldest first.
    drawn: Vec<(String, u64)>,
}

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let name = arguments::required(args, "name")?;
    Ok(json!({ "value": desk.next_number(name, &desk.request.key)? }))
}

/// The number of `key` in the sequence `name`.
pub(super) fn next(project: &Root, run_dir: &str, name: &str, key: &str) -> Result<u64, ToolError> {
    let _writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = project.lock(&format!("{run_dir}/sequences.lock"), PATIENCE).map_err(tool_error)?;
    let path = format!("{run_dir}/sequences.json");
    let mut all: BTreeMap<String, Sequence> = match project.read(&path, FILE_BYTES).map_err(tool_error)? {
        None => BTreeMap::new(),
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| failed(format!("`{path}` is damaged ({error}); restore it, or remove it to count from 1 again")))?,
    };
    let sequence = all.entry(name.to_owned()).or_default();
    if let Some((_, number)) = sequence.drawn.iter().find(|(known, _)| known == key) {
        return Ok(*number);
    }
    sequence.last = sequence.last.checked_add(1).ok_or_else(|| failed(format!("the sequence `{name}` is used up")))?;
    let number = sequence.last;
    sequence.drawn.push((key.to_owned(), number));
    let surplus = sequence.drawn.len().saturating_sub(KEYS);
    sequence.drawn.drain(..surplus);
    let text = serde_json::to_vec(&all).map_err(|error| failed(format!("writing `{path}`: {error}")))?;
    project.write_atomic(&path, &text).map_err(tool_error)?;
    Ok(number)
}
