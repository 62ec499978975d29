//! Decision tables: rows of conditions over checked inputs, and a policy that says which matches count.
//!
//! A condition that cannot be evaluated is an error that names its row, never a row that does not match.

use super::{Engine, ExprError, Leaves, Names, Scope};
use crate::model::{HitPolicy, Rule, Table};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table whose texts are registered in an engine and whose input schemas are compiled.
#[derive(Clone, Debug)]
pub struct CompiledTable {
    policy: HitPolicy,
    inputs: Arc<BTreeMap<String, jsonschema::Validator>>,
    /// In the order they are tried: document order, or falling priority.
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    id: String,
    when: Option<String>,
    then: Value,
}

/// Why a table could not be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TableError {
    /// What kind of fault.
    pub kind: TableErrorKind,
    /// Lower-case sentence; names the row where there is one.
    pub message: String,
    /// Id of the row.
    pub row: Option<String>,
    /// JSON pointer inside the table.
    pub at: String,
    /// The expression's or template's own error.
    pub cause: Option<Box<ExprError>>,
}

/// Kinds of [`TableError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableErrorKind {
    /// An input's schema is no JSON Schema.
    Schema,
    /// Two rows have the same id.
    Id,
    /// An input is missing, undeclared, or does not match its schema.
    Input,
    /// A condition does not compile or cannot be evaluated.
    Condition,
    /// A result does not compile or cannot be evaluated.
    Result,
    /// `unique`: more than one row matches; `any`: matches disagree.
    Matches,
}

impl TableError {
    /// A fault of a table as a whole, or of the row its message names.
    #[must_use]
    pub fn new(kind: TableErrorKind, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), row: None, at: at.into(), cause: None }
    }

    fn of_row(kind: TableErrorKind, at: impl Into<String>, row: &str, cause: ExprError) -> Self {
        let what = if kind == TableErrorKind::Condition { "the condition" } else { "the result" };
        let message = format!("{what} of row `{row}` cannot be used: {}", cause.message);
        Self { row: Some(row.to_owned()), cause: Some(Box::new(cause)), ..Self::new(kind, at, message) }
    }
}

