//! Requests the engine makes for documents of `types` and for log records.

use crate::model::{Logs, StoreFormat, TypeDef};
use crate::rule::{Engine, ExprError, Leaves, Scope, to_json};
use serde_json::{Map, Value};

/// A document to write: type name, paths, text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoreOrder {
    /// Type name.
    pub name: String,
    /// Rendered paths inside the project.
    pub paths: Vec<String>,
    /// The bytes as text.
    pub text: String,
}

/// Renders where `value` of type `name` is written and how.
pub(super) fn store_order(
    name: &str,
    definition: &TypeDef,
    value: &Value,
    engine: &Engine,
    scope: &Scope,
) -> Result<StoreOrder, ExprError> {
    let mut inner = scope.child();
    inner.set_json("value", value);
    let mut paths = Vec::with_capacity(definition.store.len());
    for template in &definition.store {
        paths.push(plain(&to_json(&engine.text(template, &inner)?)?));
    }
    let text = match (definition.format, value) {
        (StoreFormat::Text, Value::String(text)) => text.clone(),
        (_, value) => pretty(value),
    };
    Ok(StoreOrder { name: name.to_owned(), paths, text })
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text.push('\n');
    text
}

/// A log record ready to be appended.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// Path of the JSON lines file inside the project.
    pub path: String,
    /// The record.
    pub record: Map<String, Value>,
    /// The line for people.
    pub text: String,
}

/// Renders a record: `given` is in scope as `log`.
///
/// # Errors
/// A template of the document's `logs` that cannot be evaluated.
pub fn log_request(logs: &Logs, given: Map<String, Value>, engine: &Engine, scope: &Scope) -> Result<LogLine, ExprError> {
    let mut inner = scope.child();
    inner.set_json("log", &Value::Object(given));
    if inner.get("session").is_none() {
        inner.set_json("session", &Value::Null);
    }
    let path = plain(&to_json(&engine.text(&logs.path, &inner)?)?);
    let record = match engine.tree(&Value::Object(logs.record.clone()), Leaves::Templates, &inner)? {
        Value::Object(record) => record,
        _ => Map::new(),
    };
    inner.set_json("record", &Value::Object(record.clone()));
    let text = if logs.text.is_empty() { String::new() } else { plain(&to_json(&engine.text(&logs.text, &inner)?)?) };
    Ok(LogLine { path, record, text })
}

/// A string as it is, anything else as compact JSON.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
