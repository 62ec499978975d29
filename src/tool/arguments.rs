//! Checks a call's arguments against the tool's schema and says in words what is wrong; and reads them afterwards.

use super::error;
use crate::model::tool::{Descriptor, ToolError, ToolErrorKind};
use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Faults told at once; more do not help.
const MAX_FAULTS: usize = 5;

static VALIDATORS: LazyLock<BTreeMap<&'static str, Validator>> = LazyLock::new(|| {
    let compiled = crate::model::tools::descriptors().iter();
    compiled.filter_map(|tool| Some((tool.name, jsonschema::validator_for(&tool.arguments).ok()?))).collect()
});

/// Checks the arguments of a call.
///
/// # Errors
/// They do not match the tool's schema.
pub(super) fn check(tool: &Descriptor, args: &Value) -> Result<(), ToolError> {
    let wrong = |message: String| error(ToolErrorKind::Arguments, message);
    if !args.is_object() {
        return Err(wrong(format!("the arguments of {} must be a JSON object, not {}", tool.name, kind_of(args))));
    }
    let Some(validator) = VALIDATORS.get(tool.name) else {
        return Err(error(ToolErrorKind::Failed, format!("the schema of {} cannot be compiled", tool.name)));
    };
    let faults: Vec<String> = validator
        .iter_errors(args)
        .take(MAX_FAULTS)
        .map(|fault| match fault.instance_path().as_str() {
            "" => clip(&fault.to_string()),
            path => format!("`{}`: {}", path.trim_start_matches('/').replace('/', "."), clip(&fault.to_string())),
        })
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    let known: Vec<&str> = tool.arguments["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    Err(wrong(format!("wrong arguments of {}: {} (it takes {})", tool.name, faults.join("; "), known.join(", "))))
}

/// A value that is megabytes long does not belong into a message.
fn clip(text: &str) -> String {
    const MOST: usize = 300;
    let cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A text argument, `None` when it is not given.
pub(super) fn text<'a>(args: &'a Value, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

/// A text argument the schema requires.
pub(super) fn required<'a>(args: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    text(args, name).ok_or_else(|| error(ToolErrorKind::Arguments, format!("`{name}` is missing")))
}

/// A list of texts; `None` when it is not given.
pub(super) fn texts(args: &Value, name: &str) -> Option<Vec<String>> {
    args.get(name)?.as_array().map(|items| items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A count, kept within `most`.
pub(super) fn count(args: &Value, name: &str, default: usize, most: usize) -> usize {
    let given = args.get(name).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok());
    given.unwrap_or(default).min(most)
}
