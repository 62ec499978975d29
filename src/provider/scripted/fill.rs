//! Placeholders `{{asked.NAME}}` in a reply: replaced by what a named group of `asked` or `prompt` captured, literally. No template engine:
//! what was captured is never looked at again. A text that is exactly `{{asked.NAME|json}}` becomes the captured text read as JSON.

use serde_json::Value;
use std::collections::BTreeMap;

const OPEN: &str = "{{asked.";
const CLOSE: &str = "}}";
const AS_JSON: &str = "|json";

/// Captured texts by the group's name.
pub(super) type Captured = BTreeMap<String, String>;

/// Names of all placeholders in the strings of `value`.
pub(super) fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => pieces(text).filter_map(|(_, name)| name.map(|name| plain(name).to_owned())).collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(map) => map.values().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// `value` with every placeholder in its strings replaced.
pub(super) fn value(given: &Value, captured: &Captured) -> Result<Value, String> {
    match given {
        Value::String(written) => match whole_json(written) {
            Some(name) => serde_json::from_str(look_up(name, captured)?)
                .map_err(|error| format!("what `{{{{asked.{name}|json}}}}` captured is no JSON: {error}")),
            None => text(written, captured).map(Value::String),
        },
        Value::Array(items) => items.iter().map(|item| value(item, captured)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| value(item, captured).map(|item| (key.clone(), item))).collect(),
        other => Ok(other.clone()),
    }
}

/// `written` with every placeholder replaced.
pub(super) fn text(written: &str, captured: &Captured) -> Result<String, String> {
    let mut out = String::with_capacity(written.len());
    for (before, name) in pieces(written) {
        out.push_str(before);
        if let Some(name) = name {
            out.push_str(look_up(plain(name), captured)?);
        }
    }
    Ok(out)
}

fn look_up<'a>(name: &str, captured: &'a Captured) -> Result<&'a str, String> {
    captured.get(name).map(String::as_str).ok_or_else(|| format!("the group `{name}` took no part in the match"))
}

fn whole_json(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?.strip_suffix(AS_JSON)?;
    (!name.contains(['{', '}', '|'])).then_some(name)
}

fn plain(name: &str) -> &str {
    name.strip_suffix(AS_JSON).unwrap_or(name)
}

/// Plain text, then the placeholder that follows it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let now = rest?;
        let found = now.split_once(OPEN).and_then(|(before, after)| after.split_once(CLOSE).map(|(name, after)| (before, name, after)));
        rest = found.map(|(_, _, after)| after);
        Some(found.map_or((now, None), |(before, name, _)| (before, Some(name))))
    })
}
