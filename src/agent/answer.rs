//! Finds the output in a model's final text, where there is exactly one reading.
//!
//! Thinking tags, fences and prose around one JSON value are taken off. Two different values are not decided between, broken JSON is not
//! searched for a part that happens to parse, and a cut text gives nothing.

use super::reader::{Repair, is_prefix, read_json, read_prefix};
use serde_json::Value;
use std::ops::Range;

/// Prose is searched in texts up to this size only, in bytes.
const SEARCHED_BYTES: usize = 1024 * 1024;

/// What was read.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) repairs: Vec<String>,
}

/// What a schema lets the text be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// JSON, with the only allowed kind of bracket where the schema names one.
    Json { object: bool, array: bool },
    /// A text, or something else too: what is no JSON is the text itself.
    Text,
    /// Anything: JSON where it is JSON, else the text itself.
    Anything,
}

/// Reads the output from `text`; `whole` is false when a length limit cut it. The fault is a sentence for the model.
pub(super) fn read(text: &str, schema: &Value, whole: bool) -> Result<Answer, String> {
    let wanted = wanted(schema);
    let text = text.trim_start_matches('\u{feff}').trim();
    let strict = read_json(text).ok().filter(|(value, repairs)| repairs.is_empty() && fits(value, wanted));
    if let Some((value, _)) = strict {
        return Ok(Answer { value, repairs: Vec::new() });
    }
    let text = without_thinking(text)?;
    if text.is_empty() {
        return Err("you answered nothing: answer now with the output that was asked for, and nothing else".to_owned());
    }
    let leaked = ["<tool_call", "<|tool_call", "<function_call"].iter().any(|tag| text.contains(tag));
    if leaked && !matches!(read_json(text), Ok((_, repairs)) if repairs.is_empty()) {
        return Err("a tool call was written as text and was not made: use the tool interface, or answer with the output".to_owned());
    }
    match wanted {
        Wanted::Json { object, array } => one_value(text, object, array),
        Wanted::Text | Wanted::Anything => as_text(text, wanted, whole),
    }
}

fn as_text(text: &str, wanted: Wanted, whole: bool) -> Result<Answer, String> {
    if let Ok((value, repairs)) = read_json(text)
        && repairs.is_empty()
        && fits(&value, wanted)
    {
        return Ok(Answer { value, repairs: Vec::new() });
    }
    if wanted == Wanted::Anything
        && let Some((value, repairs)) = only_fence(text).and_then(|body| read_json(body).ok())
    {
        return Ok(Answer { value, repairs: in_words(&repairs) });
    }
    if !whole {
        return Err("the answer was cut by the length limit: answer again, shorter".to_owned());
    }
    Ok(Answer { value: Value::String(text.to_owned()), repairs: Vec::new() })
}

/// The one JSON value of a text with prose and fences around it.
fn one_value(text: &str, object: bool, array: bool) -> Result<Answer, String> {
    let body = only_fence(text).unwrap_or(text);
    if let Ok((value, repairs)) = read_json(body) {
        return Ok(Answer { value, repairs: in_words(&repairs) });
    }
    if text.len() > SEARCHED_BYTES {
        return Err("the answer is too long to search it for JSON: answer with the JSON alone".to_owned());
    }
    let fence = single_fence(text);
    let mut found: Option<(Value, Vec<Repair>)> = None;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(['{', '['])) {
        let start = at + offset;
        if !opens_json(text, start) {
            at = start + 1;
            continue;
        }
        let prefix = match read_prefix(text, start) {
            Ok(prefix) => prefix,
            // A fence marks what is meant: sketches outside it need not be JSON.
            Err(_) if fence.as_ref().is_some_and(|fence| !fence.contains(&start)) => {
                at = fence.as_ref().filter(|fence| fence.start > start).map_or(text.len(), |fence| fence.start);
                continue;
            }
            Err(fault) => {
                let cut = if fault.cut { " (the answer was cut, or a bracket or a quote is missing)" } else { "" };
                return Err(format!("the JSON in the answer cannot be read: {}{cut}", fault.message));
            }
        };
        at = prefix.end;
        if (prefix.value.is_object() && !object) || (prefix.value.is_array() && !array) {
            continue;
        }
        match &found {
            Some((value, _)) if *value != prefix.value => {
                return Err("the answer holds two different JSON values: answer with exactly one, and nothing else".to_owned());
            }
            Some(_) => {}
            None => found = Some((prefix.value, prefix.repairs)),
        }
    }
    let Some((value, repairs)) = found else {
        return Err("the answer is no JSON: answer with one JSON value that matches the schema, and nothing else".to_owned());
    };
    Ok(Answer { value, repairs: in_words(&repairs) })
}

/// Whether the bracket at `start` looks like JSON and not like a bracket of prose. What looks like JSON must then be JSON: no part of
/// broken JSON is taken for the whole.
fn opens_json(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    let next = bytes.iter().skip(start + 1).find(|byte| !byte.is_ascii_whitespace());
    match (bytes.get(start), next) {
        (Some(b'{'), None | Some(b'"' | b'}' | b'/' | b'\'')) | (Some(b'['), Some(b'{' | b'"' | b'[')) => true,
        (Some(b'['), _) => is_prefix(text, start),
        _ => false,
    }
}

/// The text inside the only fence that encloses the whole text.
pub(super) fn only_fence(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (tag, body) = inner.split_once('\n')?;
    let plain = tag.trim().chars().all(char::is_alphanumeric) && !body.contains("\n```");
    plain.then_some(body)
}

