//! Tools as data: descriptors (name, schemas, permission, effect class), the request for one call and its answer.
//!
//! The descriptors are the single list that validation, agents and `rsf reference` read; running a tool is the business of room `tool`.

use super::Grants;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call touches (docs/language.md, "Effects"): decides how it is settled after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// Nothing: made again.
    Pure,
    /// Reads the project: made again.
    Reads,
    /// Writes files: idempotent.
    Writes,
    /// Starts programs: run again, and its result says so.
    Executes,
    /// Changes the repository: looks for its own trace first.
    Git,
    /// Talks to another machine.
    Network,
}

/// The permission a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// None.
    Nothing,
    /// `read` of the files named.
    Read,
    /// `write` of the files named.
    Write,
    /// `exec`.
    Exec,
    /// `git: read`.
    GitRead,
    /// `git: write`.
    GitWrite,
    /// `rdf: read`.
    RdfRead,
    /// `rdf: write`.
    RdfWrite,
}

/// One tool.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Name with dots, e.g. `git.commit`.
    pub name: &'static str,
    /// One or two sentences for agents and for `rsf reference`.
    pub description: &'static str,
    /// JSON Schema of the arguments (an object).
    pub arguments: Value,
    /// JSON Schema of the result.
    pub result: Value,
    /// Needed permission.
    pub permission: Permission,
    /// Effect class.
    pub effect: EffectClass,
}

impl Descriptor {
    /// The name on the wire: dots become underscores.
    #[must_use]
    pub fn wire_name(&self) -> String {
        self.name.replace('.', "_")
    }
}

/// One call as the core asks for it. Serialised as it is into the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// Name with dots.
    pub tool: String,
    /// Checked against the descriptor by whoever runs it.
    pub args: Value,
    /// What the call may do.
    pub grants: Grants,
    /// Role on whose behalf it is made (scratch folder, log).
    pub role: String,
    /// Cell attempt that owns checkouts made by this call, e.g. `maker@7.r3.a1`; they end with it.
    pub owner: String,
    /// Run-independent key of this call, for things that must happen once (`sequence`, traces of git).
    pub key: String,
    /// Milliseconds left for the attempt.
    pub timeout_ms: u64,
}

/// Why a call gave no result. A tool's negative answer (a failing test, a conflict) is a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind of fault.
    pub kind: ToolErrorKind,
    /// Lower-case sentence that says what to do.
    pub message: String,
}

/// Kinds of [`ToolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolErrorKind {
    /// No such tool.
    Unknown,
    /// The arguments do not match the schema.
    Arguments,
    /// The permission gate refused; counts as a risk flag.
    Denied,
    /// No space left on the device.
    DiskFull,
    /// Anything else that kept the tool from answering.
    Failed,
}
