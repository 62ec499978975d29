//! What an agent must answer: the schema it is shown and the check its answer must pass.

use super::emission::{Envelope, OutEntry};
use crate::agent::OutputContract;
use crate::model::{Term, TypeRef};
use crate::schema::{Schema, TypeSchemas};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One entry with the schema of each alternative.
#[derive(Clone)]
struct Expected {
    term: Term,
    count: usize,
    schemas: Vec<(TypeRef, Option<Schema>)>,
}

/// The contract of an operation with an `output` of its own.
pub(super) fn explicit(schema: &Schema, envelope: &Envelope) -> OutputContract {
    let (schema, envelope) = (schema.clone(), envelope.clone());
    let shown = envelope.relax(schema.source());
    OutputContract { schema: shown, check: Arc::new(move |value| envelope.seal(&mut value.clone(), Some(&schema))) }
}

/// The contract of the cell's `out`: the value itself for one plain entry, else an object keyed by type.
pub(super) fn of_outs(outs: &[OutEntry], types: &TypeSchemas, role: &str, envelope: &Envelope) -> OutputContract {
    let expected: Vec<Expected> = outs
        .iter()
        .map(|out| Expected {
            term: out.term.clone(),
            count: out.count,
            schemas: out.term.alternatives.iter().map(|t| (t.clone(), types.find(&t.name, role).cloned())).collect(),
        })
        .collect();
    let envelope = envelope.clone();
    if let Some(type_ref) = single(outs) {
        let schema = types.find(&type_ref.name, role).cloned();
        let shown = schema.as_ref().map_or(Value::Bool(true), |s| envelope.relax(s.source()));
        return OutputContract { schema: shown, check: Arc::new(move |value| envelope.seal(&mut value.clone(), schema.as_ref())) };
    }
    let shown = keyed_schema(&expected, &envelope);
    OutputContract { schema: shown, check: Arc::new(move |value| check_keyed(value, &expected, &envelope)) }
}

/// The type of the only entry, where it is plain (no union, no count).
pub(super) fn single(outs: &[OutEntry]) -> Option<&TypeRef> {
    match outs {
        [out] if out.count == 1 && out.term.alternatives.len() == 1 => out.term.alternatives.first(),
        _ => None,
    }
}

fn keyed_schema(expected: &[Expected], envelope: &Envelope) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for entry in expected {
        for (type_ref, schema) in &entry.schemas {
            let one = schema.as_ref().map_or(Value::Bool(true), |s| envelope.relax(s.source()));
            let shape = if entry.count > 1 {
                json!({"type": "array", "items": one, "minItems": entry.count, "maxItems": entry.count})
            } else {
                one
            };
            properties.insert(type_ref.to_string(), shape);
        }
        if let [(type_ref, _)] = entry.schemas.as_slice() {
            required.push(Value::from(type_ref.to_string()));
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn check_keyed(value: &Value, expected: &[Expected], envelope: &Envelope) -> Vec<String> {
    let Some(object) = value.as_object() else { return vec!["expected an object keyed by type".to_owned()] };
    let mut faults: Vec<String> = object
        .keys()
        .filter(|key| !expected.iter().any(|e| e.term.alternatives.contains(&TypeRef::parse(key))))
        .map(|key| format!("at `/{key}`: no such type is asked for"))
        .collect();
    for entry in expected {
        let given: Vec<_> = entry.schemas.iter().filter_map(|(t, s)| object.get(&t.to_string()).map(|v| (t, s, v))).collect();
        match given.as_slice() {
            [(type_ref, schema, value)] => faults.extend(check_entry(type_ref, schema.as_ref(), value, entry.count, envelope)),
            [] => faults.push(format!("expected `{}`, which is missing", entry.term)),
            _ => faults.push(format!("expected exactly one of `{}`, got {}", entry.term, given.len())),
        }
    }
    faults
}

fn check_entry(type_ref: &TypeRef, schema: Option<&Schema>, value: &Value, count: usize, envelope: &Envelope) -> Vec<String> {
    let values: Vec<Value> = match (count, value) {
        (1, value) => vec![value.clone()],
        (_, Value::Array(items)) if items.len() == count => items.clone(),
        _ => return vec![format!("at `/{type_ref}`: expected a list of {count}")],
    };
    values.into_iter().flat_map(|mut value| envelope.seal(&mut value, schema)).map(|fault| format!("in `{type_ref}` {fault}")).collect()
}
