//! What a decision table covers: gaps, overlaps and who wins them, rows that never speak; each with a witness.
//!
//! Conditions are free expressions, so nothing is proved from their text: the table is evaluated over points made from the inputs' schemas
//! and the constants that the conditions hold (both sides of each, and two whole periods of what stands behind `%`).

use super::{CompiledTable, Engine, TableError, TableErrorKind};
use crate::model::{HitPolicy, Table};
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Points a table is evaluated at, at most.
const MOST_POINTS: usize = 20_000;
/// Evaluations of conditions, at most: a table of many rows is tried at fewer points.
const MOST_EVALUATIONS: usize = 100_000;
/// Longest period whose every number is tried.
const MOST_PERIOD: u64 = 2_000;
/// Constants of a kind taken from the conditions.
const MOST_CONSTANTS: usize = 200;

/// Inputs that show something; those that no condition mentions are left out.
pub type Witness = Map<String, Value>;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// Points at which the table was evaluated.
    pub points: usize,
    /// Whether all points that were thought of could be tried.
    pub complete: bool,
    /// Inputs that conditions mention and for which no values could be made up; nothing was tried then.
    pub untried: Vec<String>,
    /// Points at which no row matches, and the first of them.
    pub gaps: (usize, Option<Witness>),
    /// Sets of rows that match together, in the order of their first point.
    pub overlaps: Vec<Overlap>,
    /// Rows that match at no point.
    pub silent: Vec<String>,
    /// Rows that match but never win, each with a row that wins over it and a point.
    pub beaten: Vec<(String, String, Witness)>,
    /// Conditions and results that cannot be evaluated at a point.
    pub errors: Vec<(TableError, Witness)>,
}

/// Rows that match at one point.
#[derive(Clone, Debug)]
pub struct Overlap {
    /// Their ids, in the order they are tried.
    pub rows: Vec<String>,
    /// The first such point.
    pub at: Witness,
    /// Whether their results are the same there.
    pub agree: bool,
}

/// Evaluates `table` over its points.
#[must_use]
pub fn cover(engine: &Engine, table: &Table, compiled: &CompiledTable) -> Cover {
    let constants = Constants::of(table);
    let mentioned = |name: &str| constants.names.contains(name);
    let mut axes = Vec::new();
    let mut cover = Cover { complete: true, ..Cover::default() };
    for (name, schema) in &table.inputs {
        let mut values = values(schema, &constants);
        if values.is_empty() {
            cover.untried.push(name.clone());
        } else if !mentioned(name) {
            values.truncate(1);
        }
        axes.push((name.clone(), values));
    }
    if !cover.untried.is_empty() {
        return cover;
    }
    let product = axes.iter().fold(1_usize, |product, (_, values)| product.saturating_mul(values.len()));
    let most = (MOST_EVALUATIONS / table.rules.len().max(1)).clamp(50, MOST_POINTS);
    cover.complete = product <= most;
    // An odd stride that shares no factor with a period would be luck; thinning is said to be thinning.
    let stride = if cover.complete { 1 } else { (product / most) | 1 };
    let mut tally = Tally::default();
    for index in (0..product).step_by(stride).take(most) {
        let inputs = point(&axes, index);
        let witness = || inputs.iter().filter(|(name, _)| mentioned(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        match compiled.matching(engine, &inputs, false) {
            Ok(rows) => {
                cover.points += 1;
                tally.add(&mut cover, engine, compiled, &rows, &inputs, &witness);
            }
            // A made-up value that the schema does not take is no point.
            Err(error) if error.kind == TableErrorKind::Input => {}
            Err(error) => fault(&mut cover, error, witness()),
        }
    }
    tally.conclude(&mut cover, table, compiled);
    cover
}

/// Keeps the first error of each row.
fn fault(cover: &mut Cover, error: TableError, at: Witness) {
    if !cover.errors.iter().any(|(known, _)| known.row == error.row && known.kind == error.kind) {
        cover.errors.push((error, at));
    }
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

#[derive(Default)]
struct Tally {
    matched: BTreeSet<usize>,
    won: BTreeSet<usize>,
    lost: BTreeMap<usize, (usize, Witness)>,
    sets: BTreeSet<Vec<usize>>,
    rendered: BTreeSet<usize>,
}

impl Tally {
    fn add(
        &mut self,
        cover: &mut Cover,
        engine: &Engine,
        table: &CompiledTable,
        rows: &[usize],
        inputs: &Map<String, Value>,
        witness: &dyn Fn() -> Witness,
    ) {
        let Some(first) = rows.first() else {
            cover.gaps.0 += 1;
            if cover.gaps.1.is_none() {
                cover.gaps.1 = Some(witness());
            }
            return;
        };
        self.matched.extend(rows);
        self.won.insert(*first);
        for row in rows.iter().skip(1) {
            self.lost.entry(*row).or_insert_with(|| (*first, witness()));
        }
        for row in rows {
            if self.rendered.insert(*row)
                && let Err(error) = table.result(engine, *row, inputs)
            {
                fault(cover, error, witness());
            }
        }
        if rows.len() > 1 && self.sets.insert(rows.to_vec()) {
            let results: Vec<_> = rows.iter().map(|row| table.result(engine, *row, inputs).ok()).collect();
            let agree = results.windows(2).all(|pair| pair[0] == pair[1]);
            let rows = rows.iter().map(|row| table.row_id(*row).to_owned()).collect();
            cover.overlaps.push(Overlap { rows, at: witness(), agree });
        }
    }

    fn conclude(self, cover: &mut Cover, table: &Table, compiled: &CompiledTable) {
        if cover.points == 0 {
            return;
        }
        let one_wins = matches!(table.hit_policy, HitPolicy::First | HitPolicy::Priority);
        let failed: BTreeSet<&str> = cover.errors.iter().filter_map(|(error, _)| error.row.as_deref()).collect();
        for row in 0..table.rules.len() {
            let id = compiled.row_id(row).to_owned();
            if !self.matched.contains(&row) && !failed.contains(id.as_str()) {
                cover.silent.push(id);
            } else if one_wins
                && !self.won.contains(&row)
                && let Some((winner, at)) = self.lost.get(&row)
            {
                cover.beaten.push((id, compiled.row_id(*winner).to_owned(), at.clone()));
            }
        }
    }
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
