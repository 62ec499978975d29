//! What would keep a document from being sealed, found without sealing it.

use super::build::{Files, PlanError, compile};
use crate::model::Workflow;

/// The faults of texts, tables and limits with the document's own settings. Those another check reports are left out.
pub(in crate::check) fn faults(
    workflow: &Workflow,
    files: &Files,
    decode_table: &dyn Fn(&str) -> Result<crate::model::Table, String>,
) -> Vec<PlanError> {
    let (_, errors) = compile(workflow, files, &workflow.execution.limits, decode_table);
    errors.into_iter().filter(|error| !error.code.is_empty()).collect()
}
