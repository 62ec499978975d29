//! JSON ⇄ values of the expression language. Integers stay integers, order is kept, nothing undefined or infinite gets through.
//!
//! Every walk is bounded in depth and in the number of nodes: a value may share its parts and be far larger than its memory.

use super::{ExprError, ExprErrorKind, Val};
use minijinja::value::ValueKind;
use serde_json::{Map, Number, Value};

/// Deepest nesting of a result.
const DEPTH: usize = 128;
/// Most nodes of a result.
const NODES: usize = 1_000_000;
/// Most bytes of text in a result.
const BYTES: usize = 64 * 1024 * 1024;

/// The value of a JSON value.
#[must_use]
pub fn to_val(value: &Value) -> Val {
    match value {
        Value::Null => Val::from(()),
        Value::Bool(flag) => Val::from(*flag),
        Value::Number(number) => number_val(number),
        Value::String(text) => Val::from(text.as_str()),
        Value::Array(items) => Val::from(items.iter().map(to_val).collect::<Vec<_>>()),
        Value::Object(map) => Val::from_pairs(map.iter().map(|(key, value)| (key.as_str(), to_val(value)))),
    }
}

fn number_val(number: &Number) -> Val {
    number
        .as_i64()
        .map(Val::from)
        .or_else(|| number.as_u64().map(Val::from))
        .unwrap_or_else(|| Val::from(number.as_f64().unwrap_or(f64::NAN)))
}

/// The JSON value of `value`.
///
/// # Errors
/// When it (or a part of it) is undefined, no JSON number, keyed by something other than text, no data, or too large.
pub fn to_json(value: &Val) -> Result<Value, ExprError> {
    let mut budget = Budget::default();
    convert(value, 0, &mut budget)
}

/// What a walk may still visit.
struct Budget {
    nodes: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: NODES, bytes: BYTES }
    }
}

impl Budget {
    fn node(&mut self, depth: usize) -> Result<(), ExprError> {
        if depth > DEPTH {
            return Err(fault(ExprErrorKind::TooLarge, format!("the result is nested deeper than {DEPTH}")));
        }
        self.nodes =
            self.nodes.checked_sub(1).ok_or_else(|| fault(ExprErrorKind::TooLarge, format!("the result has more than {NODES} parts")))?;
        Ok(())
    }

    fn text(&mut self, bytes: usize) -> Result<(), ExprError> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| fault(ExprErrorKind::TooLarge, format!("the result has more than {BYTES} bytes of text")))?;
        Ok(())
    }
}

fn fault(kind: ExprErrorKind, message: impl Into<String>) -> ExprError {
    ExprError::new(kind, message, "")
}

fn convert(value: &Val, depth: usize, budget: &mut Budget) -> Result<Value, ExprError> {
    budget.node(depth)?;
    match value.kind() {
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number_json(value).map(Value::Number),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            budget.text(text.len())?;
            Ok(Value::String(text.to_owned()))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = iterate(value)?;
            items.map(|item| convert(&item?, depth + 1, budget)).collect::<Result<_, _>>().map(Value::Array)
        }
        ValueKind::Map => {
            let mut map = Map::new();
            for key in iterate(value)? {
                let (key, item) = member(value, &key?)?;
                budget.text(key.len())?;
                map.insert(key, convert(&item, depth + 1, budget)?);
            }
            Ok(Value::Object(map))
        }
        kind => Err(no_data(value, kind)),
    }
}

/// The parts of a list, or the keys of an object.
fn iterate(value: &Val) -> Result<impl Iterator<Item = Result<Val, ExprError>>, ExprError> {
    let items = value.try_iter().map_err(|error| ExprError::from_jinja(&error, "", 0))?;
    Ok(items.checked().map(|item| item.map_err(|error| ExprError::from_jinja(&error, "", 0))))
}

fn member(map: &Val, key: &Val) -> Result<(String, Val), ExprError> {
    let name = key.as_str().ok_or_else(|| fault(ExprErrorKind::Type, format!("the key {} of an object is no text", short(key))))?;
    let item = map.get_item(key).map_err(|error| ExprError::from_jinja(&error, "", 0))?;
    Ok((name.to_owned(), item))
}

fn no_data(value: &Val, kind: ValueKind) -> ExprError {
    match kind {
        ValueKind::Undefined => fault(ExprErrorKind::Undefined, "the result is undefined, or holds something undefined"),
        ValueKind::Invalid => match value.try_iter() {
            Err(error) => ExprError::from_jinja(&error, "", 0),
            Ok(_) => fault(ExprErrorKind::Type, "the result is invalid"),
        },
        other => fault(ExprErrorKind::Type, format!("the result is a {other}, which is no data")),
    }
}

