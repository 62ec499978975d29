//! Seals a checked document into a plan: resolves the net, compiles every text, table and schema.

use super::Plan;
use super::definition::{definitions, programs};
use super::net::Net;
use super::register::{Registered, register};
use crate::base::{Limits, digest_json};
use crate::governor::Governor;
use crate::model::{Ordering, TableRef, TypeDef, Workflow};
use crate::rule::{CompiledTable, Engine, ExprError, Limits as TextLimits};
use crate::schema::{Schema, TypeSchemas};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run adds to a document: configuration, limits and parameters with every layer merged (docs/language.md, 3).
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The merged `config`.
    pub config: Value,
    /// The merged `limits`.
    pub limits: Map<String, Value>,
    /// Parameters as given, defaults filled in.
    pub params: Map<String, Value>,
}

/// Why a document cannot be sealed: pointer into the document (or a file's path) and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct PlanError {
    /// JSON pointer, or the path of a file of the bundle.
    pub place: String,
    /// Lower-case sentence.
    pub message: String,
    /// Which finding of `rsf validate` it is; empty where another check of the document reports it.
    pub code: &'static str,
    /// The bytes meant in the text at that place.
    pub range: Option<(usize, usize)>,
    /// The file of the bundle it stands in, where it is not the document.
    pub file: Option<String>,
}

impl PlanError {
    /// Something that another check of the document reports.
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::coded("", place, message)
    }

    pub(super) fn coded(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), code, range: None, file: None }
    }

    /// A text that does not compile.
    pub(super) fn text(place: impl Into<String>, error: &ExprError) -> Self {
        Self { range: error.range, ..Self::coded("RSF913", place, error.message.clone()) }
    }
}

/// Reads a decision table of a file.
pub(super) type DecodeTable<'a> = &'a dyn Fn(&str) -> Result<crate::model::Table, String>;

/// What a document compiles to.
pub(super) struct Parts {
    limits: Limits,
    engine: Engine,
    outputs: BTreeMap<String, Schema>,
    tables: BTreeMap<String, CompiledTable>,
    governors: BTreeMap<String, Arc<Governor>>,
    schemas: TypeSchemas,
    params_schema: Option<Schema>,
}

/// Most cells of a document that is ordered by its flows: what is before what takes memory with the square of their number.
const ORDERED_CELLS: usize = 10_000;

