//! What a cell hands over: which `out` entry a value belongs to, the envelope's fields, and the check against the type's schema.

use crate::model::{Term, TypeRef};
use crate::schema::Schema;
use serde_json::{Map, Value};

/// An `out` entry of the cell with how often it is listed.
#[derive(Clone, Debug)]
pub struct OutEntry {
    /// The term.
    pub term: Term,
    /// Values that fill it.
    pub count: usize,
}

/// Values emitted for one `out` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// Index of the entry.
    pub out: usize,
    /// The alternative that was chosen.
    pub type_ref: TypeRef,
    /// As many values as the entry's count.
    pub values: Vec<Value>,
}

/// Fields the engine fills in where a type's schema has a property of that name.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    fields: Vec<(&'static str, Value)>,
}

impl Envelope {
    /// The envelope of one cell; `ids` holds `interaction_id` and `loop_id`.
    #[must_use]
    pub fn new(ids: &Map<String, Value>, round: u32, timestamp: &str) -> Self {
        let id = |name: &str| ids.get(name).cloned();
        let mut fields = vec![("round", Value::from(round)), ("timestamp", Value::from(timestamp))];
        fields.extend(id("interaction_id").map(|v| ("interaction_id", v)));
        fields.extend(id("loop_id").map(|v| ("loop_id", v)));
        Self { fields }
    }

    /// Fills the fields that `schema` has, and says which ones hold another value.
    #[must_use]
    pub fn fill(&self, value: &mut Value, schema: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let (Some(object), Some(properties)) = (value.as_object_mut(), schema.get("properties").and_then(Value::as_object)) else {
            return faults;
        };
        for (name, right) in &self.fields {
            if !properties.contains_key(*name) {
                continue;
            }
            match object.get(*name) {
                None => {
                    object.insert((*name).to_owned(), right.clone());
                }
                Some(given) if given == right => {}
                Some(given) => faults.push(format!("at `/{name}`: expected {right}, got {given}: the engine fills this in, leave it out")),
            }
        }
        faults
    }

    /// Fills the envelope and checks the schema; faults in words.
    #[must_use]
    pub fn seal(&self, value: &mut Value, schema: Option<&Schema>) -> Vec<String> {
        let Some(schema) = schema else { return Vec::new() };
        let mut faults = self.fill(value, schema.source());
        if faults.is_empty() {
            faults.extend(schema.check(value).into_iter().map(|fault| format!("at `{}`: {}", fault.pointer, fault.message)));
        }
        faults
    }

    /// `schema` as an agent should see it: without asking for what the engine fills in.
    #[must_use]
    pub fn relax(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let Some(object) = schema.as_object_mut() else { return schema };
        if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
            for (name, _) in &self.fields {
                properties.shift_remove(*name);
            }
        }
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !self.fields.iter().any(|(field, _)| name.as_str() == Some(field)));
        }
        schema
    }
}

/// Index of the entry that takes `type_ref`, if the cell declares it.
#[must_use]
pub fn entry_of(outs: &[OutEntry], type_ref: &TypeRef) -> Option<usize> {
    outs.iter().position(|out| out.term.alternatives.contains(type_ref))
}
