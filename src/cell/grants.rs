//! What a call may do: every layer of permissions (role, cell, operation) rendered and intersected. Nothing is allowed by default.

use crate::model::{Exec, Grants, Policy};
use crate::rule::{Engine, ExprError, Scope};
use serde_json::Value;

/// Intersects `layers`, outermost first; globs are templates over `scope`.
pub(super) fn grants(layers: &[&Policy], engine: &Engine, scope: &Scope) -> Result<Grants, ExprError> {
    let mut grants = Grants::default();
    for layer in layers {
        if let Some(globs) = &layer.read {
            grants.read.push(render(globs, engine, scope)?);
        }
        if let Some(globs) = &layer.write {
            grants.write.push(render(globs, engine, scope)?);
        }
    }
    grants.exec = least(layers.iter().filter_map(|l| l.exec)).unwrap_or(Exec::No);
    grants.network = layers.iter().filter_map(|l| l.network).min().unwrap_or(false);
    grants.git = least(layers.iter().filter_map(|l| l.git)).unwrap_or_default();
    grants.rdf = least(layers.iter().filter_map(|l| l.rdf)).unwrap_or_default();
    Ok(grants)
}

fn least<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    values.min()
}

/// A glob that renders to a list stands for its elements.
fn render(globs: &[String], engine: &Engine, scope: &Scope) -> Result<Vec<String>, ExprError> {
    let mut out = Vec::with_capacity(globs.len());
    for glob in globs {
        match crate::rule::to_json(&engine.text(glob, scope)?)? {
            Value::Array(items) => out.extend(items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))),
            Value::String(text) => out.push(text),
            other => out.push(other.to_string()),
        }
    }
    Ok(out)
}
