//! Tools: one registry, one permission gate, one file per tool.
//!
//! Whoever calls (a program's `call`, an agent's tool call), every call goes through the registry and its gate. A tool never decides about
//! permissions itself and never touches the world but through its [`Desk`] and room `world`.

mod arguments;
mod checkout;
pub mod confine;
mod coverage;
mod desk;
mod edit;
mod exec;
mod gate;
mod git_read;
mod git_write;
mod given;
mod list;
mod project_desk;
pub mod rdf_index;
pub mod rdf_insert;
pub mod rdf_query;
mod rdf_terms;
mod read;
mod registry;
pub mod reports_coverage;
pub mod reports_tests;
mod scratch;
mod search;
mod sequence;
pub mod syntax_query;
mod traces;
mod write;

pub use desk::Desk;
pub use gate::Gate;
pub use project_desk::ProjectDesk;
pub use registry::{ProjectConfig, Registry};

use crate::model::tool::{ToolError, ToolErrorKind};
use crate::world::{Fault, FaultKind};

/// A door's fault as the answer of a tool.
pub(crate) fn tool_error(fault: Fault) -> ToolError {
    let kind = match fault.kind {
        FaultKind::Denied => ToolErrorKind::Denied,
        FaultKind::Invalid => ToolErrorKind::Arguments,
        FaultKind::DiskFull => ToolErrorKind::DiskFull,
        FaultKind::Missing | FaultKind::TooLarge | FaultKind::Cancelled | FaultKind::Failed => ToolErrorKind::Failed,
    };
    ToolError { kind, message: fault.message }
}

fn error(kind: ToolErrorKind, message: impl Into<String>) -> ToolError {
    ToolError { kind, message: message.into() }
}

fn failed(message: impl Into<String>) -> ToolError {
    error(ToolErrorKind::Failed, message)
}

fn denied(message: impl Into<String>) -> ToolError {
    error(ToolErrorKind::Denied, message)
}
