//! Functions and filters added to MiniJinja's own, and the reference that `rsf reference` prints.
//!
//! All are generic: none knows a workflow. All are pure, and pay fuel for what they visit.

mod lists;
mod numbers;
mod reference;
mod text;
mod time;

pub use reference::{Entry, EntryKind, reference};

use super::Val;
use minijinja::{Environment, Error, ErrorKind, State};
use std::borrow::Cow;

/// Adds everything to an environment.
pub(super) fn add_to(env: &mut Environment<'static>) {
    lists::add_to(env);
    numbers::add_to(env);
    text::add_to(env);
    time::add_to(env);
}

/// Compiles a pattern within bounds.
pub(super) fn pattern(source: &str) -> Result<regex::Regex, String> {
    text::compile(source)
}

/// Names of everything added, for hints.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    reference().iter().map(|entry| {
        let form = entry.form.split(',').next().unwrap_or_default();
        let form = form.rsplit('|').next().unwrap_or_default();
        form.split('(').next().unwrap_or_default()
    })
}

fn wrong(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The items of a list; each costs fuel.
fn items(state: &State, value: &Val, what: &str) -> Result<Vec<Val>, Error> {
    use minijinja::value::ValueKind;
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(wrong(format!("`{what}` takes a list, not a {}", value.kind())));
    }
    if let Some(length) = value.len() {
        state.consume_fuel(length as u64)?;
    }
    value.try_iter()?.checked().collect()
}

/// The fields of an object in order; each costs fuel.
fn pairs(state: &State, value: &Val, what: &str) -> Result<Vec<(Val, Val)>, Error> {
    if value.kind() != minijinja::value::ValueKind::Map {
        return Err(wrong(format!("`{what}` takes an object, not a {}", value.kind())));
    }
    state.consume_fuel(value.len().unwrap_or(0) as u64)?;
    value.try_iter()?.checked().map(|key| key.and_then(|key| value.get_item(&key).map(|item| (key, item)))).collect()
}

/// A field of an item, dots reaching inside; an error where it is missing.
fn field(item: &Val, path: &str) -> Result<Val, Error> {
    let mut value = item.clone();
    for part in path.split('.') {
        value = if value.is_undefined() || value.is_none() { Val::UNDEFINED } else { value.get_attr(part)? };
    }
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, format!("an item has no field `{path}`")));
    }
    Ok(value)
}
