//! What would keep a document from being sealed, found without sealing it.

use super::build::{Files, PlanError, compile};
use crate::model::Workflow;
use serde_json::Value;

/// The faults of texts and limits with the document's own settings. Those another check reports are left out.
pub(in crate::check) fn faults(workflow: &Workflow, files: &Files) -> Vec<PlanError> {
    // Decision tables are looked at by a check of their own.
    let (_, errors) = compile(workflow, files, &workflow.execution.limits, &|_| Err(String::new()));
    let limits = &workflow.execution.limits;
    let reported = |error: &PlanError| {
        let limit = error.place.strip_prefix("/limits/").and_then(|name| Some((name, limits.get(name)?)));
        limit.is_some_and(|(name, value)| is_misshapen(name, value))
    };
    errors.into_iter().filter(|error| !error.code.is_empty() && !reported(error)).collect()
}

/// Whether the check of the document's shape refuses this limit already.
fn is_misshapen(name: &str, value: &Value) -> bool {
    let computed = |text: &str| text.contains("{{") || text.contains("{%");
    match (name, value) {
        ("timeout", Value::Number(_)) => true,
        ("timeout", Value::String(text)) => !computed(text),
        (_, Value::String(_)) => false,
        ("cost" | "repairs", Value::Number(number)) => number.as_f64().is_none_or(|number| number < 0.0),
        (_, Value::Number(number)) => number.as_u64().is_none_or(|number| number < 1),
        _ => true,
    }
}
