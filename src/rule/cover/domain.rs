//! Candidate values of a table's inputs: one at least in every region that its conditions can tell apart.
//!
//! Inputs that are compared with each other share their constants, and each region between two constants gets as many values as
//! there are such inputs, so that every order of them occurs. Remainders get a whole period in every region. Every candidate
//! fits the input's schema.

use super::atoms::Atoms;
use crate::rule::{Val, to_json, to_val};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Longest period of remainders that is looked at.
const PERIOD: i64 = 5000;
/// Most candidates of one input.
const CANDIDATES: usize = 20_000;

/// The candidates of one input.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    /// Its name.
    pub name: String,
    /// Values that fit its schema.
    pub values: Vec<(Value, Val)>,
    /// Whether they stand for all values, as far as conditions of the simple kinds can tell.
    pub exact: bool,
    /// It is compared with other inputs, so that single values must not be merged.
    pub paired: bool,
}

/// The domains of a table's inputs.
pub(super) fn domains(inputs: &Map<String, Value>, atoms: &Atoms) -> Vec<Domain> {
    let groups = groups(inputs, atoms);
    inputs.iter().map(|(name, schema)| domain(name, schema, groups.get(name), atoms)).collect()
}

/// What inputs that are compared with each other have in common.
#[derive(Clone, Debug, Default)]
struct Group {
    members: BTreeSet<String>,
    constants: Vec<Val>,
    divisors: Vec<i64>,
}

fn groups(inputs: &Map<String, Value>, atoms: &Atoms) -> BTreeMap<String, Group> {
    let mut of: BTreeMap<String, usize> = inputs.keys().enumerate().map(|(index, name)| (name.clone(), index)).collect();
    for (a, b) in &atoms.pairs {
        let (Some(from), Some(to)) = (of.get(a).copied(), of.get(b).copied()) else { continue };
        of.values_mut().filter(|group| **group == from).for_each(|group| *group = to);
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (name, index) in &of {
        let group = groups.entry(*index).or_default();
        group.members.insert(name.clone());
        group.constants.extend(atoms.constants.get(name).into_iter().flatten().cloned());
        group.divisors.extend(atoms.divisors.get(name).into_iter().flatten().copied());
        for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            group.constants.extend(inputs.get(name).and_then(|schema| schema.get(key)).map(to_val));
        }
    }
    of.into_iter().filter_map(|(name, index)| Some((name, groups.get(&index)?.clone()))).collect()
}

fn domain(name: &str, schema: &Value, group: Option<&Group>, atoms: &Atoms) -> Domain {
    let empty = Group::default();
    let group = group.unwrap_or(&empty);
    let known = [
        "type",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "title",
        "description",
        "default",
        "examples",
        "$comment",
    ];
    let mut exact = schema.as_object().is_some_and(|map| map.keys().all(|key| known.contains(&key.as_str())));
    let mut found: Vec<Value> = Vec::new();
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        found.extend(listed.iter().cloned());
    } else if let Some(only) = schema.get("const") {
        found.push(only.clone());
    } else {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec!["unknown"],
        };
        for kind in kinds {
            exact &= of_kind(kind, group, &mut found);
        }
        found.extend(schema.get("examples").and_then(Value::as_array).into_iter().flatten().cloned());
        found.extend(schema.get("default").cloned());
    }
    let validator = jsonschema::validator_for(schema).ok();
    found.retain(|value| validator.as_ref().is_none_or(|validator| validator.is_valid(value)));
    let mut seen = BTreeSet::new();
    found.retain(|value| seen.insert(value.to_string()));
    exact &= found.len() < CANDIDATES;
    // Examples are small, not negative and whole where they can be.
    found.sort_by(|a, b| weight(a).partial_cmp(&weight(b)).unwrap_or(std::cmp::Ordering::Equal));
    found.truncate(CANDIDATES);
    let paired = atoms.pairs.iter().any(|(a, b)| a == name || b == name);
    let values = found.into_iter().map(|value| (value.clone(), to_val(&value))).collect();
    Domain { name: name.to_owned(), values, exact, paired }
}