/// Where the only fenced block of the text is, if its content is JSON.
fn single_fence(text: &str) -> Option<Range<usize>> {
    let mut marks = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            marks.push((at, at + line.len()));
        }
        at += line.len();
    }
    let [(_, start), (end, _)] = marks.as_slice() else { return None };
    read_json(text.get(*start..*end)?).is_ok().then_some(*start..*end)
}

/// Drops `<think>…</think>` at the start (some servers leave out the opening tag).
fn without_thinking(text: &str) -> Result<&str, String> {
    let mut text = text;
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            let Some((_, answer)) = rest.split_once(close) else {
                return Err("the answer ends inside the thinking: answer with the output alone".to_owned());
            };
            text = answer.trim();
        } else if let Some((before, answer)) = text.rsplit_once(close)
            && !before.trim_start().starts_with(['{', '[', '"', '`'])
            && !before.contains(open)
        {
            text = answer.trim();
        }
    }
    Ok(text)
}

fn in_words(repairs: &[Repair]) -> Vec<String> {
    repairs.iter().map(|repair| format!("repaired {} in the answer", repair.words())).collect()
}

fn fits(value: &Value, wanted: Wanted) -> bool {
    match wanted {
        Wanted::Json { .. } | Wanted::Anything => true,
        Wanted::Text => value.is_string(),
    }
}

fn wanted(schema: &Value) -> Wanted {
    const SHAPING: [&str; 12] =
        ["$ref", "properties", "required", "items", "enum", "const", "oneOf", "anyOf", "allOf", "prefixItems", "not", "if"];
    let names = |kind: &str| match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => false,
    };
    match schema {
        Value::Object(map) if map.contains_key("type") => {
            if matches!(schema.get("type"), Some(Value::Array(_))) && names("string") {
                Wanted::Anything
            } else if names("string") {
                Wanted::Text
            } else {
                let (object, array) = (names("object"), names("array"));
                Wanted::Json { object: object || !array, array: array || !object }
            }
        }
        Value::Object(map) if SHAPING.iter().any(|key| map.contains_key(*key)) => {
            let object = map.contains_key("properties") || map.contains_key("required");
            Wanted::Json { object: true, array: !object }
        }
        _ => Wanted::Anything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(text: &str) -> Result<Value, String> {
        read(text, &json!({"type": "object"}), true).map(|answer| answer.value)
    }

    #[test]
    fn wrappings_are_taken_off() {
        let wanted = json!({"a": 1});
        for text in [
            "{\"a\": 1}",
            "\u{feff}{\"a\": 1}",
            "```json\n{\"a\": 1}\n```",
            "Here:\n```json\n{\"a\": 1}\n```\nHope [this] helps {really}.",
            "<think>maybe {\"a\": 2}</think>\n{\"a\": 1}",
            "maybe {\"a\": 2}, no</think>{\"a\": 1}",
            "Fill in {\"a\": ...} like this:\n```json\n{\"a\": 1}\n```\nand not {'b'}.",
            "Twice the same: {\"a\": 1} and {\"a\":1}, see [1].",
            "```\n{\"a\": 1,}\n```",
        ] {
            assert_eq!(object(text).as_ref(), Ok(&wanted), "{text}");
        }
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        assert!(object("{\"a\": 1} or {\"a\": 2}").unwrap_err().contains("two different"));
        // The outer object is broken: its inner one must not be taken for the output.
        assert!(object("{\"a\": 'x', \"b\": {\"c\": 1}}").unwrap_err().contains("cannot be read"));
        assert!(object("{\"a\": \"b").unwrap_err().contains("cut"));
        assert!(object("{\"a\": 2}\n```json\n{\"a\": 1}\n```").unwrap_err().contains("two different"));
        assert!(object("[{\"a\": 1}]x").is_err());
        assert!(object("just words").is_err());
        assert!(object("<think>{\"a\": 1}").is_err());
        assert!(object("<tool_call>read<arg_key>path</arg_key></tool_call>").unwrap_err().contains("tool call"));
    }

    #[test]
    fn hostile_texts_end_soon() {
        for piece in ["[", "[x", "{", "{\"", "[1,\"", "[1,[", "[0,0,0,0,0,0,0,0,[", "</think>", "```\n", "{x} [1] "] {
            let text = piece.repeat(200_000 / piece.len());
            let _ = object(&text);
            let _ = object(&format!("words {text}"));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_strict_json_reads_the_same(text in "[\\[\\]{}\":,a1 \\-.e\\\\/\n`<é]{0,40}") {
            let _ = object(&text);
            if let Ok((value, repairs)) = read_json(&text) {
                proptest::prop_assert!(!repairs.is_empty() || serde_json::from_str::<Value>(&text).ok() == Some(value));
            }
        }
    }

    #[test]
    fn text_is_taken_as_it_is() {
        let text = json!({"type": "string"});
        let value = |raw: &str| read(raw, &text, true).map(|answer| answer.value);
        assert_eq!(value("A draft with {\"json\": 1}."), Ok(json!("A draft with {\"json\": 1}.")));
        assert_eq!(value("\"quoted\\n\""), Ok(json!("quoted\n")));
        assert_eq!(value("7"), Ok(json!("7")));
        assert_eq!(value("<think>hm</think> yes"), Ok(json!("yes")));
        assert!(read("half a dra", &text, false).unwrap_err().contains("cut"));
        assert_eq!(read("{\"a\":1}", &json!(true), true).unwrap().value, json!({"a": 1}));
        assert_eq!(read("words", &json!({}), true).unwrap().value, json!("words"));
        assert_eq!(read("words", &json!({"type": ["string", "null"]}), true).unwrap().value, json!("words"));
        assert_eq!(read("null", &json!({"type": ["string", "null"]}), true).unwrap().value, json!(null));
    }
}
