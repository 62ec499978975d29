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
    /// Appends a log record; with `again`, unless an interrupted try has written it already.
    ///
    /// # Errors
    /// As [`Stores::store`].
    fn log(&self, request: &LogRequest, again: bool) -> Result<(), ToolError>;
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
                blocking(kind, move || files.log(&request, rerun).map_or_else(Outcome::StoreFailed, |()| Outcome::Logged))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::FailureKind;
    use crate::machine::EffectId;
    use crate::model::Grants;
    use crate::model::tool::ToolErrorKind;
    use serde_json::json;

    struct Rooms;

    impl ToolRunner for Rooms {
        fn call(&self, request: ToolRequest, _cancel: Cancel) -> BoxFuture<Result<Value, ToolError>> {
            Box::pin(async move { Ok(request.args) })
        }
        fn release(&self, _owner: &str) {}
    }

    impl ModelRunner for Rooms {
        fn exchange(&self, _request: ModelRequest, _cancel: Cancel) -> BoxFuture<Result<ModelReply, Failure>> {
            Box::pin(async { Err(Failure::new(FailureKind::Refusal, "no")) })
        }
    }

    impl Stores for Rooms {
        fn store(&self, _request: &StoreRequest) -> Result<Vec<String>, ToolError> {
            panic!("no paper")
        }
        fn log(&self, _request: &LogRequest, _again: bool) -> Result<(), ToolError> {
            Err(ToolError { kind: ToolErrorKind::DiskFull, message: "full".into() })
        }
    }

    async fn perform(request: Request, rerun: bool) -> Outcome {
        let rooms = Arc::new(Rooms);
        let effects = Effects { tools: rooms.clone(), models: rooms.clone(), files: rooms };
        let task = Task { id: EffectId("a@1.r1.a1/0".into()), request: Box::new(request), rerun, cancel: Cancel::new() };
        effects.perform(task).await
    }

    fn tool(args: Value) -> Request {
        let (tool, role, owner, key) = (String::from("t"), String::new(), String::new(), String::new());
        Request::Tool(ToolRequest { tool, args, grants: Grants::default(), role, owner, key, timeout_ms: 1 })
    }

    #[tokio::test]
    async fn only_a_result_that_has_a_place_for_it_says_that_it_was_made_again() {
        assert_eq!(perform(tool(json!({"rerun": false})), true).await, Outcome::Tool(json!({"rerun": true})));
        assert_eq!(perform(tool(json!({"rerun": false})), false).await, Outcome::Tool(json!({"rerun": false})));
        assert_eq!(perform(tool(json!({"text": "x"})), true).await, Outcome::Tool(json!({"text": "x"})));
    }

    #[tokio::test]
    async fn a_panic_and_a_refusal_are_failures() {
        let store = Request::Store(StoreRequest { name: "T".into(), paths: vec![], text: String::new() });
        assert!(matches!(perform(store, false).await, Outcome::StoreFailed(error) if error.kind == ToolErrorKind::Failed));
        let log = Request::Log(LogRequest { path: "l".into(), record: serde_json::Map::new(), text: String::new() });
        assert!(matches!(perform(log, false).await, Outcome::StoreFailed(error) if error.kind == ToolErrorKind::DiskFull));
    }
}