/// What makes a value a worse example.
fn weight(value: &Value) -> (i32, f64) {
    value.as_f64().map_or((0, 0.0), |n| (2 * i32::from(n < 0.0) + i32::from(n.fract() != 0.0), n.abs()))
}

/// Adds the candidates of a JSON type; false when they stand for nothing but themselves.
fn of_kind(kind: &str, group: &Group, found: &mut Vec<Value>) -> bool {
    match kind {
        "null" => found.push(Value::Null),
        "boolean" => found.extend([json!(false), json!(true)]),
        "integer" => return integers(group, found),
        "number" => {
            let whole = integers(group, found);
            fractions(group, found);
            return whole;
        }
        "string" => texts(group, found),
        "array" => {
            found.push(json!([]));
            return false;
        }
        "object" => {
            found.push(json!({}));
            return false;
        }
        _ => {
            found.extend([json!(0), json!(""), json!(false)]);
            return false;
        }
    }
    true
}

fn lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

fn numbers(group: &Group) -> Vec<f64> {
    let mut found: Vec<f64> =
        group.constants.iter().filter(|c| c.is_number()).filter_map(|c| f64::try_from(c.clone()).ok()).filter(|c| c.is_finite()).collect();
    found.push(0.0);
    found.sort_by(f64::total_cmp);
    found.dedup();
    found
}

/// Constants and, in every region between them, as many whole numbers as orders and remainders need.
fn integers(group: &Group, found: &mut Vec<Value>) -> bool {
    let period = group.divisors.iter().copied().fold(1, lcm);
    let exact = period <= PERIOD;
    let period = if exact { period } else { PERIOD };
    let size = i64::try_from(group.members.len()).unwrap_or(8).clamp(1, 8);
    let reach = period.saturating_mul(size);
    let most = 9_007_199_254_740_992.0;
    let mut whole: Vec<i64> = Vec::new();
    for c in numbers(group) {
        #[expect(clippy::cast_possible_truncation, reason = "clamped to what a float holds exactly")]
        whole.extend([c.floor(), c.ceil()].map(|c| c.clamp(-most, most) as i64));
    }
    whole.sort_unstable();
    whole.dedup();
    let (Some(first), Some(last)) = (whole.first().copied(), whole.last().copied()) else { return exact };
    let mut points: BTreeSet<i64> = whole.iter().copied().collect();
    points.extend((1..=reach).map(|n| first - n));
    points.extend((1..=reach).map(|n| last + n));
    for pair in whole.windows(2) {
        if let [low, high] = pair {
            points.extend((1..=reach).map(|n| low + n).take_while(|n| n < high));
        }
    }
    found.extend(points.into_iter().map(Value::from));
    exact && group.members.len() <= 8
}

/// In every region between constants, as many numbers as orders need.
fn fractions(group: &Group, found: &mut Vec<Value>) {
    let constants = numbers(group);
    found.extend(constants.iter().map(|c| json!(c)));
    let parts = u8::try_from(group.members.len()).unwrap_or(8).clamp(1, 8);
    for pair in constants.windows(2) {
        if let [low, high] = pair {
            let step = (high - low) / f64::from(parts + 1);
            found.extend((1..=parts).map(|n| json!(low + step * f64::from(n))));
        }
    }
    let ends = [constants.first().map(|c| c - 0.5), constants.last().map(|c| c + 0.5)];
    found.extend(ends.into_iter().flatten().map(|c| json!(c)));
}

/// The texts of the constants, and others, as many as are compared with each other.
fn texts(group: &Group, found: &mut Vec<Value>) {
    let known: BTreeSet<String> = group.constants.iter().filter_map(|c| to_json(c).ok()?.as_str().map(str::to_owned)).collect();
    found.extend(known.iter().map(|text| json!(text)));
    let others = (0..).map(|n| if n == 0 { "other".to_owned() } else { format!("other-{n}") }).filter(|text| !known.contains(text));
    found.extend(others.take(group.members.len().clamp(1, 8)).map(|text| json!(text)));
}
