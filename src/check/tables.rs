//! Decision tables as a whole: that they compile, and what they leave open, say twice or can never say.
//!
//! # RSF950 table with a gap (note)
//! For the inputs shown, no row matches, and the result is null. Where that is meant, all is well; else add a row, or one without `when` as the last. Not looked for under `collect`.
//! # RSF951 rows that both match
//! Under `unique` two rows match the inputs shown; under `any` they do, and their results differ. At run time that is an error. Make one condition exclude the other, or choose `first` or `priority`.
//! # RSF952 rows of the same priority (warning)
//! Under `priority` two rows of equal priority match the inputs shown, and no higher one does: only their order in the document decides. Give them different priorities.
//! # RSF953 row that never speaks (warning)
//! Whatever its condition matches, rows above it (under `priority`: of higher priority) match first. Move it up, raise its priority, or remove it.
//! # RSF954 condition that is never true (warning)
//! No value the inputs' schemas allow makes it true. Correct the condition or the schema.
//! # RSF955 condition that cannot be evaluated (warning)
//! For the inputs shown, which their schemas allow, the condition is an error (an ordering with null, say). Guard it, or narrow the schema.
//! # RSF956 table that does not compile
//! A condition or a result of a row does not parse, or uses a name that is no input of the table, or an unknown function, filter or test.
//! # RSF957 table not looked at to the end (note)
//! The table is too large for its analysis; nothing is concluded about the rest.

use super::{BundleFile, Context, shown};
use crate::base::{FileId, Problem, Severity, Span};
use crate::model::{Agent, OpKind, Table, TableRef, decode_table};
use crate::rule::{CompiledTable, Cover, CoverFinding, CoverKind, Engine, Limits, TableErrorKind, cover};
use crate::syntax::{self, Node};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(context: &mut Context<'_>) {
    let mut paths = BTreeSet::new();
    for (name, table) in &context.workflow.execution.rules {
        match table {
            TableRef::Path(path) => {
                paths.insert(path.as_str());
            }
            TableRef::Inline(table) => {
                let mut pointer = String::from("/rules");
                syntax::push_segment(&mut pointer, name);
                if let Some(node) = context.node(&pointer) {
                    let found = examine(&Place { root: node, file: context.file }, table);
                    context.problems.extend(found);
                }
            }
        }
    }
    let governors: BTreeSet<&str> = governors(context).into_iter().filter_map(|agent| agent.governor.as_deref()).collect();
    paths.extend(&governors);
    for path in paths {
        if let Some(file) = context.files.get(path) {
            context.problems.extend(of_file(file, governors.contains(path).then_some(context.files)));
        }
    }
}

fn governors<'a>(context: &Context<'a>) -> Vec<&'a Agent> {
    let workflow = context.workflow;
    let mut agents: Vec<&Agent> = workflow.roles.iter().filter_map(|role| role.agent.as_ref()).collect();
    for cell in workflow.steps.iter().flat_map(|step| &step.cells) {
        for op in super::execution::flatten(cell.run.as_deref().unwrap_or_default()) {
            if let OpKind::Agent(agent) = &op.kind {
                agents.push(agent);
            }
        }
    }
    agents
}

/// Findings about a table in a file of its own. A file that cannot be read has findings elsewhere.
/// With the bundle's files it is a governor's.
fn of_file(file: &BundleFile, files: Option<&BTreeMap<String, BundleFile>>) -> Vec<Problem> {
    let (tree, problems) = syntax::parse(file.text.as_bytes(), file.id);
    let Some(root) = tree.root.as_ref().filter(|_| problems.iter().all(|problem| problem.severity != Severity::Error)) else {
        return Vec::new();
    };
    let (table, problems) = decode_table(root, file.id, "");
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Vec::new();
    }
    let place = Place { root, file: file.id };
    let mut problems = examine(&place, &table);
    if files.is_some() && problems.iter().all(|problem| problem.severity != Severity::Error) {
        problems.extend(super::table::governor(&place, &table, files));
    }
    problems
}

/// Where a table stands.
pub(super) struct Place<'a> {
    pub(super) root: &'a Node,
    pub(super) file: FileId,
}

