//! Parameters of a run from the command line: the positional text, `--param name=value`, and the schema's defaults.
//!
//! Texts become values by the types the schema declares; whether the values satisfy the whole schema is checked by whoever starts the run.

use super::settings::{SettingsError, no_such};
use serde_json::{Map, Value};

/// The parameter the positional argument fills: the first required one that is a string.
#[must_use]
pub fn positional(schema: &Value) -> Option<&str> {
    let required = schema.get("required")?.as_array()?;
    required
        .iter()
        .filter_map(Value::as_str)
        .find(|name| schema.get("properties").and_then(|all| all.get(*name)).is_some_and(|property| allows(property, "string")))
}

/// The parameters of a run. Defaults fill what was not given; nothing may be missing, unknown or given twice.
///
/// # Errors
/// Says which parameter, and what to write.
pub fn gather(schema: Option<&Value>, goal: Option<&str>, assignments: &[String]) -> Result<Map<String, Value>, SettingsError> {
    let empty = Value::Object(Map::new());
    let schema = schema.unwrap_or(&empty);
    let mut given = Map::new();
    if let Some(goal) = goal {
        let name = positional(schema).ok_or_else(|| {
            SettingsError::new("positional argument", format!("this workflow takes no text such as `{goal}`; use --param name=value"))
        })?;
        given.insert(name.to_owned(), Value::String(goal.to_owned()));
    }
    for assignment in assignments {
        let (name, value) = assign(schema, assignment)?;
        if given.insert(name.clone(), value).is_some() {
            return Err(SettingsError::new(&format!("--param {assignment}"), format!("`{name}` is given twice")));
        }
    }
    complete(schema, given)
}

fn assign(schema: &Value, assignment: &str) -> Result<(String, Value), SettingsError> {
    let layer = format!("--param {assignment}");
    let (name, text) = assignment.split_once('=').ok_or_else(|| SettingsError::new(&layer, "expected `name=value`"))?;
    let name = name.trim();
    let open = schema.get("additionalProperties").is_some_and(|extra| extra.as_bool() != Some(false));
    let property = match properties(schema).and_then(|all| all.get(name)) {
        Some(property) => property,
        None if open && !name.is_empty() => &Value::Null,
        None => {
            return Err(SettingsError::new(
                &layer,
                no_such("parameter", name, properties(schema).into_iter().flat_map(Map::keys).map(String::as_str)),
            ));
        }
    };
    let value =
        parse(property, text).map_err(|expected| SettingsError::new(&layer, format!("`{name}` must be {expected}, not `{text}`")))?;
    Ok((name.to_owned(), value))
}

/// The text as a value of one of the property's types; a string wins only where nothing else fits.
fn parse(property: &Value, text: &str) -> Result<Value, String> {
    let json = serde_json::from_str::<Value>(text).ok();
    if let Some(value) = json.filter(|value| !value.is_string() && fits(property, value)) {
        return Ok(value);
    }
    if allows(property, "string") {
        return Ok(Value::String(text.to_owned()));
    }
    Err(types(property).join(" or "))
}

fn fits(property: &Value, value: &Value) -> bool {
    let names: &[&str] = match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_i64() || number.is_u64() => &["integer", "number"],
        Value::Number(_) => &["number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    };
    names.iter().any(|name| allows(property, name))
}

fn allows(property: &Value, kind: &str) -> bool {
    let types = types(property);
    types.is_empty() || types.contains(&kind)
}

/// Declared types; empty where the property declares none.
fn types(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn complete(schema: &Value, mut given: Map<String, Value>) -> Result<Map<String, Value>, SettingsError> {
    for (name, property) in properties(schema).into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|_| !given.contains_key(name)) {
            given.insert(name.clone(), default.clone());
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<String> = required.filter(|name| !given.contains_key(*name)).map(|name| describe(schema, name)).collect();
    if missing.is_empty() {
        return Ok(given);
    }
    Err(SettingsError::new("parameters", format!("missing: {}", missing.join("; "))))
}

fn describe(schema: &Value, name: &str) -> String {
    let text = properties(schema).and_then(|all| all.get(name)).and_then(|property| property.get("description")).and_then(Value::as_str);
    let text = text.map(|text| format!(" ({text})")).unwrap_or_default();
    let how = if positional(schema) == Some(name) {
        format!("the text after the workflow's name, or --param {name}=…")
    } else {
        format!("--param {name}=…")
    };
    format!("`{name}`{text}, given as {how}")
}
