//! Reads a script: shape, expressions and placeholders are checked before the run, unknown fields are named.

use super::fill;
use crate::agent::{Failure, FailureKind, Finish, ToolCall};
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A script that was checked.
#[derive(Debug)]
pub(in crate::provider) struct Script {
    pub(super) path: String,
    pub(super) answers: Vec<Answer>,
}

/// One answer and when it is given.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) when: When,
    pub(super) asked: Option<Regex>,
    pub(super) prompt: Option<Regex>,
    pub(super) reply: Reply,
}

/// One value or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a value or a list of values of the right type")]
pub(super) enum Any<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Any<T> {
    pub(super) fn values(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// Who must ask; what is not given matches everyone.
#[derive(Clone, Debug, Default)]
pub(super) struct When {
    pub(super) role: Option<Any<String>>,
    pub(super) cell: Option<Any<String>>,
    pub(super) model: Option<Any<String>>,
    pub(super) round: Option<Any<u64>>,
    pub(super) attempt: Option<Any<u64>>,
    pub(super) session: Option<Any<u64>>,
    pub(super) turn: Option<Any<u64>>,
    pub(super) item: Option<Any<u64>>,
}

/// What is answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) text: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) json: Option<Value>,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    pub(super) finish: Option<Finish>,
    pub(super) tokens: Option<Figures>,
    pub(super) fail: Option<Fail>,
    #[serde(default)]
    pub(super) delay_ms: u64,
}

/// A call the script makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: Value,
}

/// Tokens the script claims; what is left out is estimated.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figures {
    pub(super) input: Option<u64>,
    #[serde(default)]
    pub(super) cached: u64,
    pub(super) output: Option<u64>,
}

/// A failure in place of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    pub(super) kind: FailureKind,
    pub(super) message: String,
}

impl Fail {
    pub(super) fn failure(&self) -> Failure {
        Failure::new(self.kind, self.message.clone())
    }
}

impl Call {
    pub(super) fn wire(&self, id: String, arguments: Value) -> ToolCall {
        let arguments = if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
        ToolCall { id, name: self.tool.replace('.', "_"), arguments }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    role: Option<Any<String>>,
    cell: Option<Any<String>>,
    model: Option<Any<String>>,
    round: Option<Any<u64>>,
    attempt: Option<Any<u64>>,
    session: Option<Any<u64>>,
    turn: Option<Any<u64>>,
    item: Option<Any<u64>>,
    asked: Option<String>,
    prompt: Option<String>,
    #[serde(rename = "description")]
    _description: Option<String>,
    reply: Reply,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Script {
    /// Reads a script file; `path` is for messages.
    pub(in crate::provider) fn read(path: &str, text: &str) -> Result<Self, Vec<String>> {
        let root: Value = serde_json::from_str(text).map_err(|error| vec![format!("{path}: no JSON: {error}")])?;
        let mut faults = Vec::new();
        if root.get("format").and_then(Value::as_str) != Some("scripted-model") {
            faults.push(format!("{path}: expected \"format\": \"scripted-model\""));
        }
        let unknown = root.as_object().into_iter().flat_map(serde_json::Map::keys);
        for key in unknown.filter(|key| !["format", "description", "answers"].contains(&key.as_str())) {
            faults.push(format!("{path}: unknown field `{}`; expected `format`, `description`, `answers`", key.escape_debug()));
        }
        let Some(Value::Array(items)) = root.get("answers") else {
            faults.push(format!("{path}: expected `answers`, a list"));
            return Err(faults);
        };
        let mut answers = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match Answer::read(item) {
                Ok(answer) => answers.push(answer),
                Err(fault) => faults.push(format!("{path}: answers[{index}]: {fault}")),
            }
        }
        if faults.is_empty() { Ok(Self { path: path.to_owned(), answers }) } else { Err(faults) }
    }
}

impl Answer {
    fn read(item: &Value) -> Result<Self, String> {
        let written = Written::deserialize(item).map_err(|error| error.to_string())?;
        let (asked, prompt) = (expression("asked", written.asked)?, expression("prompt", written.prompt)?);
        written.reply.check()?;
        let known: Vec<&str> = [&asked, &prompt].into_iter().flatten().flat_map(|regex| regex.capture_names().flatten()).collect();
        for name in item.get("reply").map(fill::names).unwrap_or_default() {
            if !known.contains(&name.as_str()) {
                return Err(format!("`{{{{asked.{}}}}}` is no named group of `asked` or `prompt`", name.escape_debug()));
            }
        }
        let when = When {
            role: written.role,
            cell: written.cell,
            model: written.model,
            round: written.round,
            attempt: written.attempt,
            session: written.session,
            turn: written.turn,
            item: written.item,
        };
        Ok(Self { when, asked, prompt, reply: written.reply })
    }
}

impl Reply {
    fn check(&self) -> Result<(), String> {
        let given = [self.text.is_some(), self.json.is_some(), self.fail.is_some()].into_iter().filter(|given| *given).count();
        if given > 1 || (self.fail.is_some() && !self.calls.is_empty()) {
            return Err("`reply` takes only one of `text`, `json`, `fail`, and `calls` only beside `text` or `json`".to_owned());
        }
        if given == 0 && self.calls.is_empty() {
            return Err("`reply` needs one of `text`, `json`, `calls`, `fail`".to_owned());
        }
        Ok(())
    }
}

fn expression(name: &str, text: Option<String>) -> Result<Option<Regex>, String> {
    text.map(|text| Regex::new(&text)).transpose().map_err(|error| format!("`{name}` is no regular expression: {error}"))
}
