//! The words of a dialogue with a language model, independent of any provider's wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// One message of a session's history (the system text stands apart, in [`ModelRequest::system`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum Message {
    /// What the engine says.
    User {
        /// The words.
        text: String,
    },
    /// What the model answered.
    Assistant {
        /// Its words, if any.
        text: Option<String>,
        /// Tools it asks for.
        calls: Vec<ToolCall>,
        /// Reasoning that some providers want back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
    },
    /// The answer to one call.
    Tool {
        /// Id of the call.
        call: String,
        /// Wire name of the tool.
        name: String,
        /// Compact JSON or text.
        content: String,
    },
}

/// A call the model asks for. `arguments` is the JSON it wrote, or a string holding what could not be parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the session; made up by the codec where the provider gives none.
    pub id: String,
    /// Wire name.
    pub name: String,
    /// Parsed arguments; `Value::String` means they were no JSON object.
    pub arguments: Value,
}

/// A tool as offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Wire name.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// Who asks, and for which time: the scripted model matches on it, logs carry it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Role id.
    pub role: String,
    /// `role@seq`.
    pub cell: String,
    /// Round, from 1.
    pub round: u32,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Item index of an `each` cell.
    pub item: Option<usize>,
    /// Which agent operation of the attempt, from 1.
    pub session: u32,
    /// Model turn within the session, from 1.
    pub turn: u32,
}

/// One exchange with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Who asks.
    pub asker: Asker,
    /// Session id of the document's `ids`.
    pub session_id: String,
    /// Name of the model, resolved to a provider by `config.providers`.
    pub model: String,
    /// System text.
    pub system: String,
    /// The history so far; shared, because every turn carries all of it.
    pub messages: Arc<Vec<Message>>,
    /// Tools offered.
    pub tools: Vec<ToolSpec>,
    /// JSON Schema of the expected final output, for providers that can enforce one.
    pub output: Value,
    /// Milliseconds left for the attempt.
    pub timeout_ms: u64,
}

/// Tokens of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input, cached part included.
    pub input: u64,
    /// Input that the provider had cached.
    pub cached: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// True when the provider gave no figures and these are estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had nothing more to say.
    #[default]
    Stop,
    /// It wants tools.
    ToolCalls,
    /// The length limit cut it.
    Length,
    /// The provider's filter cut it.
    Filtered,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Its words.
    pub text: Option<String>,
    /// Reasoning that must be sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tools it asks for.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// Tokens used.
    pub tokens: Tokens,
    /// Name of the model that answered, as the provider gave it.
    pub model: String,
    /// Wall time of the exchange in milliseconds.
    pub latency_ms: u64,
    /// What it cost by the provider's prices, in millionths of their currency; `None` where no prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<i64>,
}

/// What exchanges without a usable answer cost all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens used.
    pub tokens: Tokens,
    /// As [`ModelReply::cost`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<i64>,
}

/// Kinds of failure of a cell (docs/language.md, "Failure"); also the names `retry.on` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// The attempt's time was up.
    Timeout,
    /// No session could be opened.
    Spawn,
    /// The model refused.
    Refusal,
    /// The engine or a process died under it.
    Crash,
    /// Output still violates its schema after the repairs, or the cell broke its contract of emission.
    Schema,
    /// The operation `fail`, or an expression that could not be evaluated.
    Fail,
    /// A tool could not answer a program.
    Tool,
    /// Budget, balance or payment.
    Money,
    /// An input entry is missing or was delivered too often.
    Incomplete,
}

impl FailureKind {
    /// The name documents use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Spawn => "spawn",
            Self::Refusal => "refusal",
            Self::Crash => "crash",
            Self::Schema => "schema",
            Self::Fail => "fail",
            Self::Tool => "tool",
            Self::Money => "money",
            Self::Incomplete => "incomplete",
        }
    }
}

/// A failure with its kind and a message for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Kind.
    pub kind: FailureKind,
    /// Lower-case sentence.
    pub message: String,
    /// What a failed exchange used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

impl Failure {
    /// A failure of `kind`.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), spent: None }
    }

    /// The same failure with what it used up, if anything.
    #[must_use]
    pub fn having_spent(self, tokens: Tokens) -> Self {
        let used = tokens.input > 0 || tokens.output > 0;
        Self { spent: used.then_some(Spent { tokens, cost: None }), ..self }
    }
}
