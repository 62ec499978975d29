//! What a call leaves behind before it changes something, so that the same call made again after a crash finds that it had succeeded.
//!
//! The newest traces only: a call is repeated directly after the crash that interrupted it or not at all.

use super::{failed, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::base::{digest_bytes, digest_json};
use crate::model::tool::{ToolError, ToolRequest};
use crate::world::Root;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

const KEPT: usize = 64;

/// One writer at a time within this process; a project has one process.
static WRITER: Mutex<()> = Mutex::new(());

/// The traces of a project.
pub(super) struct Traces<'a> {
    project: &'a Root,
    path: String,
}

impl<'a> Traces<'a> {
    pub(super) fn new(project: &'a Root, run_dir: &str) -> Self {
        Self { project, path: format!("{run_dir}/traces.json") }
    }

    /// What the call of that key recorded.
    pub(super) fn find(&self, key: &str) -> Result<Option<Value>, ToolError> {
        Ok(self.load()?.into_iter().find(|entry| entry["key"] == key).map(|mut entry| entry["trace"].take()))
    }

    /// The answer of this very call, when it was interrupted after it had made the file what it is `now`.
    pub(super) fn done_before(&self, request: &ToolRequest, now: &[u8]) -> Result<Option<Value>, ToolError> {
        let Some(trace) = self.find(&request.key)? else { return Ok(None) };
        let same = trace["args"] == json!(digest_json(&request.args)) && trace["after"] == json!(digest_bytes(now));
        Ok(same.then(|| trace["answer"].clone()))
    }

    /// Says beforehand what a file will be and what the call will answer.
    pub(super) fn promise(&self, request: &ToolRequest, after: &[u8], answer: &Value) -> Result<(), ToolError> {
        self.record(&request.key, json!({ "args": digest_json(&request.args), "after": digest_bytes(after), "answer": answer }))
    }

    /// Records a trace in place of an earlier one of the same key.
    pub(super) fn record(&self, key: &str, trace: Value) -> Result<(), ToolError> {
        let _writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = self.load()?;
        entries.retain(|entry| entry["key"] != key);
        entries.push(json!({ "key": key, "trace": trace }));
        let surplus = entries.len().saturating_sub(KEPT);
        entries.drain(..surplus);
        self.project.write_atomic(&self.path, Value::from(entries).to_string().as_bytes()).map_err(tool_error)
    }

    fn load(&self) -> Result<Vec<Value>, ToolError> {
        let Some(bytes) = self.project.read(&self.path, FILE_BYTES).map_err(tool_error)? else { return Ok(Vec::new()) };
        serde_json::from_slice(&bytes).map_err(|_| failed(format!("`{}` is damaged; remove it and go on", self.path)))
    }
}
