//! The descriptors of all tools: the single list that validation, agents and `rsf reference` read. Data only; running them is room `tool`.

mod files;
mod git;
mod knowledge;
mod process;

use super::tool::{Descriptor, EffectClass, Permission};
use serde_json::{Value, json};
use std::sync::LazyLock;

static ALL: LazyLock<Vec<Descriptor>> = LazyLock::new(|| {
    let mut all = files::descriptors();
    all.extend(process::descriptors());
    all.extend(git::descriptors());
    all.extend(knowledge::list());
    all
});

/// Every tool.
#[must_use]
pub fn descriptors() -> &'static [Descriptor] {
    &ALL
}

/// The tool of that name, with dots (`git.commit`) or as written on the wire (`git_commit`).
#[must_use]
pub fn find(name: &str) -> Option<&'static Descriptor> {
    ALL.iter().find(|tool| tool.name == name || tool.wire_name() == name)
}

/// Arguments of one tool: an object with these properties, some required, no others.
fn arguments(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A result object: all properties are always there.
fn result(properties: Value) -> Value {
    let names: Vec<String> = properties.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn count(minimum: u64, description: &str) -> Value {
    json!({ "type": "integer", "minimum": minimum, "description": description })
}

fn maybe_text(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

fn maybe_integer(description: &str) -> Value {
    json!({ "type": ["integer", "null"], "description": description })
}

/// The argument that names a checkout.
fn checkout() -> Value {
    text("handle of a checkout made by git.checkout; the project unless given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_also_on_the_wire_and_schemas_are_objects() {
        let mut seen = BTreeSet::new();
        for tool in descriptors() {
            assert!(seen.insert(tool.wire_name()), "{} twice", tool.name);
            for schema in [&tool.arguments, &tool.result] {
                let either = schema["anyOf"].is_array() || schema["oneOf"].is_array();
                assert!(schema["properties"].is_object() || schema["type"] == "object" || either, "{}", tool.name);
                assert!(jsonschema::validator_for(schema).is_ok(), "{}", tool.name);
            }
            for required in tool.arguments["required"].as_array().into_iter().flatten() {
                assert!(tool.arguments["properties"].get(required.as_str().unwrap_or("")).is_some(), "{}: {required}", tool.name);
            }
            assert_eq!(find(&tool.wire_name()).map(|found| found.name), Some(tool.name));
        }
    }
}
