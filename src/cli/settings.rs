//! Layers of settings: document < `--profile` < `--config FILE` < `--set a.b=v`, each a merge patch (RFC 7396).
//!
//! A layer may change `config`, `limits` and the defaults of `params`, never roles, steps, flows or anything else that was checked.
//! Pure: files are read elsewhere. Parameters (`--param`, the goal) are in [`super::params`].

use crate::base::closest;
use serde_json::{Map, Value};

/// Names a layer may change.
const OPEN: [&str; 3] = ["config", "limits", "params"];
/// Limits a document may set (docs/language.md).
const LIMITS: [&str; 10] =
    ["rounds", "cost", "operations", "turns", "repairs", "parallel", "timeout", "fuel", "expression_size", "output_bytes"];
/// Deepest dotted path of `--set`.
const PATH_DEPTH: usize = 32;
/// Deepest patch; a deeper one is refused, so that merging may recurse.
const PATCH_DEPTH: usize = 128;

/// Why a layer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer}: {message}")]
pub struct SettingsError {
    /// Which layer, as the user gave it.
    pub layer: String,
    /// Lower-case sentence with the way out.
    pub message: String,
}

impl SettingsError {
    pub(super) fn new(layer: &str, message: impl Into<String>) -> Self {
        Self { layer: layer.to_owned(), message: message.into() }
    }
}

/// What the layers work on, and what they give.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Configuration.
    pub config: Value,
    /// Limits by name.
    pub limits: Map<String, Value>,
    /// JSON Schema of the parameters; layers change the `default` of its properties.
    pub params: Option<Value>,
}

/// One patch and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// For messages, e.g. `--profile demo`.
    pub name: String,
    /// `{config, limits, params}`.
    pub patch: Map<String, Value>,
}

/// The layer of `--profile name`.
///
/// # Errors
/// No such profile, or one that is no patch.
pub fn profile(profiles: &Map<String, Value>, name: &str) -> Result<Layer, SettingsError> {
    let layer = format!("--profile {name}");
    match profiles.get(name) {
        Some(Value::Object(patch)) => Ok(Layer { name: layer, patch: patch.clone() }),
        Some(_) => Err(SettingsError::new(&layer, "the profile is no object of `config`, `limits` and `params`")),
        None => Err(SettingsError::new(&layer, no_such("profile", name, profiles.keys().map(String::as_str)))),
    }
}

/// The layer of `--config FILE`.
///
/// # Errors
/// The text is no JSON object.
pub fn file(path: &str, text: &str) -> Result<Layer, SettingsError> {
    let layer = format!("--config {path}");
    match serde_json::from_str(text) {
        Ok(Value::Object(patch)) => Ok(Layer { name: layer, patch }),
        Ok(_) => Err(SettingsError::new(&layer, "the file must hold an object with `config`, `limits` or `params`")),
        Err(error) => Err(SettingsError::new(&layer, format!("the file is no JSON: {error}"))),
    }
}

/// The layer of `--set a.b=v`: a dotted path from the document's root; the value is JSON where it parses as such, else a string.
///
/// # Errors
/// No `=`, an empty name in the path, or a path that is too deep.
pub fn set(assignment: &str) -> Result<Layer, SettingsError> {
    let layer = format!("--set {assignment}");
    let (path, text) =
        assignment.split_once('=').ok_or_else(|| SettingsError::new(&layer, "expected `path=value`, e.g. `config.name=value`"))?;
    let names: Vec<&str> = path.trim().split('.').collect();
    if names.iter().any(|name| name.is_empty()) {
        return Err(SettingsError::new(&layer, "the path has an empty name; write it as `config.name=value`"));
    }
    if names.len() > PATH_DEPTH {
        return Err(SettingsError::new(&layer, format!("the path is deeper than {PATH_DEPTH} names")));
    }
    let leaf = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let patch = names.iter().rev().fold(leaf, |value, name| Value::Object(Map::from_iter([((*name).to_owned(), value)])));
    match patch {
        Value::Object(patch) => Ok(Layer { name: layer, patch }),
        _ => Err(SettingsError::new(&layer, "the path is empty")),
    }
}

