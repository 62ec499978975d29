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
    /// The output is asked for as the arguments of a tool, where it is an object and `json_schema` does not hold the provider to it.
    pub finish_tool: bool,
    /// The answer is asked for in pieces.
    pub stream: bool,
    /// A stream is asked to end with the figures of its tokens.
    pub stream_usage: bool,
    /// Further fields, merged into the body.
    pub extra: Map<String, Value>,
}
