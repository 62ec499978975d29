//! What would keep the document from running once it is sealed: texts and limits that cannot be used. (Tables have a check of their own.)
//!
//! # RSF913 text that does not compile
//! An expression or a template does not parse, is larger than the bounds of docs/language.md, or uses a function, filter or test that does not exist.
//! `when`, `assert`, `for`, `each`, `let` and the like are bare expressions; other strings are templates with `{{ … }}`.
//! # RSF915 limit that cannot be read
//! An entry of `limits` or `retry.max` is not of its kind: whole numbers, `timeout` a time such as `300s`, `cost` an amount.
//! # RSF917 too many cells for an order by flows
//! With `"ordering": "flows"` what runs before what is kept for every pair of cells. Leave the key out, or split the document.

use super::{Context, plan};
use crate::base::{Problem, Span};
use crate::syntax::{Node, NodeValue};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn check(context: &mut Context<'_>) {
    let files: BTreeMap<String, Arc<str>> = context.files.iter().map(|(path, file)| (path.clone(), Arc::clone(&file.text))).collect();
    for fault in plan::faults(context.workflow, &files) {
        report(context, &fault);
    }
}

fn report(context: &mut Context<'_>, fault: &plan::PlanError) {
    let help = match fault.code {
        "RSF913" => "section 5 of docs/language.md has the rules of expressions and templates; `rsf reference` lists filters and functions",
        "RSF915" => "section 3 of docs/language.md lists the limits",
        "RSF917" => "leave `ordering` out, or split the document",
        _ => "",
    };
    let mut problem = Problem::error(fault.code, fault.message.clone());
    problem = match fault.file.as_ref().and_then(|path| context.files.get(path)) {
        Some(file) => {
            let (start, end) = fault.range.unwrap_or((0, 0));
            problem.at(file.id, Span::new(start.min(file.text.len()), end.min(file.text.len())), "")
        }
        None => problem.at(context.file, place(context, &fault.place, fault.range), ""),
    };
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