impl CompiledTable {
    /// Compiles the schemas of the inputs and registers every text of the table.
    ///
    /// # Errors
    /// All faults of the table, in its order.
    pub fn compile(table: &Table, engine: &mut Engine) -> Result<Self, Vec<TableError>> {
        let mut faults = Vec::new();
        let inputs = compile_inputs(&table.inputs, &mut faults);
        let mut seen = BTreeSet::new();
        for (index, rule) in table.rules.iter().enumerate() {
            if !seen.insert(rule.id.as_str()) {
                let message = format!("two rows have the id `{}`", rule.id);
                faults.push(TableError {
                    row: Some(rule.id.clone()),
                    ..TableError::new(TableErrorKind::Id, format!("/rules/{index}/id"), message)
                });
            }
            register(rule, index, &table.inputs, engine, &mut faults);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut rules: Vec<&Rule> = table.rules.iter().collect();
        if table.hit_policy == HitPolicy::Priority {
            rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        }
        let rows = rules.into_iter().map(|rule| Row { id: rule.id.clone(), when: rule.when.clone(), then: rule.then.clone() }).collect();
        Ok(Self { policy: table.hit_policy, inputs: Arc::new(inputs), rows })
    }
}

fn compile_inputs(schemas: &Map<String, Value>, faults: &mut Vec<TableError>) -> BTreeMap<String, jsonschema::Validator> {
    let mut inputs = BTreeMap::new();
    for (name, schema) in schemas {
        match jsonschema::validator_for(schema) {
            Ok(validator) => {
                inputs.insert(name.clone(), validator);
            }
            Err(error) => {
                let at = format!("/inputs/{}", name.replace('~', "~0").replace('/', "~1"));
                faults.push(TableError::new(
                    TableErrorKind::Schema,
                    at,
                    format!("the schema of input `{name}` is no JSON Schema: {error}"),
                ));
            }
        }
    }
    inputs
}

fn register(rule: &Rule, index: usize, inputs: &Map<String, Value>, engine: &mut Engine, faults: &mut Vec<TableError>) {
    if let Some(when) = &rule.when {
        let at = format!("/rules/{index}/when");
        match engine.add_expression(when).and_then(|names| declared(&names, inputs, when)) {
            Ok(()) => {}
            Err(error) => faults.push(TableError::of_row(TableErrorKind::Condition, at, &rule.id, error)),
        }
    }
    for (pointer, error) in engine.add_tree(&rule.then, Leaves::Templates) {
        faults.push(TableError::of_row(TableErrorKind::Result, format!("/rules/{index}/then{pointer}"), &rule.id, error));
    }
    super::engine::leaves(&rule.then, &mut String::new(), &mut |pointer, text| {
        // What does not compile is among the faults already.
        let Ok(names) = engine.add_text(text) else { return };
        if let Err(error) = declared(&names, inputs, text) {
            faults.push(TableError::of_row(TableErrorKind::Result, format!("/rules/{index}/then{pointer}"), &rule.id, error));
        }
    });
}

/// Only declared inputs are used.
fn declared(names: &Names, inputs: &Map<String, Value>, source: &str) -> Result<(), ExprError> {
    for (path, range) in &names.variables {
        let root = path.split('.').next().unwrap_or_default();
        if !inputs.contains_key(root) {
            let near = crate::base::closest(root, inputs.keys().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            let message = format!("`{root}` is no input of the table{hint}");
            return Err(ExprError::new(super::ExprErrorKind::Undefined, message, source).at(range.0, range.1));
        }
    }
    Ok(())
}

/// Evaluates a table: the `then` of the matching row with the row's id as `id` where it is an object without one, a list of
/// them under `collect`, null without a match.
///
/// # Errors
/// When an input is missing, undeclared or wrong, a condition or result cannot be evaluated, or the matches break the policy.
pub fn evaluate(engine: &Engine, table: &CompiledTable, inputs: &Map<String, Value>) -> Result<Value, TableError> {
    check_inputs(table, inputs)?;
    let scope = Engine::scope_of(inputs);
    let stops_early = matches!(table.policy, HitPolicy::First | HitPolicy::Priority);
    let matches = matching_rows(engine, table, &scope, stops_early)?;
    if let (HitPolicy::Unique, [first, second, ..]) = (table.policy, matches.as_slice()) {
        let (first, second) = (&table.rows[*first], &table.rows[*second]);
        return Err(clash(second, format!("rows `{}` and `{}` both match, but the table is `unique`", first.id, second.id)));
    }
    let mut results = Vec::new();
    for row in matches.into_iter().map(|index| &table.rows[index]) {
        results.push((row, render(engine, row, &scope)?));
    }
    conclude(table.policy, results)
}

impl CompiledTable {
    /// The policy.
    #[must_use]
    pub fn policy(&self) -> HitPolicy {
        self.policy
    }

    /// Id of a row; rows are numbered in the order they are tried.
    #[must_use]
    pub fn row_id(&self, row: usize) -> &str {
        self.rows.get(row).map_or("", |row| row.id.as_str())
    }

    /// All rows that match, or the first one tried alone; no result is rendered.
    ///
    /// # Errors
    /// An input is missing, undeclared or wrong, or a condition cannot be evaluated.
    pub fn matching(&self, engine: &Engine, inputs: &Map<String, Value>, first_only: bool) -> Result<Vec<usize>, TableError> {
        check_inputs(self, inputs)?;
        matching_rows(engine, self, &Engine::scope_of(inputs), first_only)
    }

    /// The result of one row for inputs it need not match.
    ///
    /// # Errors
    /// There is no such row, or its result cannot be evaluated.
    pub fn result(&self, engine: &Engine, row: usize, inputs: &Map<String, Value>) -> Result<Value, TableError> {
        let row = self.rows.get(row).ok_or_else(|| TableError::new(TableErrorKind::Result, String::new(), "there is no such row"))?;
        render(engine, row, &Engine::scope_of(inputs))
    }
}

/// Numbers of the rows whose condition holds, in the order they are tried.
fn matching_rows(engine: &Engine, table: &CompiledTable, scope: &Scope, first_only: bool) -> Result<Vec<usize>, TableError> {
    let mut matches = Vec::new();
    for (index, row) in table.rows.iter().enumerate() {
        let holds = match &row.when {
            Some(when) => {
                engine.truth(when, scope).map_err(|error| TableError::of_row(TableErrorKind::Condition, String::new(), &row.id, error))?
            }
            None => true,
        };
        if holds {
            matches.push(index);
            if first_only {
                break;
            }
        }
    }
    Ok(matches)
}

fn render(engine: &Engine, row: &Row, scope: &Scope) -> Result<Value, TableError> {
    let result = engine.tree(&row.then, Leaves::Templates, scope);
    result.map_err(|error| TableError::of_row(TableErrorKind::Result, String::new(), &row.id, error))
}

fn conclude(policy: HitPolicy, results: Vec<(&Row, Value)>) -> Result<Value, TableError> {
    if policy == HitPolicy::Collect {
        return Ok(Value::Array(results.into_iter().map(|(row, result)| with_id(row, result)).collect()));
    }
    let mut results = results.into_iter();
    let Some((row, result)) = results.next() else { return Ok(Value::Null) };
    for (other, different) in results {
        if different != result {
            return Err(clash(
                other,
                format!("rows `{}` and `{}` both match with different results, but the table is `any`", row.id, other.id),
            ));
        }
    }
    Ok(with_id(row, result))
}

fn clash(row: &Row, message: String) -> TableError {
    TableError { row: Some(row.id.clone()), ..TableError::new(TableErrorKind::Matches, String::new(), message) }
}

fn with_id(row: &Row, result: Value) -> Value {
    match result {
        Value::Object(mut map) => {
            map.entry("id").or_insert_with(|| Value::String(row.id.clone()));
            Value::Object(map)
        }
        other => other,
    }
}

fn check_inputs(table: &CompiledTable, inputs: &Map<String, Value>) -> Result<(), TableError> {
    let fault = |message: String| Err(TableError::new(TableErrorKind::Input, String::new(), message));
    for (name, validator) in &*table.inputs {
        match inputs.get(name) {
            None => return fault(format!("the input `{name}` is missing")),
            Some(value) => {
                if let Err(error) = validator.validate(value) {
                    return fault(format!("the input `{name}` does not match its schema: {error}"));
                }
            }
        }
    }
    if let Some(name) = inputs.keys().find(|name| !table.inputs.contains_key(*name)) {
        return fault(format!("the table declares no input `{name}`"));
    }
    Ok(())
}
