//! Draws the values of a document's `view` as text: values, curves over the rounds, tables and bars.
//!
//! Labels and values come from the document; nothing here knows what they mean.

use super::sheet::Drawing;
use super::text::{clip, one_line, width};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const MAX_ROWS: usize = 20;
const MAX_COLUMNS: usize = 8;
const CELL_COLUMNS: usize = 32;
const BAR_COLUMNS: f64 = 24.0;
const CURVE_POINTS: usize = 40;
const TEXT_COLUMNS: usize = 110;

/// The numbers a label had so far; what a curve is drawn from.
#[derive(Clone, Debug, Default)]
pub struct History(BTreeMap<String, Vec<f64>>);

impl History {
    /// Remembers the numbers among the values of one round.
    pub fn add(&mut self, values: &Map<String, Value>) {
        for (label, value) in values {
            if let Some(number) = value.as_f64() {
                let points = self.0.entry(label.clone()).or_default();
                points.push(number);
                // A curve shows the newest points only; a long run must not grow this list without end.
                if points.len() > CURVE_POINTS {
                    points.remove(0);
                }
            }
        }
    }

    fn points(&self, label: &str) -> &[f64] {
        self.0.get(label).map_or(&[], Vec::as_slice)
    }
}

/// Lines that show one value under its label.
#[must_use]
pub fn draw(label: &str, value: &Value, drawing: Drawing, history: &History) -> Vec<String> {
    let label_text = one_line(label);
    match (drawing, value) {
        (Drawing::Curve, Value::Number(_)) => vec![format!("{label_text}: {} {}", spark(history.points(label)), plain(value))],
        (Drawing::Bars, Value::Object(map)) if map.values().any(Value::is_number) => headed(&label_text, bars(map)),
        (Drawing::Table, Value::Array(rows)) if !rows.is_empty() => headed(&label_text, table(rows)),
        (Drawing::Table, Value::Object(map)) if !map.is_empty() => headed(&label_text, pairs(map)),
        _ => vec![format!("{label_text}: {}", clip(&plain(value), TEXT_COLUMNS))],
    }
}

/// A value in one line: strings bare, everything else as compact JSON.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Null => "–".to_owned(),
        other => one_line(&other.to_string()),
    }
}

fn headed(label: &str, rows: Vec<String>) -> Vec<String> {
    std::iter::once(format!("{label}:")).chain(rows.into_iter().map(|row| format!("  {row}"))).collect()
}

/// `▁▃█` between the least and the greatest of the points; a flat line stays low.
fn spark(points: &[f64]) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let low = points.iter().copied().fold(f64::INFINITY, f64::min);
    let span = points.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
    let level = |point: f64| if span > 0.0 { (point - low) / span * 7.0 } else { 0.0 };
    points.iter().map(|point| LEVELS.get(to_count(level(*point))).copied().unwrap_or('?')).collect()
}

fn bars(map: &Map<String, Value>) -> Vec<String> {
    let rows: Vec<(String, Option<f64>, String)> = map
        .iter()
        .take(MAX_ROWS)
        .map(|(name, value)| (clip(&one_line(name), CELL_COLUMNS), value.as_f64(), clip(&plain(value), CELL_COLUMNS)))
        .collect();
    let names = rows.iter().map(|(name, ..)| width(name)).max().unwrap_or(0);
    let top = rows.iter().filter_map(|(_, number, _)| *number).fold(0.0, f64::max);
    let bar =
        |number: f64| if top > 0.0 && number > 0.0 { "█".repeat(to_count(number / top * BAR_COLUMNS).max(1)) } else { String::new() };
    let mut out: Vec<String> = rows
        .iter()
        .map(|(name, number, text)| format!("{name}{} {} {text}", " ".repeat(names - width(name)), number.map(bar).unwrap_or_default()))
        .collect();
    push_rest(&mut out, map.len());
    out
}

fn pairs(map: &Map<String, Value>) -> Vec<String> {
    let mut grid = grid();
    for (name, value) in map.iter().take(MAX_ROWS) {
        grid.add_row([cell(name), clip(&plain(value), CELL_COLUMNS * 2)]);
    }
    finish(&grid, map.len())
}

/// Rows that are objects make columns of the first row's keys; anything else is one column.
fn table(rows: &[Value]) -> Vec<String> {
    let mut grid = grid();
    let columns: Vec<&String> =
        rows.iter().find_map(Value::as_object).map(|row| row.keys().take(MAX_COLUMNS).collect()).unwrap_or_default();
    if !columns.is_empty() {
        grid.set_header(columns.iter().map(|name| cell(name)));
    }
    for row in rows.iter().take(MAX_ROWS) {
        match row {
            Value::Object(fields) if !columns.is_empty() => {
                grid.add_row(
                    columns
                        .iter()
                        .map(|name| fields.get(name.as_str()).map(plain).map_or_else(String::new, |text| clip(&text, CELL_COLUMNS))),
                );
            }
            other => {
                grid.add_row([clip(&plain(other), CELL_COLUMNS * 2)]);
            }
        }
    }
    finish(&grid, rows.len())
}

fn cell(text: &str) -> String {
    clip(&one_line(text), CELL_COLUMNS)
}

/// An empty table in the house style; texts are clipped before they are put in, so that nothing wraps.
pub(super) fn grid() -> Table {
    let mut grid = Table::new();
    grid.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    grid
}

fn finish(grid: &Table, total: usize) -> Vec<String> {
    let mut out: Vec<String> = grid.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    push_rest(&mut out, total);
    out
}

fn push_rest(out: &mut Vec<String>, total: usize) {
    if total > MAX_ROWS {
        out.push(format!("… {} more", total - MAX_ROWS));
    }
}

/// A small non-negative float as a count; the callers keep it below a hundred.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=100 just before")]
fn to_count(number: f64) -> usize {
    number.round().clamp(0.0, 100.0) as usize
}
