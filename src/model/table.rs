//! Decision tables (DMN: hit policies) as written.

use super::Pointer;
use serde_json::{Map, Value};

/// Hit policies of DMN 1.5, 8.2.10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitPolicy {
    /// At most one rule matches; a second match is an error.
    #[default]
    Unique,
    /// The first match in document order.
    First,
    /// The match with the highest `priority`; document order among equals.
    Priority,
    /// All matches, in document order.
    Collect,
    /// Several may match if their results agree.
    Any,
}

/// A decision table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Hit policy.
    pub hit_policy: HitPolicy,
    /// Options of whoever uses the table, as written.
    pub options: Map<String, Value>,
    /// Input name → JSON Schema of its value.
    pub inputs: Map<String, Value>,
    /// The rows.
    pub rules: Vec<Rule>,
    /// Where it stands (in its own file or in the document).
    pub at: Pointer,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Name of the row; its number from 1 where none is given.
    pub id: String,
    /// Weight under `priority`.
    pub priority: i64,
    /// Condition, an expression over the inputs; absent means always.
    pub when: Option<String>,
    /// Result; leaf strings are templates over the inputs.
    pub then: Value,
    /// Where it stands.
    pub at: Pointer,
}
