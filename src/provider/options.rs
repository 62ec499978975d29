//! How a provider wants to be asked: the fields of `config.providers.{name}` that shape the body of a request.

use serde_json::{Map, Value};

/// Options of a request's body.
#[derive(Clone, Debug, Default)]
pub struct BodyOptions {
    /// Upper bound of the answer.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The provider can enforce a JSON schema.
    pub json_schema: bool,
    /// Reasoning is not sent back, even beside tool calls (older reasoners refuse it).
    pub drop_reasoning: bool,
    /// Further fields, merged into the body.
    pub extra: Map<String, Value>,
}
