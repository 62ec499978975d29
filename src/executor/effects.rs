//! The executor of real runs: hands each request to the room that can serve it. Never retries and never judges an answer.

use super::{BoxFuture, EffectKind, Executor, Task};
use crate::agent::{Failure, ModelReply, ModelRequest};
use crate::machine::{LogRequest, Outcome, Request, StoreRequest};
use crate::model::tool::{ToolError, ToolRequest};
use crate::world::Cancel;
use serde_json::Value;
use std::sync::Arc;

/// Calls tools.
pub trait ToolRunner: Send + Sync {
    /// Makes one call behind the permission gate.
    fn call(&self, request: ToolRequest, cancel: Cancel) -> BoxFuture<Result<Value, ToolError>>;
    /// Lets go of the checkouts and scratch files of an owner. May block.
    fn release(&self, owner: &str);
}

/// Talks to models.
pub trait ModelRunner: Send + Sync {
    /// Makes one exchange.
    fn exchange(&self, request: ModelRequest, cancel: Cancel) -> BoxFuture<Result<ModelReply, Failure>>;
}

/// Writes the engine's own files. May block.
pub trait Stores: Send + Sync {
    /// Writes documents, each atomically; gives the paths written.
    ///
    /// # Errors
    /// The disk refuses, or a path leaves the project.
    fn store(&self, request: &StoreRequest) -> Result<Vec<String>, ToolError>;
    /// Appends a log record.
    ///
    /// # Errors
    /// As [`Stores::store`].
    fn log(&self, request: &LogRequest) -> Result<(), ToolError>;
}

/// The executor made of these three.
#[derive(Clone)]
pub struct Effects {
    /// Tools.
    pub tools: Arc<dyn ToolRunner>,
    /// Models.
    pub models: Arc<dyn ModelRunner>,
    /// Documents and logs.
    pub files: Arc<dyn Stores>,
}

impl Executor for Effects {
    fn perform(&self, task: Task) -> BoxFuture<Outcome> {
        let Task { request, rerun, cancel, .. } = task;
        let kind = EffectKind::of(&request);
        match *request {
            Request::Model(request) => {
                let models = Arc::clone(&self.models);
                Box::pin(async move { models.exchange(request, cancel).await.map_or_else(Outcome::ModelFailed, Outcome::Model) })
            }
            Request::Tool(request) => {
                let tools = Arc::clone(&self.tools);
                Box::pin(async move {
                    let answer = tools.call(request, cancel).await;
                    answer.map_or_else(Outcome::ToolFailed, |value| Outcome::Tool(if rerun { mark_rerun(value) } else { value }))
                })
            }
            Request::Store(request) => {
                let files = Arc::clone(&self.files);
                blocking(kind, move || files.store(&request).map_or_else(Outcome::StoreFailed, Outcome::Stored))
            }
            Request::Log(request) => {
                let files = Arc::clone(&self.files);
                blocking(kind, move || files.log(&request).map_or_else(Outcome::StoreFailed, |()| Outcome::Logged))
            }
        }
    }

    fn release(&self, owner: &str) {
        self.tools.release(owner);
    }
}

/// A result that has a place to say that the call was made again says so.
fn mark_rerun(mut value: Value) -> Value {
    if let Some(flag) = value.as_object_mut().and_then(|result| result.get_mut("rerun")) {
        *flag = Value::Bool(true);
    }
    value
}

/// Runs what may block on a thread made for it. A file that is being written is not left half way, so it is not cancelled.
fn blocking(kind: EffectKind, work: impl FnOnce() -> Outcome + Send + 'static) -> BoxFuture<Outcome> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| kind.crashed(&format!("the engine failed while writing: {error}")))
    })
}
