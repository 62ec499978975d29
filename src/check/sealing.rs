//! What would keep the document from running once it is sealed: texts, tables and limits that cannot be used.
//!
//! # RSF913 text that does not compile
//! An expression or a template does not parse, is larger than the bounds of docs/language.md, or uses a function, filter or test that does not exist.
//! `when`, `assert`, `for`, `each`, `let` and the like are bare expressions; other strings are templates with `{{ … }}`.
//! # RSF915 limit that cannot be read
//! An entry of `limits` or `retry.max` is not of its kind: whole numbers, `timeout` a time such as `300s`, `cost` an amount.
//! # RSF917 too many cells for an order by flows
//! With `"ordering": "flows"` what runs before what is kept for every pair of cells. Leave the key out, or split the document.
//! # RSF918 row of a decision table that cannot be used
//! A condition or a result does not compile, names something that is no input of the table, or two rows have one id.

use super::{BundleFile, Context, plan};
use crate::base::{FileId, Problem, Severity, Span};
use crate::model::decode_table;
use crate::syntax::{self, Node, NodeValue};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn check(context: &mut Context<'_>) {
    let files: BTreeMap<String, Arc<str>> = context.files.iter().map(|(path, file)| (path.clone(), Arc::clone(&file.text))).collect();
    // A table that cannot be read is a finding of another check.
    let table = |text: &str| {
        let (tree, problems) = syntax::parse(text.as_bytes(), FileId(0));
        let root =
            tree.root.as_ref().filter(|_| problems.iter().all(|problem| problem.severity != Severity::Error)).ok_or_else(String::new)?;
        let (table, problems) = decode_table(root, FileId(0), "");
        if problems.iter().any(|problem| problem.severity == Severity::Error) { Err(String::new()) } else { Ok(table) }
    };
    for fault in plan::faults(context.workflow, &files, &table) {
        report(context, &fault);
    }
}

fn report(context: &mut Context<'_>, fault: &plan::PlanError) {
    let help = match fault.code {
        "RSF913" => "section 5 of docs/language.md has the rules of expressions and templates; `rsf reference` lists filters and functions",
        "RSF915" => "section 3 of docs/language.md lists the limits",
        "RSF917" => "leave `ordering` out, or split the document",
        _ => "section 6 of docs/language.md has the rules of decision tables",
    };
    let mut problem = Problem::error(fault.code, fault.message.clone());
    match &fault.inside {
        Some((path, pointer)) => {
            if let Some(file) = context.files.get(path) {
                problem = problem.at(file.id, within(file, pointer, fault.range), "");
            }
            if !fault.place.is_empty() {
                problem = problem.at(context.file, context.place(&fault.place), "named here");
            }
        }
        None => problem = problem.at(context.file, place(context, &fault.place, fault.range), ""),
    }
    context.problems.push(problem.help(help));
}

/// The bytes of the text that stands at a pointer, or at the nearest value above it.
fn place(context: &Context<'_>, pointer: &str, range: Option<(usize, usize)>) -> Span {
    let mut pointer = pointer;
    loop {
        if let Some(node) = context.node(pointer) {
            return span(node, range);
        }
        match pointer.rfind('/') {
            Some(end) => pointer = &pointer[..end],
            None => return context.root.head_span(),
        }
    }
}

fn span(node: &Node, range: Option<(usize, usize)>) -> Span {
    // A prompt may stand in an object: `{"text": …}`.
    let node = if matches!(node.value, NodeValue::Object(_)) { node.get("text").unwrap_or(node) } else { node };
    match (&node.value, range) {
        (NodeValue::String(_), Some((start, end))) if start < end => node.inner_span(start, end),
        _ => node.head_span(),
    }
}

fn within(file: &BundleFile, pointer: &str, range: Option<(usize, usize)>) -> Span {
    if pointer.is_empty() {
        let (start, end) = range.unwrap_or((0, 0));
        return Span::new(start.min(file.text.len()), end.min(file.text.len()));
    }
    let (tree, _) = syntax::parse(file.text.as_bytes(), file.id);
    tree.get(pointer).map_or_else(Span::default, |node| span(node, range))
}