fn number_json(value: &Val) -> Result<Number, ExprError> {
    if value.is_integer() {
        return i64::try_from(value.clone())
            .map(Number::from)
            .or_else(|_| u64::try_from(value.clone()).map(Number::from))
            .map_err(|_| fault(ExprErrorKind::TooLarge, format!("the integer {} does not fit 64 bits", short(value))));
    }
    let float = f64::try_from(value.clone()).unwrap_or(f64::NAN);
    Number::from_f64(float).ok_or_else(|| fault(ExprErrorKind::Type, format!("the number {float} is not finite")))
}

fn short(value: &Val) -> String {
    match value.kind() {
        ValueKind::Number | ValueKind::String | ValueKind::Bool | ValueKind::None => value.to_string().chars().take(60).collect(),
        kind => kind.to_string(),
    }
}

/// Checks a result and turns lazy parts into lists: what is handed out is data through and through.
pub(super) fn settle(value: Val) -> Result<Val, ExprError> {
    let mut budget = Budget::default();
    Ok(settled(&value, 0, &mut budget)?.unwrap_or(value))
}

/// `None` when `value` may stay as it is.
fn settled(value: &Val, depth: usize, budget: &mut Budget) -> Result<Option<Val>, ExprError> {
    budget.node(depth)?;
    match value.kind() {
        ValueKind::None | ValueKind::Bool => Ok(None),
        ValueKind::Number => number_json(value).map(|_| None),
        ValueKind::String => budget.text(value.as_str().map_or(0, str::len)).map(|()| None),
        ValueKind::Seq | ValueKind::Iterable => settled_list(value, depth, budget),
        ValueKind::Map => settled_map(value, depth, budget),
        kind => Err(no_data(value, kind)),
    }
}

fn settled_list(value: &Val, depth: usize, budget: &mut Budget) -> Result<Option<Val>, ExprError> {
    let mut changed = value.kind() == ValueKind::Iterable || value.is_tuple();
    let mut items = Vec::new();
    for item in iterate(value)? {
        let item = item?;
        let new = settled(&item, depth + 1, budget)?;
        changed |= new.is_some();
        items.push(new.unwrap_or(item));
    }
    Ok(changed.then(|| Val::from(items)))
}

fn settled_map(value: &Val, depth: usize, budget: &mut Budget) -> Result<Option<Val>, ExprError> {
    let mut changed = false;
    let mut pairs = Vec::new();
    for key in iterate(value)? {
        let (key, item) = member(value, &key?)?;
        budget.text(key.len())?;
        let new = settled(&item, depth + 1, budget)?;
        changed |= new.is_some();
        pairs.push((key, new.unwrap_or(item)));
    }
    Ok(changed.then(|| Val::from_pairs(pairs)))
}

/// How a value reads inside a text: none is empty, text is itself, lists and objects are compact JSON.
pub(super) fn in_text(value: &Val) -> Result<String, ExprError> {
    match value.kind() {
        ValueKind::None => Ok(String::new()),
        ValueKind::String => Ok(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Undefined => Err(fault(ExprErrorKind::Undefined, "something undefined stands in a text")),
        ValueKind::Number if value.is_integer() => Ok(value.to_string()),
        _ => to_json(value).map(|json| json.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_comes_back_as_it_went() {
        let value = json!({"z": [1, -2, 18_446_744_073_709_551_615_u64, 1.5, 2.0, null, true, "x", [], {}], "a": {"b": {}}});
        let back = to_json(&to_val(&value)).unwrap();
        assert_eq!(back.to_string(), value.to_string());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        assert_eq!(to_json(&Val::UNDEFINED).unwrap_err().kind, ExprErrorKind::Undefined);
        assert_eq!(to_json(&Val::from(f64::NAN)).unwrap_err().kind, ExprErrorKind::Type);
        assert_eq!(to_json(&Val::from(f64::INFINITY)).unwrap_err().kind, ExprErrorKind::Type);
        assert_eq!(to_json(&Val::from_pairs([(1, 2)])).unwrap_err().kind, ExprErrorKind::Type);
        assert_eq!(to_json(&Val::from(i128::MAX)).unwrap_err().kind, ExprErrorKind::TooLarge);
        assert_eq!(to_json(&Val::from(vec![Val::from(1), Val::UNDEFINED])).unwrap_err().kind, ExprErrorKind::Undefined);
    }

    #[test]
    fn shared_parts_do_not_multiply_without_end() {
        let mut value = Val::from(1);
        for _ in 0..60 {
            value = Val::from(vec![value.clone(), value]);
        }
        assert_eq!(to_json(&value).unwrap_err().kind, ExprErrorKind::TooLarge);
        assert_eq!(settle(value).unwrap_err().kind, ExprErrorKind::TooLarge);
    }
}
