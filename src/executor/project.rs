//! The real rooms behind the executor's doors: the tool registry, the providers, and the engine's own files in the project.

use super::{BoxFuture, ModelRunner, Stores, ToolRunner};
use crate::agent::{Failure, ModelReply, ModelRequest};
use crate::machine::{LogRequest, StoreRequest};
use crate::model::tool::{ToolError, ToolErrorKind, ToolRequest};
use crate::provider::Providers;
use crate::tool::Registry;
use crate::world::{Cancel, Fault, FaultKind, Root};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

impl ToolRunner for Registry {
    fn call(&self, request: ToolRequest, cancel: Cancel) -> BoxFuture<Result<Value, ToolError>> {
        let registry = self.clone();
        Box::pin(async move { Registry::call(&registry, request, cancel).await })
    }

    fn release(&self, owner: &str) {
        Registry::release(self, owner);
    }
}

/// Models behind the configured providers.
pub struct Models(pub Arc<Providers>);

impl ModelRunner for Models {
    fn exchange(&self, request: ModelRequest, cancel: Cancel) -> BoxFuture<Result<ModelReply, Failure>> {
        let providers = Arc::clone(&self.0);
        Box::pin(async move { providers.exchange(&request, async move { cancel.cancelled().await }).await })
    }
}

/// The engine's own files: stored documents and logs, confined to the project.
pub struct ProjectFiles {
    root: Root,
    /// Appends of one record to two files must not interleave with another's.
    logging: Mutex<()>,
}

impl ProjectFiles {
    /// Files below `root`.
    #[must_use]
    pub fn new(root: Root) -> Self {
        Self { root, logging: Mutex::default() }
    }
}

impl Stores for ProjectFiles {
    fn store(&self, request: &StoreRequest) -> Result<Vec<String>, ToolError> {
        for path in &request.paths {
            self.root.write_atomic(path, request.text.as_bytes()).map_err(|fault| refused(&fault))?;
        }
        Ok(request.paths.clone())
    }

    fn log(&self, request: &LogRequest, again: bool) -> Result<(), ToolError> {
        let _one_at_a_time = self.logging.lock().unwrap_or_else(PoisonError::into_inner);
        let record = format!("{}\n", Value::Object(request.record.clone()));
        self.root.append(&request.path, record.as_bytes(), again).map_err(|fault| refused(&fault))?;
        if request.text.is_empty() {
            return Ok(());
        }
        let beside = request.path.strip_suffix(".jsonl").unwrap_or(&request.path);
        // A record is one line, whatever a message holds.
        let line = format!("{}\n", request.text.replace(['\n', '\r'], " "));
        self.root.append(&format!("{beside}.log"), line.as_bytes(), again).map_err(|fault| refused(&fault))
    }
}

fn refused(fault: &Fault) -> ToolError {
    let kind = match fault.kind {
        FaultKind::DiskFull => ToolErrorKind::DiskFull,
        FaultKind::Denied | FaultKind::Invalid => ToolErrorKind::Denied,
        _ => ToolErrorKind::Failed,
    };
    ToolError { kind, message: fault.message.clone() }
}
