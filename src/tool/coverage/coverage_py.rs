//! coverage.py's JSON, formats 2 and 3.
//!
//! Its percentages are not used: one mixes lines and branches, one is rounded text, and 0 of 0 is called 100 there.

use super::{Counts, Coverage};
use serde_json::Value;
use std::collections::BTreeSet;

/// Reads a report.
///
/// # Errors
/// A lower-case sentence: not JSON, or not of this format.
pub fn parse(text: &str) -> Result<Coverage, String> {
    let report: Value = serde_json::from_str(text).map_err(|fault| format!("the report is not JSON: {fault}"))?;
    let version = report.pointer("/meta/format").and_then(Value::as_u64);
    let files = report.get("files").and_then(Value::as_object).ok_or("the report has no `files`: it is not coverage.py's")?;
    let measured = report.pointer("/meta/branch_coverage").and_then(Value::as_bool);
    let mut coverage = Coverage { has_branches: measured.unwrap_or(false), ..Coverage::default() };
    if !matches!(version, Some(2 | 3)) {
        let version = version.map_or("none".to_owned(), |v| v.to_string());
        coverage.notes.push(format!("the report's format is {version}; 2 and 3 are known"));
    }
    for (path, file) in files {
        let counts = file_counts(file).ok_or_else(|| format!("the counts of {} can't be read", path.escape_debug()))?;
        coverage.add(path, counts);
    }
    Ok(coverage)
}

fn file_counts(file: &Value) -> Option<Counts> {
    let summary = |name: &str| file.pointer(&format!("/summary/{name}")).and_then(Value::as_u64);
    let executed = sources(file, "executed_branches");
    let missing = sources(file, "missing_branches");
    let partial_lines: BTreeSet<u64> = missing.iter().filter(|line| executed.contains(line)).copied().collect();
    Some(Counts {
        lines: summary("num_statements")?,
        covered_lines: summary("covered_lines")?,
        branches: summary("num_branches").unwrap_or(0),
        covered_branches: summary("covered_branches").unwrap_or(0),
        partial: summary("num_partial_branches"),
        excluded: summary("excluded_lines").unwrap_or(0),
        missing_lines: list(file, "missing_lines").iter().filter_map(Value::as_u64).collect(),
        partial_lines: partial_lines.into_iter().collect(),
    })
}

fn list<'a>(file: &'a Value, name: &str) -> &'a [Value] {
    file.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The lines branches start at. Where they lead may be 0 or negative (out of the function) and is not asked here.
fn sources(file: &Value, name: &str) -> Vec<u64> {
    list(file, name).iter().filter_map(|pair| pair.get(0).and_then(Value::as_u64)).collect()
}
