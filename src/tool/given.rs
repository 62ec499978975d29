//! Arguments of a call, read one by one with an error that names what is wrong. Schemas are checked before; this only reads.

use crate::model::tool::{ToolError, ToolErrorKind};
use serde_json::Value;

/// A fault in the arguments.
pub(super) fn wrong(message: impl Into<String>) -> ToolError {
    ToolError { kind: ToolErrorKind::Arguments, message: message.into() }
}

/// Anything else that kept a tool from answering.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError { kind: ToolErrorKind::Failed, message: message.into() }
}

/// A text that must be there.
pub(super) fn text<'a>(args: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    optional_text(args, name)?.ok_or_else(|| wrong(format!("`{name}` is missing: give a text")))
}

/// A text that may be left out or null.
pub(super) fn optional_text<'a>(args: &'a Value, name: &str) -> Result<Option<&'a str>, ToolError> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(format!("`{name}` must be a text"))),
    }
}

/// Globs: a list of texts, or one text.
pub(super) fn globs(args: &Value, name: &str) -> Result<Option<Vec<String>>, ToolError> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(one)) => Ok(Some(vec![one.clone()])),
        Some(Value::Array(list)) => {
            let texts = list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            texts.map(Some).ok_or_else(|| wrong(format!("`{name}` must be a list of globs")))
        }
        Some(_) => Err(wrong(format!("`{name}` must be a list of globs"))),
    }
}

/// A count that may be left out, at most `most`.
pub(super) fn count(args: &Value, name: &str, default: usize, most: usize) -> Result<usize, ToolError> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => {
            let number = value.as_u64().ok_or_else(|| wrong(format!("`{name}` must be a whole number from 0")))?;
            Ok(usize::try_from(number).unwrap_or(most).min(most))
        }
    }
}
