//! Operations of a cell's `run`, of `recover` and of the root's programs (docs/language.md, "Operations").
//!
//! Values are kept as JSON as written: which strings in them are expressions and which templates is said per operation.

use super::{Pointer, Policy};
use serde_json::{Map, Value};

/// One operation with the keys every operation may carry.
#[derive(Clone, Debug)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Expression; the operation is skipped unless it is true.
    pub when: Option<String>,
    /// Name its result is bound to (null if it was skipped).
    pub bind: Option<String>,
    /// Where it stands.
    pub at: Pointer,
}

/// The operations of the language.
#[derive(Clone, Debug)]
pub enum OpKind {
    /// `let`: binds names; leaf strings are expressions.
    Let(Map<String, Value>),
    /// `set`: changes workflow state; leaf strings are templates.
    Set(Map<String, Value>),
    /// `rules`: evaluates a decision table; leaf strings of `with` are expressions.
    Rules {
        /// Name in the root's `rules`.
        table: String,
        /// Inputs by name.
        with: Map<String, Value>,
    },
    /// `call`: calls a tool; leaf strings of `with` are templates.
    Call {
        /// Name of the tool.
        tool: String,
        /// Arguments.
        with: Map<String, Value>,
    },
    /// `agent`: a session of a language model.
    Agent(Box<Agent>),
    /// `ask`: a question to a person.
    Ask {
        /// Template.
        question: String,
        /// Templates.
        choices: Vec<String>,
        /// Answer where no person is there.
        unattended: Option<Value>,
    },
    /// `workflow`: runs another document.
    Workflow {
        /// Path from the bundle's root.
        path: String,
        /// Parameters; templates.
        with: Map<String, Value>,
    },
    /// `for`: repeats `body` with `item` and `index`.
    For {
        /// Expression giving a list.
        over: String,
        /// Operations per item.
        body: Vec<Op>,
    },
    /// `do` … `else`: a group under one `when`.
    Do {
        /// Operations if `when` holds.
        body: Vec<Op>,
        /// Operations if it does not.
        otherwise: Vec<Op>,
    },
    /// `store`: writes documents declared in `types`; templates.
    Store(Map<String, Value>),
    /// `emit`: hands over values by type; templates.
    Emit(Map<String, Value>),
    /// `stop`: requests the end of the run; templates.
    Stop {
        /// Result name.
        result: String,
        /// Why, for people.
        reason: Option<String>,
    },
    /// `return`: ends the list of the cell.
    Return,
    /// `fail`: fails the attempt; template.
    Fail(String),
    /// `log`: writes a log record; templates.
    Log(Map<String, Value>),
}

/// `agent` of a role (defaults) or of an operation (narrowing them). All strings are templates.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// Name of the model.
    pub model: Option<String>,
    /// System prompt: a file of the bundle under `prompts/`, or a text.
    pub system: Option<Prompt>,
    /// The task: a file of the bundle, or a text (operations only).
    pub prompt: Option<Prompt>,
    /// Tools offered; `None` keeps the role's.
    pub tools: Option<Vec<String>>,
    /// Permissions.
    pub permissions: Option<Policy>,
    /// Table of the governor (path), for sessions of this role.
    pub governor: Option<String>,
    /// Bound on model turns.
    pub max_turns: Option<Value>,
    /// What the session answers: a path of a schema, an inline schema, or `None`: the cell's `out`.
    pub output: Option<Value>,
    /// Where it stands.
    pub at: Pointer,
}

/// Where the words of a prompt come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A template file of the bundle, by its path from the bundle's root.
    File(String),
    /// A template text.
    Text(String),
}
