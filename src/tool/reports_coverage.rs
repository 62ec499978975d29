//! `reports.coverage`: coverage.py JSON, LCOV or Cobertura XML → one form with counts per file and in total.
//!
//! Only counts are given: a rate of nothing is neither 0 nor 100, so whoever needs one divides and decides. No report, or one that can't be
//! read, is a fact about the test run (`readable: false`), not a failure of this tool.

use super::Desk;
use super::coverage::{Coverage, cobertura, coverage_py, lcov};
use super::given::{optional_text, wrong};
use crate::model::tool::ToolError;
use serde_json::Value;

/// Largest report, in bytes.
const TEXT_BYTES: usize = 32 * 1024 * 1024;

/// Runs the tool.
///
/// # Errors
/// `text` is neither a text nor null or far too large; `format` is not known.
pub fn run(_desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let text = optional_text(args, "text")?.unwrap_or_default();
    let format = optional_text(args, "format")?;
    if text.len() > TEXT_BYTES {
        return Err(wrong(format!("the report has {} bytes; at most {TEXT_BYTES} are read", text.len())));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = match format {
        Some(known @ ("coverage.py" | "lcov" | "cobertura")) => Some(known),
        Some(other) => return Err(wrong(format!("`{}` is no format; known: coverage.py, lcov, cobertura", other.escape_debug()))),
        None => recognised(text),
    };
    if text.trim().is_empty() {
        return Ok(Coverage::unreadable(format, "there is no report"));
    }
    let parsed = match format {
        Some("coverage.py") => coverage_py::parse(text),
        Some("lcov") => lcov::parse(text),
        Some("cobertura") => cobertura::parse(text),
        _ => Err("the report is none of coverage.py JSON, LCOV, Cobertura XML".to_owned()),
    };
    Ok(match parsed {
        Ok(coverage) => coverage.result(format.unwrap_or_default()),
        Err(reason) => Coverage::unreadable(format, &reason),
    })
}

fn recognised(text: &str) -> Option<&'static str> {
    match text.trim_start().chars().next()? {
        '{' => Some("coverage.py"),
        '<' => Some("cobertura"),
        _ if text.lines().any(|line| line.starts_with("SF:")) => Some("lcov"),
        _ => None,
    }
}
