//! Types of values as far as schemas and literals tell them. What is not known is any: nothing is concluded from it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Any,
    Null,
    Bool,
    Number,
    Text,
    List(Rc<Ty>),
    Object(Rc<Fields>),
    Either(Rc<Vec<Ty>>),
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Fields {
    pub known: BTreeMap<String, Ty>,
    /// There are no others.
    pub closed: bool,
}

/// Deepest nesting that is followed.
const DEPTH: usize = 12;

impl Ty {
    pub(super) fn list(of: Ty) -> Self {
        Ty::List(Rc::new(of))
    }

    pub(super) fn closed(fields: impl IntoIterator<Item = (String, Ty)>) -> Self {
        Ty::Object(Rc::new(Fields { known: fields.into_iter().collect(), closed: true }))
    }

    pub(super) fn open(fields: impl IntoIterator<Item = (String, Ty)>) -> Self {
        Ty::Object(Rc::new(Fields { known: fields.into_iter().collect(), closed: false }))
    }

    /// One of several types.
    pub(super) fn either(types: impl IntoIterator<Item = Ty>) -> Self {
        let mut all: Vec<Ty> = Vec::new();
        for ty in types {
            match ty {
                Ty::Either(inner) => inner.iter().for_each(|t| push(&mut all, t.clone())),
                other => push(&mut all, other),
            }
        }
        if all.is_empty() || all.len() > 40 || all.contains(&Ty::Any) {
            return Ty::Any;
        }
        if all.len() == 1 { all.remove(0) } else { Ty::Either(Rc::new(all)) }
    }

    /// The types it may be, without null: whoever reads a field has seen to that.
    pub(super) fn members(&self) -> Vec<Ty> {
        match self {
            Ty::Either(types) => types.iter().filter(|t| **t != Ty::Null).cloned().collect(),
            other => vec![other.clone()],
        }
    }

    /// What a list of this type holds; any where it is no list.
    pub(super) fn element(&self) -> Ty {
        Ty::either(self.members().into_iter().map(|t| if let Ty::List(of) = t { (*of).clone() } else { Ty::Any }))
    }

    /// The kinds of value it may be, as bits; `None` where that is not known.
    pub(super) fn kinds(&self) -> Option<u8> {
        match self {
            Ty::Any => None,
            Ty::Null => Some(1),
            Ty::Bool => Some(2),
            Ty::Number => Some(4),
            Ty::Text => Some(8),
            Ty::List(_) => Some(16),
            Ty::Object(_) => Some(32),
            Ty::Either(types) => types.iter().try_fold(0, |bits, ty| Some(bits | ty.kinds()?)),
        }
    }

    /// In words.
    pub(super) fn name(&self) -> String {
        match self {
            Ty::Any => "anything".to_owned(),
            Ty::Null => "null".to_owned(),
            Ty::Bool => "true or false".to_owned(),
            Ty::Number => "a number".to_owned(),
            Ty::Text => "a text".to_owned(),
            Ty::List(_) => "a list".to_owned(),
            Ty::Object(_) => "an object".to_owned(),
            Ty::Either(types) => {
                let mut names: Vec<String> = types.iter().map(Ty::name).collect();
                names.dedup();
                names.join(" or ")
            }
        }
    }

    /// The type of what a schema accepts. References within `root` are followed.
    pub(super) fn of_schema(root: &Value, schema: &Value, depth: usize) -> Ty {
        let Value::Object(map) = schema else { return Ty::Any };
        if depth > DEPTH {
            return Ty::Any;
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            return target.map_or(Ty::Any, |target| Ty::of_schema(root, target, depth + 1));
        }
        if let Some(only) = map.get("const") {
            return Ty::of_value(only, depth);
        }
        if let Some(listed) = map.get("enum").and_then(Value::as_array) {
            return Ty::either(listed.iter().map(|value| Ty::of_value(value, depth)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(forms) = map.get(key).and_then(Value::as_array) {
                return Ty::either(forms.iter().map(|form| Ty::of_schema(root, form, depth + 1)));
            }
        }
        if ["allOf", "if", "not", "patternProperties", "$dynamicRef"].iter().any(|key| map.contains_key(*key)) {
            return Ty::Any;
        }
        match map.get("type") {
            Some(Value::String(kind)) => of_kind(root, kind, map, depth),
            Some(Value::Array(kinds)) => Ty::either(kinds.iter().filter_map(Value::as_str).map(|kind| of_kind(root, kind, map, depth))),
            _ if map.contains_key("properties") => of_kind(root, "object", map, depth),
            _ => Ty::Any,
        }
    }

    /// The type of a literal; its objects may get other fields.
    pub(super) fn of_value(value: &Value, depth: usize) -> Ty {
        match value {
            _ if depth > DEPTH => Ty::Any,
            Value::Null => Ty::Null,
            Value::Bool(_) => Ty::Bool,
            Value::Number(_) => Ty::Number,
            Value::String(_) => Ty::Text,
            Value::Array(items) if items.is_empty() => Ty::list(Ty::Any),
            Value::Array(items) => Ty::list(Ty::either(items.iter().take(50).map(|item| Ty::of_value(item, depth + 1)))),
            Value::Object(map) => Ty::open(map.iter().map(|(key, item)| (key.clone(), Ty::of_value(item, depth + 1)))),
        }
    }
}

fn push(all: &mut Vec<Ty>, ty: Ty) {
    if !all.contains(&ty) {
        all.push(ty);
    }
}

fn of_kind(root: &Value, kind: &str, map: &Map<String, Value>, depth: usize) -> Ty {
    match kind {
        "null" => Ty::Null,
        "boolean" => Ty::Bool,
        "integer" | "number" => Ty::Number,
        "string" => Ty::Text,
        "array" => Ty::list(map.get("items").map_or(Ty::Any, |items| Ty::of_schema(root, items, depth + 1))),
        "object" => {
            let properties = map.get("properties").and_then(Value::as_object);
            let known: BTreeMap<String, Ty> =
                properties.into_iter().flatten().map(|(name, schema)| (name.clone(), Ty::of_schema(root, schema, depth + 1))).collect();
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
            if known.is_empty() && !closed { Ty::Object(Rc::new(Fields::default())) } else { Ty::Object(Rc::new(Fields { known, closed })) }
        }
        _ => Ty::Any,
    }
}
