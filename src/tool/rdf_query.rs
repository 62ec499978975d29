//! `rdf.query`: SPARQL SELECT and ASK over the union of the files that match; values come in as bindings, never as text.
//!
//! A file that is broken gives what stands before its fault, and a note.

use super::Desk;
use super::given::{count, failed, globs, text, wrong};
use super::rdf_terms::Terms;
use crate::knowledge::{Answer, Bounds, Graph, Nested, Node, QueryErrorKind, ask, rescue};
use crate::model::tool::ToolError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Most files of one query.
const FILES: usize = 200;
/// Most bytes of them together.
const BYTES: usize = 32 * 1024 * 1024;
/// Most rows, and what is given when nothing is said.
const ROWS: usize = 1000;
/// Statements that a query may look at.
const LOOKS: u64 = 250_000;

/// Runs the tool.
///
/// # Errors
/// A query or value that can't be read, a query that is refused or costs too much, too many files.
pub fn run(desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let query = text(args, "query")?;
    let globs = globs(args, "files")?.ok_or_else(|| wrong("`files` is missing: give a list of globs"))?;
    let max = count(args, "max", ROWS, ROWS)?;
    let mut terms = Terms::new(args)?;
    let bound = bound(args, &mut terms)?;
    let graphs = graphs(desk, &globs, &mut terms.notes)?;
    let answer = ask(query, &graphs, &bound, Bounds { rows: max, looks: LOOKS }).map_err(|fault| match fault.kind {
        QueryErrorKind::Query => wrong(fault.message),
        QueryErrorKind::Evaluation => failed(fault.message),
    })?;
    Ok(match answer {
        Answer::Truth(truth) => json!({ "answer": truth, "notes": terms.notes }),
        Answer::Rows { vars, rows, truncated } => {
            let rows: Vec<Value> = rows.into_iter().map(|row| object(&vars, row)).collect();
            json!({ "vars": vars, "rows": rows, "truncated": truncated, "notes": terms.notes })
        }
    })
}

fn object(vars: &[String], row: Vec<Option<String>>) -> Value {
    let cells = vars.iter().cloned().zip(row.into_iter().map(|cell| cell.map_or(Value::Null, Value::String)));
    Value::Object(cells.collect::<Map<_, _>>())
}

fn bound(args: &Value, terms: &mut Terms) -> Result<BTreeMap<String, Node>, ToolError> {
    let given = match args.get("bind") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(given)) => given,
        Some(_) => return Err(wrong("`bind` must be an object of variable and term")),
    };
    let mut bound = BTreeMap::new();
    for (name, value) in given {
        match terms.object(value, &format!("bind.{name}"))? {
            Nested::Node(node) => bound.insert(name.clone(), node),
            Nested::Blank(_) => return Err(wrong(format!("bind.{name}: a blank node has no name outside its file"))),
        };
    }
    Ok(bound)
}

fn graphs(desk: &dyn Desk, globs: &[String], notes: &mut Vec<String>) -> Result<Vec<Graph>, ToolError> {
    let files = desk.files(globs)?;
    if files.len() > FILES {
        return Err(failed(format!("{} files match; at most {FILES} are asked: narrow `files`", files.len())));
    }
    let mut graphs = Vec::with_capacity(files.len());
    let mut total = 0;
    for file in files {
        let Some(bytes) = desk.read(&file)? else { continue };
        total += bytes.len();
        if total > BYTES {
            return Err(failed(format!("the files hold more than {BYTES} bytes: narrow `files`")));
        }
        let (graph, fault) = rescue(&file, &bytes);
        if let Some(fault) = fault {
            notes.push(format!("{}: {} statements before it were read", fault.message, graph.len()));
        }
        graphs.push(graph);
    }
    Ok(graphs)
}
