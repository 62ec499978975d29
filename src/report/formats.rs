//! Findings in the forms of other tools: SARIF 2.1.0 for code scanning, workflow commands for GitHub Actions.

use super::diagnostics::json;
use crate::base::{Problem, Sources};
use serde_json::{Value, json as object};

/// The findings (in the form of `--format json`) as a SARIF log with one run; `codes` are all codes with their titles.
#[must_use]
pub fn sarif(findings: &[Value], codes: &[(String, String)]) -> Value {
    let rules: Vec<Value> = codes.iter().map(|(code, title)| object!({"id": code, "shortDescription": {"text": title}})).collect();
    let results: Vec<Value> = findings.iter().map(sarif_result).collect();
    let driver = object!({"name": "rsf", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    object!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    })
}

fn sarif_result(finding: &Value) -> Value {
    let text = |key: &str| finding[key].as_str().unwrap_or_default();
    let message = match text("help") {
        "" => text("message").to_owned(),
        help => format!("{}; {help}", text("message")),
    };
    let related: Vec<Value> = finding["related"].as_array().into_iter().flatten().map(sarif_location).collect();
    object!({
        "ruleId": finding["code"],
        "level": finding["severity"],
        "message": {"text": message},
        "locations": [sarif_location(finding)],
        "relatedLocations": related,
    })
}

fn sarif_location(place: &Value) -> Value {
    let region = object!({
        "startLine": place["line"], "startColumn": place["column"], "endLine": place["endLine"], "endColumn": place["endColumn"],
    });
    object!({"physicalLocation": {"artifactLocation": {"uri": place["file"]}, "region": region}})
}

/// One workflow command per finding.
#[must_use]
pub fn github(problems: &[Problem], sources: &Sources) -> String {
    let mut out = String::new();
    for finding in json(problems, sources, &|_| None) {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let command = match text("severity").as_str() {
            "note" => "notice".to_owned(),
            other => other.to_owned(),
        };
        let message = if text("help").is_empty() { text("message") } else { format!("{}; {}", text("message"), text("help")) };
        out.push_str(&format!(
            "::{command} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
            property(&text("file")),
            finding["line"],
            finding["column"],
            finding["endLine"],
            finding["endColumn"],
            property(&text("code")),
            data(&message)
        ));
    }
    out
}

/// A message as GitHub reads it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property as GitHub reads it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