impl Place<'_> {
    pub(super) fn node(&self, pointer: &str) -> &Node {
        let mut node = self.root;
        for segment in syntax::pointer_segments(pointer) {
            let next = match segment.parse::<usize>() {
                Ok(index) if !node.items().is_empty() => node.items().get(index),
                _ => node.get(&segment),
            };
            let Some(next) = next else { break };
            node = next;
        }
        node
    }

    pub(super) fn row(&self, row: usize, key: &str) -> Span {
        let node = self.node(&format!("/rules/{row}"));
        node.get(key).unwrap_or(node).head_span()
    }
}

pub(super) fn examine(place: &Place<'_>, table: &Table) -> Vec<Problem> {
    let mut engine = Engine::new(Limits::default());
    if let Err(faults) = CompiledTable::compile(table, &mut engine) {
        // Schemas have a code of their own.
        let faults = faults.into_iter().filter(|fault| fault.kind != TableErrorKind::Schema);
        return faults.map(|fault| broken(place, &fault)).collect();
    }
    let Cover { findings, sampled: _, gave_up } = cover(table);
    let mut problems: Vec<Problem> = findings.iter().map(|finding| problem(place, table, finding)).collect();
    if gave_up {
        let message = "the table is too large to be looked at to the end".to_owned();
        problems.push(
            Problem::note("RSF957", message).at(place.file, place.root.head_span(), "").help("divide it into tables with fewer inputs"),
        );
    }
    problems
}

fn broken(place: &Place<'_>, fault: &crate::rule::TableError) -> Problem {
    let node = place.node(&fault.at);
    let span = match fault.cause.as_ref().and_then(|cause| cause.range) {
        Some((start, end)) => node.inner_span(start, end),
        None => node.head_span(),
    };
    Problem::error("RSF956", fault.message.clone()).at(place.file, span, "").help("correct the row; its texts see only the table's inputs")
}

fn problem(place: &Place<'_>, table: &Table, finding: &CoverFinding) -> Problem {
    let id = |row: &usize| table.rules.get(*row).map_or(String::new(), |rule| format!("`{}`", shown(&rule.id)));
    let first = finding.rows.first().copied().unwrap_or_default();
    let others: Vec<String> = finding.rows.iter().skip(1).take(5).map(id).collect();
    let (row, others) = (id(&first), others.join(", "));
    let example = finding.witness.as_ref().map_or_else(String::new, example);
    let severity = if finding.kind == CoverKind::Gap { Severity::Note } else { Severity::Warning };
    let (code, message, help) = match finding.kind {
        CoverKind::Gap => ("RSF950", format!("no row matches {example}"), "add a row, or a last one without `when`, unless null is meant"),
        CoverKind::Overlap => {
            let message = format!("rows {others} and {row} both match {example}");
            let help = "make one condition exclude the other, or choose another hit policy";
            let at = place.row(first, "when");
            return with_others(Problem::error("RSF951", message).at(place.file, at, ""), place, finding).help(help);
        }
        CoverKind::Tie => {
            ("RSF952", format!("rows {others} and {row} have the same priority and both match {example}"), "give them different priorities")
        }
        CoverKind::Shadowed => (
            "RSF953",
            format!("row {row} never speaks: {others} match first whenever it would"),
            "move it up, raise its priority, or remove it",
        ),
        CoverKind::Never => {
            ("RSF954", format!("the condition of row {row} is never true"), "correct the condition, or the schemas of the inputs")
        }
        CoverKind::Fails => (
            "RSF955",
            format!("the condition of row {row} cannot be evaluated for {example}"),
            "guard it, or narrow the schema of the input",
        ),
    };
    let at = if finding.kind == CoverKind::Gap { place.node("/rules").head_span() } else { place.row(first, "when") };
    with_others(Problem::of(code, severity, message).at(place.file, at, ""), place, finding).help(help)
}

fn with_others(mut problem: Problem, place: &Place<'_>, finding: &CoverFinding) -> Problem {
    for row in finding.rows.iter().skip(1).take(3) {
        problem = problem.at(place.file, place.row(*row, "when"), "this row");
    }
    problem
}

/// Inputs in a few words.
pub(super) fn example(witness: &Map<String, Value>) -> String {
    let shown: Vec<String> =
        witness.iter().take(12).map(|(name, value)| format!("{} = {}", super::shown(name), super::shown(&value.to_string()))).collect();
    if shown.is_empty() { "anything".to_owned() } else { shown.join(", ") }
}
