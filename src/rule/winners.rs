//! Who wins in a table of which several rows may match: the sets of rows that match together, each with an example.
//!
//! The table is evaluated at points made from the inputs' schemas and the constants that the conditions hold (both sides of each, and two whole
//! periods of what stands behind `%`). What is found is real; nothing is concluded from finding nothing ([`super::cover`] does that).

use super::{CompiledTable, Engine};
use crate::model::Table;
use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;

/// Points a table is evaluated at, at most.
const MOST_POINTS: usize = 20_000;
/// Evaluations of conditions, at most: a table of many rows is tried at fewer points.
const MOST_EVALUATIONS: usize = 100_000;
/// Longest period whose every number is tried.
const MOST_PERIOD: u64 = 2_000;
/// Constants of a kind taken from the conditions.
const MOST_CONSTANTS: usize = 200;

/// Rows that match at one point, in the order they are tried: the first one wins.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Their ids.
    pub rows: Vec<String>,
    /// Inputs at the first such point; those that no condition mentions are left out.
    pub at: Map<String, Value>,
}

/// The sets of rows that match together, in the order of their first point; at most `most`.
#[must_use]
pub fn winners(engine: &Engine, table: &Table, compiled: &CompiledTable, most: usize) -> Vec<Meeting> {
    let constants = Constants::of(table);
    let mut axes = Vec::new();
    for (name, schema) in &table.inputs {
        let mut values = values(schema, &constants);
        if !constants.names.contains(name) {
            values.truncate(1);
        }
        if values.is_empty() {
            return Vec::new();
        }
        axes.push((name.clone(), values));
    }
    let product = axes.iter().fold(1_usize, |product, (_, values)| product.saturating_mul(values.len()));
    let points = (MOST_EVALUATIONS / table.rules.len().max(1)).clamp(50, MOST_POINTS);
    let stride = if product <= points { 1 } else { (product / points) | 1 };
    let mut seen = BTreeSet::new();
    let mut meetings = Vec::new();
    for index in (0..product).step_by(stride).take(points) {
        let inputs = point(&axes, index);
        // A made-up value that a schema or a condition does not take is no point.
        let Ok(rows) = compiled.matching(engine, &inputs, false) else { continue };
        if rows.len() > 1 && seen.insert(rows.clone()) {
            let at = inputs.into_iter().filter(|(name, _)| constants.names.contains(name)).collect();
            meetings.push(Meeting { rows: rows.into_iter().map(|row| compiled.row_id(row).to_owned()).collect(), at });
            if meetings.len() >= most {
                break;
            }
        }
    }
    meetings
}

/// The point of a number: the first input changes slowest.
fn point(axes: &[(String, Vec<Value>)], index: usize) -> Map<String, Value> {
    let mut rest = index;
    let mut picked: Vec<(String, Value)> = Vec::with_capacity(axes.len());
    for (name, values) in axes.iter().rev() {
        let value = values.get(rest % values.len().max(1)).cloned().unwrap_or(Value::Null);
        rest /= values.len().max(1);
        picked.push((name.clone(), value));
    }
    picked.into_iter().rev().collect()
}

/// Constants and names that the conditions hold.
#[derive(Default)]
struct Constants {
    numbers: BTreeSet<i64>,
    texts: BTreeSet<String>,
    names: BTreeSet<String>,
    period: u64,
}

impl Constants {
    fn of(table: &Table) -> Self {
        let mut constants = Self { period: 1, ..Self::default() };
        for when in table.rules.iter().filter_map(|rule| rule.when.as_deref()) {
            constants.read(when);
        }
        constants
    }

    fn read(&mut self, when: &str) {
        let mut before = ' ';
        let mut rest = when;
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '\'' | '"' => {
                    let inner = rest.get(1..).unwrap_or_default();
                    let end = inner.find(c).unwrap_or(inner.len());
                    if self.texts.len() < MOST_CONSTANTS {
                        self.texts.insert(inner.get(..end).unwrap_or_default().to_owned());
                    }
                    (end + 2).min(rest.len())
                }
                _ if c.is_alphanumeric() || c == '_' => {
                    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                    self.word(rest.get(..end).unwrap_or_default(), before);
                    end
                }
                _ => c.len_utf8(),
            };
            if !c.is_whitespace() {
                before = c;
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn word(&mut self, word: &str, before: char) {
        let Ok(number) = word.parse::<i64>() else {
            self.names.insert(word.to_owned());
            return;
        };
        if self.numbers.len() < MOST_CONSTANTS {
            self.numbers.insert(number);
        }
        if before == '%' && number > 0 {
            let longer = lcm(self.period, number.unsigned_abs());
            self.period = longer.filter(|longer| *longer <= MOST_PERIOD).unwrap_or(self.period);
        }
    }
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

/// Values of an input that may tell rows apart; none where the schema does not say enough.
fn values(schema: &Value, constants: &Constants) -> Vec<Value> {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().take(MOST_CONSTANTS).cloned().collect();
    }
    if let Some(value) = schema.get("const") {
        return vec![value.clone()];
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut values = Vec::new();
    for name in types {
        match name {
            "integer" => values.extend(integers(schema, constants).into_iter().map(Value::from)),
            "number" => values.extend(numbers(schema, constants)),
            "boolean" => values.extend([Value::from(false), Value::from(true)]),
            "null" => values.push(Value::Null),
            "string" => {
                values.push(Value::from(""));
                values.extend(constants.texts.iter().filter(|text| !text.is_empty()).map(|text| Value::from(text.as_str())));
                values.push(Value::from("something else"));
            }
            // Made-up lists and objects would only show that their fields are missing.
            _ => return Vec::new(),
        }
    }
    values
}

fn integers(schema: &Value, constants: &Constants) -> BTreeSet<i64> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    let low = bound("minimum").or(bound("exclusiveMinimum").map(|low| low.saturating_add(1)));
    let high = bound("maximum").or(bound("exclusiveMaximum").map(|high| high.saturating_sub(1)));
    let from = low.unwrap_or(0);
    let span = i64::try_from(constants.period.saturating_mul(2)).unwrap_or(1);
    let mut points: BTreeSet<i64> = (from..=from.saturating_add(span)).collect();
    points.extend(constants.numbers.iter().flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]));
    points.extend([-1, 0, 1].into_iter().chain(low).chain(high));
    points.retain(|n| low.is_none_or(|low| *n >= low) && high.is_none_or(|high| *n <= high));
    points
}

fn numbers(schema: &Value, constants: &Constants) -> Vec<Value> {
    let whole: Vec<i64> = integers(schema, constants).into_iter().take(MOST_CONSTANTS).collect();
    #[expect(clippy::cast_precision_loss, reason = "a made-up point may be off by a little")]
    let halves = whole.iter().filter_map(|n| Number::from_f64(*n as f64 + 0.5)).map(Value::Number);
    whole.iter().copied().map(Value::from).chain(halves).collect()
}
