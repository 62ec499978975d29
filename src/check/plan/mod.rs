//! The sealed plan: what runs was checked. Its constructor is private to this room; there is no second way in.
//!
//! A plan holds the typed document, the resolved net, every compiled expression, template, table and schema, and the settings of the run.
//! It never changes once built.

mod build;
mod definition;
mod inspect;
mod net;
mod register;

pub use build::{PlanError, Settings};
pub(super) use inspect::faults;
pub use net::{Net, NetCell, NetFlow, Part, Slot};

use crate::base::Limits;
use crate::governor::Governor;
use crate::model::{Cell, Workflow};
use crate::rule::{CompiledTable, Engine};
use crate::schema::{Schema, TypeSchemas};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A checked document, ready to run.
pub struct Plan {
    workflow: Workflow,
    net: Net,
    engine: Engine,
    tables: BTreeMap<String, CompiledTable>,
    governors: BTreeMap<String, Arc<Governor>>,
    schemas: TypeSchemas,
    outputs: BTreeMap<String, Schema>,
    params_schema: Option<Schema>,
    settings: Settings,
    limits: Limits,
    definitions: Vec<String>,
    /// By event.
    program_definitions: BTreeMap<String, String>,
    digest: String,
    mentioned: BTreeSet<String>,
}

impl Plan {
    /// The typed document.
    #[must_use]
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// The resolved net.
    #[must_use]
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Every text of the document, compiled.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Decision tables by name.
    #[must_use]
    pub fn tables(&self) -> &BTreeMap<String, CompiledTable> {
        &self.tables
    }

    /// Governors' tables by path.
    #[must_use]
    pub fn governors(&self) -> &BTreeMap<String, Arc<Governor>> {
        &self.governors
    }

    /// Schemas of handovers.
    #[must_use]
    pub fn schemas(&self) -> &TypeSchemas {
        &self.schemas
    }

    /// Schemas of agent operations with an `output` of their own, by the operation's pointer.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<String, Schema> {
        &self.outputs
    }

    /// Schema of the parameters.
    #[must_use]
    pub fn params_schema(&self) -> Option<&Schema> {
        self.params_schema.as_ref()
    }

    /// Configuration of the run, every layer merged.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.settings.config
    }

    /// Parameters as given, defaults filled in.
    #[must_use]
    pub fn params(&self) -> &Map<String, Value> {
        &self.settings.params
    }

    /// Limits of the run.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The document's cell behind a cell of the net.
    #[must_use]
    pub fn cell(&self, index: usize) -> &Cell {
        let (step, cell) = self.net.cells[index].source;
        &self.workflow.steps[step].cells[cell]
    }

    /// Whether any text of the document or its files mentions `word`, so that what nobody reads need not be computed.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        self.mentioned.contains(word)
    }

    /// Digest of a cell's definition with what it uses: role, types, rules, prompt files.
    #[must_use]
    pub fn definition(&self, cell: usize) -> &str {
        &self.definitions[cell]
    }

    /// Digest of a program of `on` with what it uses; empty where the document has no such program.
    #[must_use]
    pub fn program_definition(&self, event: &str) -> &str {
        self.program_definitions.get(event).map_or("", String::as_str)
    }

    /// Digest of the document with all its files.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }
}
