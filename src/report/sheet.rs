//! The table of a document as reporters need it: columns, rows, titles and the captions of its views.
//!
//! All texts are already fit for a terminal. A reporter knows a workflow only through this; it never names one.

use super::text::one_line;
use crate::model::Workflow;
use std::collections::BTreeMap;

/// Columns, rows and captions of one document.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Role ids in document order.
    pub roles: Vec<String>,
    /// Steps in document order: number and description.
    pub steps: Vec<(u32, String)>,
    /// `role@seq` → title of the cell.
    pub cells: BTreeMap<String, String>,
    /// Views by label: how each is drawn.
    pub views: BTreeMap<String, Drawing>,
}

/// How a view's value is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawing {
    /// As a text.
    #[default]
    Value,
    /// Its numbers of all rounds as a line.
    Curve,
    /// Rows and columns.
    Table,
    /// One bar per name.
    Bars,
}

impl Drawing {
    fn of(name: &str) -> Self {
        match name {
            "curve" => Self::Curve,
            "table" => Self::Table,
            "bars" => Self::Bars,
            _ => Self::Value,
        }
    }
}

impl Sheet {
    /// The table of a decoded document.
    #[must_use]
    pub fn of(workflow: &Workflow) -> Self {
        let cells = workflow.steps.iter().flat_map(|step| &step.cells);
        Self {
            roles: workflow.roles.iter().map(|role| one_line(&role.id)).collect(),
            steps: workflow.steps.iter().map(|step| (step.seq, one_line(&step.description))).collect(),
            cells: cells.map(|cell| (one_line(&format!("{}@{}", cell.role, cell.seq)), one_line(&cell.task))).collect(),
            views: workflow.execution.view.iter().map(|view| (view.label.clone(), Drawing::of(&view.shown_as))).collect(),
        }
    }
}
