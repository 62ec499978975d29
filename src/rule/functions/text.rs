//! Text: patterns, JSON, slugs, clipping, and how values are written into texts.

use super::{items, wrong};
use crate::rule::value::in_text;
use crate::rule::{ExprError, Val, to_json, to_val};
use minijinja::value::{Kwargs, Object};
use minijinja::{Environment, Error, State};
use regex::{Regex, RegexBuilder};
use std::sync::Arc;

/// Bound on a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;
/// Widest indentation of JSON.
const INDENT: usize = 8;

pub(super) fn add_to(env: &mut Environment<'static>) {
    env.add_filter("matches", |state: &mut State, text: &str, source: &str| {
        state.consume_fuel(text.len() as u64 / 64)?;
        Ok::<_, Error>(cached(state, source)?.0.is_match(text))
    });
    env.add_filter("capture", capture);
    env.add_filter("from_json", |state: &State, text: &str| {
        state.consume_fuel(text.len() as u64 / 16)?;
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| wrong(format!("the text is no JSON: {error}")))?;
        Ok::<_, Error>(to_val(&value))
    });
    env.add_filter("to_json", write_json);
    env.add_filter("slug", |text: &str| slug(text));
    env.add_filter("clip", |text: &str, most: usize| clip(text, most));
    env.add_filter("string", |state: &State, value: &Val| written(state, value));
    env.add_filter("join", join);
}

/// Compiles a pattern within bounds; the fault as a sentence.
pub(super) fn compile(source: &str) -> Result<Regex, String> {
    RegexBuilder::new(source).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build().map_err(|error| {
        let text = error.to_string();
        format!(
            "`{}` is no regular expression: {}",
            source.escape_debug(),
            text.lines().last().unwrap_or_default().trim_start_matches("error: ")
        )
    })
}

/// A compiled pattern, kept for the rest of the evaluation.
#[derive(Debug)]
struct Pattern(Regex);

impl Object for Pattern {}

fn cached(state: &mut State, source: &str) -> Result<Arc<Pattern>, Error> {
    let key = format!("pattern:{source}");
    if let Some(found) = state.get_temp(&key).and_then(|value| value.downcast_object::<Pattern>()) {
        return Ok(found);
    }
    state.consume_fuel(100 + source.len() as u64)?;
    let pattern = Arc::new(Pattern(compile(source).map_err(wrong)?));
    state.set_temp(&key, Val::from_dyn_object(Arc::clone(&pattern)));
    Ok(pattern)
}

fn capture(state: &mut State, text: &str, source: &str) -> Result<Val, Error> {
    state.consume_fuel(text.len() as u64 / 64)?;
    let pattern = cached(state, source)?;
    let Some(found) = pattern.0.captures(text) else { return Ok(Val::from(())) };
    let group = |group: Option<regex::Match>| group.map_or_else(|| Val::from(()), |group| Val::from(group.as_str()));
    if pattern.0.capture_names().flatten().next().is_some() {
        return Ok(Val::from_pairs(pattern.0.capture_names().flatten().map(|name| (name, group(found.name(name))))));
    }
    let first = usize::from(found.len() > 1);
    Ok(Val::from(found.iter().skip(first).map(group).collect::<Vec<_>>()))
}

fn write_json(state: &State, value: &Val, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    let json = to_json(value).map_err(ExprError::into_jinja)?;
    let text = match indent {
        None | Some(0) => json.to_string(),
        Some(indent) if indent <= INDENT => pretty(&json, indent)?,
        Some(_) => return Err(wrong(format!("`to_json` indents by at most {INDENT}"))),
    };
    state.consume_fuel(text.len() as u64 / 16)?;
    Ok(text)
}

fn pretty(json: &serde_json::Value, indent: usize) -> Result<String, Error> {
    let spaces = " ".repeat(indent);
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(json, &mut serializer).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))
}

fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) if most == 0 => String::new(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn written(state: &State, value: &Val) -> Result<String, Error> {
    let text = in_text(value).map_err(ExprError::into_jinja)?;
    state.consume_fuel(text.len() as u64 / 16)?;
    Ok(text)
}

fn join(state: &State, list: &Val, separator: Option<&str>, options: Kwargs) -> Result<String, Error> {
    let attribute: Option<String> = options.get("attribute")?;
    options.assert_all_used()?;
    let mut out = String::new();
    for (index, item) in items(state, list, "join")?.iter().enumerate() {
        if index > 0 {
            out.push_str(separator.unwrap_or_default());
        }
        let text = match &attribute {
            Some(path) => written(state, &super::field(item, path)?)?,
            None => written(state, item)?,
        };
        out.push_str(&text);
        state.consume_fuel(separator.map_or(0, |text| text.len() as u64 / 64))?;
    }
    Ok(out)
}
