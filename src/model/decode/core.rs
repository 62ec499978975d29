//! Roles, steps, cells, flows. Missing and mistyped keys were reported by the shape check; here each item is read as far as it goes.
//!
//! An item that lacks what identifies it (a flow without ends, a cell whose lists cannot be read) is left out, and the checks know that something is.

use super::reader::{Reader, child, map, seq, text, text_or_number, texts};
use super::{agent, operation};
use crate::base::Span;
use crate::model::{AnnotationKind, TermError};
use crate::model::{Cell, End, Entry, Flow, FlowKind, Oddity, Retry, Role, Step, Term, Workflow};
use crate::model::{annotations, duration_ms, parse_entry, parse_what, timeout_ms};
use crate::syntax::{Node, NodeValue};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn document(root: &Node, workflow: &mut Workflow, reader: &mut Reader) {
    workflow.description = text(root, "description").unwrap_or_default();
    for (section, what) in [("roles", "role"), ("steps", "step"), ("flows", "")] {
        let Some(node) = root.get(section).filter(|node| node.is_object()) else { continue };
        if workflow.version.major == 1 && node.get("description").is_none() {
            let help = "documents of version 1.x describe each section; later versions do not ask for it";
            reader.warning("RSF210", node.head_span(), format!("`{section}` has no description"), help);
        }
        if let Some(items) = node.get("items")
            && matches!(&items.value, NodeValue::Array(list) if list.is_empty())
            && !what.is_empty()
        {
            reader.error("RSF211", items.span, format!("no {what} is declared"), &format!("a document needs at least one {what}"));
        }
    }
    workflow.roles = items(root, "roles").iter().enumerate().filter_map(|(index, node)| role(node, index, reader)).collect();
    workflow.steps = items(root, "steps").iter().enumerate().filter_map(|(index, node)| step(node, index, reader)).collect();
    workflow.flows = items(root, "flows").iter().enumerate().filter_map(|(index, node)| flow(node, index, reader)).collect();
    // Where a step could not be read its number would seem to be left out.
    if items(root, "steps").len() == workflow.steps.len() {
        sequence(root, &workflow.steps, reader);
    }
}

fn items<'t>(root: &'t Node, section: &str) -> &'t [Node] {
    root.get(section).and_then(|section| section.get("items")).map(Node::items).unwrap_or_default()
}

fn role(node: &Node, index: usize, reader: &mut Reader) -> Option<Role> {
    let at = format!("/roles/items/{index}");
    let agent = node.get("agent").filter(|node| node.is_object()).map(|node| agent::agent(node, &child(&at, "agent"), reader));
    Some(Role { id: text(node, "id")?, description: text(node, "description").unwrap_or_default(), agent, at })
}

fn step(node: &Node, index: usize, reader: &mut Reader) -> Option<Step> {
    let at = format!("/steps/items/{index}");
    let seq = number(node, "seq", &format!("steps.items[{index}].seq"), reader)?;
    let description = text(node, "description").unwrap_or_default();
    let cells_at = child(&at, "cells");
    let mut cells = Vec::new();
    for member in node.get("cells").map(Node::members).unwrap_or_default() {
        cells.extend(cell(&member.key, seq, &member.value, child(&cells_at, &member.key), reader));
    }
    Some(Step { seq, timeout_ms: timeout_ms(&annotations(&description)), description, cells, at })
}

fn cell(role: &str, seq: u32, node: &Node, at: String, reader: &mut Reader) -> Option<Cell> {
    let inputs = entries(node, "in", &at, reader)?;
    let outputs = entries(node, "out", &at, reader)?;
    let run = node.get("run").map(|run| operation::list(run, &child(&at, "run"), reader));
    let recover = node.get("recover").map(|list| operation::list(list, &child(&at, "recover"), reader)).unwrap_or_default();
    let timeout = text_or_number(node, "timeout");
    duration(node.get("timeout"), "timeout", reader);
    Some(Cell {
        role: role.to_owned(),
        seq,
        task: text(node, "task").unwrap_or_default(),
        description: text(node, "description").unwrap_or_default(),
        inputs,
        outputs,
        run,
        permissions: node.get("permissions").filter(|node| node.is_object()).map(agent::policy),
        timeout,
        retry: node.get("retry").filter(|node| node.is_object()).map(|node| retry(node, reader)),
        recover,
        each: text(node, "each"),
        exclusive: text(node, "exclusive"),
        at,
    })
}

/// The entries of `in` or `out`; `None` when the list or one of its items is no list or text.
fn entries(node: &Node, key: &str, at: &str, reader: &mut Reader) -> Option<Vec<Entry>> {
    let list = node.get(key)?;
    let NodeValue::Array(items) = &list.value else { return None };
    let base = child(at, key);
    let mut entries = Vec::new();
    let mut whole = true;
    for (index, item) in items.iter().enumerate() {
        let Some(written) = item.as_str() else {
            whole = false;
            continue;
        };
        match parse_entry(written) {
            Ok((term, oddities)) => {
                report_oddities(item, &oddities, reader);
                entries.push(Entry { term, at: format!("{base}/{index}") });
            }
            Err(error) => {
                report_term(item, &error, reader);
                whole = false;
            }
        }
    }
    whole.then_some(entries)
}