/// The settings with all layers applied in order, and notes worth showing (a name that the document does not know).
///
/// # Errors
/// A layer that changes anything but `config`, `limits` and defaults of declared parameters.
pub fn resolve(document: Settings, layers: &[Layer]) -> Result<(Settings, Vec<String>), SettingsError> {
    let mut settings = document;
    let mut notes = Vec::new();
    for layer in layers {
        for (name, patch) in &layer.patch {
            if depth_exceeds(patch, PATCH_DEPTH) {
                return Err(SettingsError::new(&layer.name, format!("`{name}` is nested deeper than {PATCH_DEPTH}")));
            }
            match name.as_str() {
                "config" => notes.extend(patch_config(&mut settings.config, patch, &layer.name)?),
                "limits" => patch_limits(&mut settings.limits, patch, &layer.name)?,
                "params" => patch_defaults(settings.params.as_mut(), patch, &layer.name)?,
                other => return Err(SettingsError::new(&layer.name, closed(other))),
            }
        }
    }
    Ok((settings, notes))
}

/// RFC 7396: objects merge, null removes, anything else replaces.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(fields) = target {
        for (name, value) in patch {
            if value.is_null() {
                // `remove` of this map would move the last field into the gap; the order of fields is kept.
                fields.shift_remove(name);
            } else {
                merge(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

fn patch_config(config: &mut Value, patch: &Value, layer: &str) -> Result<Vec<String>, SettingsError> {
    let Value::Object(fields) = patch else {
        return Err(SettingsError::new(layer, "`config` must be an object"));
    };
    let known: Vec<&str> = config.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let strange = fields.keys().filter(|name| !known.contains(&name.as_str()));
    let notes = strange
        .filter_map(|name| {
            closest(name, known.iter().copied())
                .map(|near| format!("{layer}: `config.{name}` is new to the document; did you mean `config.{near}`?"))
        })
        .collect();
    merge(config, patch);
    Ok(notes)
}

fn patch_limits(limits: &mut Map<String, Value>, patch: &Value, layer: &str) -> Result<(), SettingsError> {
    let Value::Object(fields) = patch else {
        return Err(SettingsError::new(layer, "`limits` must be an object"));
    };
    if let Some(name) = fields.keys().find(|name| !LIMITS.contains(&name.as_str())) {
        return Err(SettingsError::new(layer, no_such("limit", name, LIMITS)));
    }
    let mut all = Value::Object(std::mem::take(limits));
    merge(&mut all, patch);
    if let Value::Object(merged) = all {
        *limits = merged;
    }
    Ok(())
}

fn patch_defaults(schema: Option<&mut Value>, patch: &Value, layer: &str) -> Result<(), SettingsError> {
    let Value::Object(fields) = patch else {
        return Err(SettingsError::new(layer, "`params` must be an object of defaults by name"));
    };
    let mut none = Map::new();
    let declared = schema.and_then(|schema| schema.get_mut("properties")).and_then(Value::as_object_mut).unwrap_or(&mut none);
    for (name, value) in fields {
        let unknown = no_such("parameter", name, declared.keys().map(String::as_str));
        let Some(Value::Object(property)) = declared.get_mut(name) else {
            return Err(SettingsError::new(layer, unknown));
        };
        if value.is_null() {
            property.shift_remove("default");
        } else {
            merge(property.entry("default").or_insert(Value::Null), value);
        }
    }
    Ok(())
}

fn closed(name: &str) -> String {
    let near = closest(name, OPEN).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!(
        "`{name}` cannot be changed from outside, only `config`, `limits` and defaults of `params` can, because the rest was checked as it stands{near}"
    )
}

pub(super) fn no_such<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return format!("there is no {what} `{name}`, the document declares none");
    }
    match closest(name, known.iter().copied()) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {what} `{name}`; there are {}", known.join(", ")),
    }
}

/// Breadth-first, so that measuring a deep value cannot itself overflow.
fn depth_exceeds(value: &Value, limit: usize) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..limit {
        let next: Vec<&Value> = level.iter().flat_map(|value| children(value)).collect();
        if next.is_empty() {
            return false;
        }
        level = next;
    }
    true
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}