/// Compiles everything a document holds; the errors are all that keeps it from being sealed.
pub(super) fn compile(
    workflow: &Workflow,
    files: &Files,
    limits: &Map<String, Value>,
    decode_table: DecodeTable<'_>,
) -> (Parts, Vec<PlanError>) {
    let mut errors = Vec::new();
    let mut whole = Limits::default();
    let known = |name: &String| Limits::NAMES.contains(&name.as_str()) || !workflow.execution.limits.contains_key(name);
    // Of an unknown name in the document the check of its shape warns, and it is ignored.
    let limits: Map<String, Value> = limits.iter().filter(|(name, _)| known(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    for (name, value) in &limits {
        let mut one = Map::new();
        one.insert(name.clone(), value.clone());
        if let Err(message) = Limits::read(&one) {
            errors.push(PlanError::coded("RSF915", pointer("/limits", name), message));
        }
    }
    if errors.is_empty() {
        whole = Limits::read(&limits).unwrap_or_default();
    }
    let cells: usize = workflow.steps.iter().map(|step| step.cells.len()).sum();
    if workflow.execution.ordering == Ordering::Flows && cells > ORDERED_CELLS {
        let message = format!("the document has {cells} cells; ordered by its flows it may have {ORDERED_CELLS}");
        errors.push(PlanError::coded("RSF917", "/ordering", message));
    }
    let template_bytes = crate::base::limits::TEMPLATE_BYTES;
    let mut engine = Engine::new(TextLimits { fuel: whole.fuel, expression_bytes: whole.expression_size, template_bytes });
    let Registered { outputs, governors } = register(workflow, files, &mut engine, &mut errors);
    let tables = compile_tables(workflow, files, &mut engine, decode_table, &mut errors);
    let governors = compile_governors(&governors, files, &mut engine, decode_table, &mut errors);
    let schemas = compile_types(&workflow.execution.types, files, &mut errors);
    let params_schema = workflow.execution.params.as_ref().and_then(|schema| match Schema::compile(schema) {
        Ok(schema) => Some(schema),
        Err(message) => {
            errors.push(PlanError::new("/params", message.to_string()));
            None
        }
    });
    (Parts { limits: whole, engine, outputs, tables, governors, schemas, params_schema }, errors)
}

/// `{base}/{name}` as a JSON pointer.
pub(super) fn pointer(base: &str, name: &str) -> String {
    let mut pointer = base.to_owned();
    crate::syntax::push_segment(&mut pointer, name);
    pointer
}

/// Files of the bundle by their path from its root.
pub(super) type Files = BTreeMap<String, Arc<str>>;

impl Plan {
    /// Seals `workflow`. `document` is its JSON, `files` the bundle's files by path; `decode_table` reads a decision table of a file.
    ///
    /// # Errors
    /// Everything that keeps the document from running: texts that do not compile, files that are missing, schemas that are none.
    pub fn seal(
        workflow: Workflow,
        document: &Value,
        files: &Files,
        settings: Settings,
        decode_table: DecodeTable<'_>,
    ) -> Result<Self, Vec<PlanError>> {
        let (Parts { limits, engine, outputs, tables, governors, schemas, params_schema }, errors) =
            compile(&workflow, files, &settings.limits, decode_table);
        if !errors.is_empty() {
            return Err(errors);
        }
        let Some(net) = Net::new(&workflow) else {
            return Err(vec![PlanError::new("", "flows and cells do not fit: `rsf validate` names the place")]);
        };
        let definitions = definitions(&net, document, files);
        let program_definitions = programs(document, files);
        let digest = digest_json(
            &json!({"document": document, "files": files.iter().map(|(p, t)| (p.clone(), Value::from(&**t))).collect::<Map<_, _>>()}),
        );
        Ok(Self {
            workflow,
            net,
            engine,
            tables,
            governors,
            schemas,
            outputs,
            params_schema,
            settings,
            limits,
            definitions,
            program_definitions,
            digest,
            mentioned: mentioned(document, files),
        })
    }
}

/// The costly facts that some text of the document or of its prompt files may read.
fn mentioned(document: &Value, files: &Files) -> std::collections::BTreeSet<String> {
    let text = document.to_string();
    let prompts: Vec<&Arc<str>> = files.iter().filter(|(path, _)| path.starts_with("prompts/")).map(|(_, text)| text).collect();
    ["usage", "run"]
        .into_iter()
        .filter(|word| {
            // `run` is also a key of every cell, so only its use as a name counts.
            let used = |text: &str| *word != "run" && text.contains(word) || *word == "run" && speaks_of_run(text);
            used(&text) || prompts.iter().any(|prompt| used(prompt))
        })
        .map(str::to_owned)
        .collect()
}

fn speaks_of_run(text: &str) -> bool {
    text.match_indices("run").any(|(start, word)| {
        let rest = text[start + word.len()..].trim_start_matches(' ');
        rest.starts_with(['.', '[', '|', '}', ')', ',', '%', '=', '!', '~'])
    })
}

fn compile_tables(
    workflow: &Workflow,
    files: &Files,
    engine: &mut Engine,
    decode_table: DecodeTable<'_>,
    errors: &mut Vec<PlanError>,
) -> BTreeMap<String, CompiledTable> {
    let mut tables = BTreeMap::new();
    for (name, reference) in &workflow.execution.rules {
        let place = pointer("/rules", name);
        let table = match reference {
            TableRef::Inline(table) => Ok(table.clone()),
            TableRef::Path(path) => {
                files.get(path).ok_or_else(|| format!("no file `{path}` in the bundle")).and_then(|text| decode_table(text))
            }
        };
        match table {
            Ok(table) => match CompiledTable::compile(&table, engine) {
                Ok(compiled) => {
                    tables.insert(name.clone(), compiled);
                }
                Err(faults) => errors.extend(faults.into_iter().map(|fault| PlanError::new(&place, fault.to_string()))),
            },
            Err(message) => errors.push(PlanError::new(place, message)),
        }
    }
    tables
}

/// Compiles the tables named as `governor`; what a table names must be there too.
fn compile_governors(
    named: &BTreeMap<String, String>,
    files: &Files,
    engine: &mut Engine,
    decode_table: DecodeTable<'_>,
    errors: &mut Vec<PlanError>,
) -> BTreeMap<String, Arc<Governor>> {
    let mut governors = BTreeMap::new();
    for (path, place) in named {
        let text = files.get(path).ok_or_else(|| format!("no file `{path}` in the bundle"));
        let compiled = text.and_then(|text| decode_table(text)).and_then(|table| {
            Governor::compile(&table, engine).map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        });
        match compiled {
            Ok(governor) => {
                let missing =
                    governor.options.constraint.as_ref().filter(|file| !(file.starts_with("prompts/") && files.contains_key(*file)));
                if let Some(file) = missing {
                    errors.push(PlanError::new(path, format!("`constraint` names `{file}`, which is no file under `prompts/`")));
                }
                governors.insert(path.clone(), Arc::new(governor));
            }
            Err(message) => errors.push(PlanError::new(place, format!("the governor `{path}` cannot be used: {message}"))),
        }
    }
    governors
}

fn compile_types(types: &BTreeMap<String, TypeDef>, files: &Files, errors: &mut Vec<PlanError>) -> TypeSchemas {
    let mut schemas = TypeSchemas::default();
    for (name, definition) in types {
        for (role, path) in &definition.schema {
            match schema_file(path, files) {
                Ok(schema) => schemas.insert(name, role, schema),
                Err(message) => errors.push(PlanError::new(format!("{}/schema", definition.at), message)),
            }
        }
    }
    schemas
}

/// Compiles a schema file of the bundle.
pub(super) fn schema_file(path: &str, files: &Files) -> Result<Schema, String> {
    let text = files.get(path).ok_or_else(|| format!("no file `{path}` in the bundle"))?;
    let value: Value = serde_json::from_str(text).map_err(|e| format!("{path}: {e}"))?;
    Schema::compile(&value).map_err(|e| format!("{path}: {e}"))
}