fn flow(node: &Node, index: usize, reader: &mut Reader) -> Option<Flow> {
    let at = format!("/flows/items/{index}");
    let from = end(node, "from", index, reader);
    let to = end(node, "to", index, reader);
    let what = node.get("what").and_then(|what| sum(what, reader));
    let kind = match node.get("type").and_then(Node::as_str) {
        Some("sync") => Some(FlowKind::Sync),
        Some("async") => Some(FlowKind::Async),
        _ => None,
    };
    let description = text(node, "description").unwrap_or_default();
    let marks = annotations(&description);
    let loop_mark = marks.iter().any(|mark| mark.kind == AnnotationKind::Loop);
    let looping = match node.get("loop").map(|node| &node.value) {
        Some(NodeValue::Bool(looping)) => *looping,
        _ => loop_mark,
    };
    Some(Flow {
        id: text(node, "id")?,
        kind: kind?,
        from: from?,
        to: to?,
        what: what?,
        timeout_ms: timeout_ms(&marks),
        looping,
        feedback_marked: looping || loop_mark || marks.iter().any(|mark| mark.kind == AnnotationKind::Feedback),
        description,
        when: text(node, "when"),
        at,
    })
}

fn end(node: &Node, key: &str, index: usize, reader: &mut Reader) -> Option<End> {
    let end = node.get(key).filter(|end| end.is_object())?;
    let seq = number(end, "seq", &format!("flows.items[{index}].{key}.seq"), reader);
    Some(End { role: text(end, "role")?, seq: seq? })
}

/// A step number. The shape check takes `1.0` for a whole number, as JSON Schema does; a step number is written as one.
fn number(node: &Node, key: &str, path: &str, reader: &mut Reader) -> Option<u32> {
    let value = node.get(key)?;
    let number = seq(value);
    if number.is_none()
        && let NodeValue::Number(raw) = &value.value
    {
        let shown: String = raw.chars().take(40).collect();
        let message = format!("`{path}` must be a whole number from 1 to {}, not `{shown}`", u32::MAX);
        reader.error("RSF206", value.span, message, "write it as `1`, `2`, `3`, …");
    }
    number
}

fn sum(node: &Node, reader: &mut Reader) -> Option<Vec<Term>> {
    match parse_what(node.as_str()?) {
        Ok(reading) => {
            report_oddities(node, &reading.oddities, reader);
            Some(reading.terms)
        }
        Err(error) => {
            report_term(node, &error, reader);
            None
        }
    }
}

fn report_term(node: &Node, error: &TermError, reader: &mut Reader) {
    let shown: String = node.as_str().unwrap_or_default().chars().take(80).collect();
    let span = node.inner_span(error.at.start, error.at.end);
    let span = if span.is_empty() { node.span } else { span };
    let subject = if shown.trim().is_empty() { "an empty text".to_owned() } else { format!("`{}`", shown.escape_debug()) };
    let message = format!("{subject} is no list of types: {}", error.message);
    reader.error("RSF401", span, message, "write `Type`, `A+B`, `A|B`, `Type(×2)` or `Type(variant)`");
}

fn report_oddities(node: &Node, oddities: &[Oddity], reader: &mut Reader) {
    for odd in oddities {
        let span: Span = node.inner_span(odd.at.start, odd.at.end);
        let message = format!("`{}` (U+{:04X}) is understood as `{}` (U+{:04X})", odd.found, odd.found as u32, odd.meant, odd.meant as u32);
        reader.warning("RSF402", span, message, &format!("write `{}`", odd.meant));
    }
}

fn retry(node: &Node, reader: &mut Reader) -> Retry {
    duration(node.get("backoff"), "backoff", reader);
    Retry {
        max: map(Some(node)).get("max").cloned().unwrap_or(Value::from(0)),
        backoff: text_or_number(node, "backoff"),
        on: texts(node.get("on")),
    }
}

/// Reports a time that is no template and cannot be read.
pub(super) fn duration(node: Option<&Node>, key: &str, reader: &mut Reader) {
    let Some(node) = node else { return };
    let written = match &node.value {
        NodeValue::String(text) if !text.contains("{{") && !text.contains("{%") => text,
        NodeValue::Number(raw) => raw,
        _ => return,
    };
    let zero = key == "backoff" && written.trim_end_matches(char::is_alphabetic).parse::<f64>() == Ok(0.0);
    if duration_ms(written).is_none() && !zero {
        let shown: String = written.chars().take(40).collect();
        reader.error(
            "RSF212",
            node.span,
            format!("`{key}` is no time: `{}`", shown.escape_debug()),
            "write `300s`, `5m`, `2h` or a whole number of seconds",
        );
    }
}

/// Order and gaps of the step numbers; repeated ones are named by the check of references.
fn sequence(root: &Node, steps: &[Step], reader: &mut Reader) {
    let mut before = 0;
    let mut gap = None;
    let mut seen = BTreeSet::new();
    for step in steps {
        let node =
            step.at.rsplit('/').next().and_then(|index| index.parse::<usize>().ok()).and_then(|index| items(root, "steps").get(index));
        let Some(span) = node.and_then(|node| node.get("seq")).map(|node| node.span) else { continue };
        let repeated = !seen.insert(step.seq);
        if step.seq < before && !repeated {
            let message = format!("step {} is written behind step {before}", step.seq);
            reader.error("RSF208", span, message, "write the steps in ascending order of `seq`");
            return;
        }
        if step.seq > before.saturating_add(1) && gap.is_none() {
            gap = Some((span, step.seq, before));
        }
        before = before.max(step.seq);
    }
    if let Some((span, seq, before)) = gap {
        let message = if before == 0 { format!("the first step is number {seq}") } else { format!("step {seq} follows step {before}") };
        reader.warning("RSF209", span, message, "number the steps 1, 2, 3, … unless one was left out on purpose");
    }
}
