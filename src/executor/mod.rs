//! Executors: an effect the machine asked for becomes a task, the task an outcome.
//!
//! Rooms that can do things (providers, tools, files) are known here by small traits; nothing here knows a workflow or the journal.

mod effects;
mod project;

pub use effects::{Effects, ModelRunner, Stores, ToolRunner};
pub use project::{Models, ProjectFiles};

use crate::agent::{Failure, FailureKind};
use crate::machine::{EffectId, Outcome, Request};
use crate::model::tool::{ToolError, ToolErrorKind};
use crate::world::Cancel;
use std::pin::Pin;

/// A future that may be sent to another thread; the traits of this room must be usable as objects.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One effect to perform.
#[derive(Debug)]
pub struct Task {
    /// Identity.
    pub id: EffectId,
    /// What to do.
    pub request: Box<Request>,
    /// True when it may have been begun by a process that ended before its outcome was recorded.
    pub rerun: bool,
    /// Thrown when its outcome is of no use any more.
    pub cancel: Cancel,
}

/// Whoever performs effects.
pub trait Executor: Send + Sync {
    /// Performs one effect. Many run at the same time; the machine bounds how many. It must end soon after its `cancel` was thrown.
    fn perform(&self, task: Task) -> BoxFuture<Outcome>;

    /// An attempt is over: what belongs to `owner` may go. May block; is called on a thread where that does no harm.
    fn release(&self, owner: &str);
}

/// The four kinds of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// A model exchange.
    Model,
    /// A tool call.
    Tool,
    /// Writing documents.
    Store,
    /// A log record.
    Log,
}

impl EffectKind {
    /// The kind of a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        match request {
            Request::Model(_) => Self::Model,
            Request::Tool(_) => Self::Tool,
            Request::Store(_) => Self::Store,
            Request::Log(_) => Self::Log,
        }
    }

    /// Its name in events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Store => "store",
            Self::Log => "log",
        }
    }

    /// The outcome of an effect that died without one: always a failure.
    #[must_use]
    pub fn crashed(self, message: &str) -> Outcome {
        let error = || ToolError { kind: ToolErrorKind::Failed, message: message.to_owned() };
        match self {
            Self::Model => Outcome::ModelFailed(Failure::new(FailureKind::Crash, message)),
            Self::Tool => Outcome::ToolFailed(error()),
            // There is no outcome of its own for a log record that could not be written; it is a failed write like any other.
            Self::Store | Self::Log => Outcome::StoreFailed(error()),
        }
    }
}

/// True for an outcome that tells of a full disk.
#[must_use]
pub fn is_disk_full(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::ToolFailed(error) | Outcome::StoreFailed(error) if error.kind == ToolErrorKind::DiskFull)
}
