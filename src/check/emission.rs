//! What a cell's program emits: each output once on every way through it, and literal values that fit their types.
//!
//! A condition may hold or not; a `for` may run no pass or many. Two groups with opposite conditions are written as `do` and `else`, so that this can be seen.
//!
//! # RSF920 output emitted twice
//! On one way through the program two operations emit the same entry of `out` (for a union: two of its alternatives, or one twice), or one does so within a `for`. The second would fail the attempt. Put them into `do` and `else`, or emit once.
//! # RSF921 output not emitted on every way (warning)
//! On some way through the program no operation emits the entry of `out`, and the cell does not stop the run there or fail. The attempt would fail. Where conditions exclude that way, write them as `do` and `else`.
//! # RSF922 literal that does not fit its type
//! What is written in `emit` or `store` cannot fit the type's schema: a field the schema does not know, a required one that is missing, or a literal of another type.

use super::{Context, cell_name, shown};
use crate::base::{Severity, Span};
use crate::model::{Cell, Op, OpKind, TypeRef};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Fields the engine fills in.
const FILLED: [&str; 4] = ["interaction_id", "loop_id", "round", "timestamp"];

pub(super) fn check(context: &mut Context<'_>) {
    let mut found = Vec::new();
    for cell in context.workflow.steps.iter().flat_map(|step| &step.cells) {
        let Some(run) = &cell.run else { continue };
        let agent_alone = matches!(run.as_slice(), [Op { kind: OpKind::Agent(agent), when: None, .. }] if agent.output.is_none());
        if cell.each.is_none() && !agent_alone {
            ways(context, cell, run, &mut found);
        }
        for op in super::execution::flatten(run).into_iter().chain(super::execution::flatten(&cell.recover)) {
            if let OpKind::Emit(map) = &op.kind {
                literals(context, cell, op, map, &mut found);
            }
        }
    }
    for (severity, code, span, message, help) in found {
        context.report(severity, code, span, message, help);
    }
}

type Found = Vec<(Severity, &'static str, Span, String, &'static str)>;

/// How often an output is emitted on the ways that go on and on those that end the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    /// Least and most on ways that go on; `None` when none does.
    on: Option<(u8, u8)>,
    /// Least and most on ways that ended well.
    ended: Option<(u8, u8)>,
}

fn join(a: Option<(u8, u8)>, b: Option<(u8, u8)>) -> Option<(u8, u8)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

fn ways(context: &Context<'_>, cell: &Cell, run: &[Op], found: &mut Found) {
    let mut outs: BTreeMap<String, Vec<&TypeRef>> = BTreeMap::new();
    for entry in &cell.outputs {
        outs.entry(entry.term.key()).or_insert_with(|| entry.term.alternatives.iter().collect());
    }
    for (key, alternatives) in outs.iter().take(200) {
        let mut twice = None;
        let count = list(run, alternatives, Count { on: Some((0, 0)), ended: None }, &mut twice);
        let Some((least, most)) = join(count.on, count.ended) else { continue };
        let entry = cell.outputs.iter().find(|entry| entry.term.key() == *key);
        let place = entry.map_or_else(|| context.place(&cell.at), |entry| context.place(&entry.at));
        if most > 1 {
            let place = twice.map_or(place, |at| context.place(at));
            let message = format!("{} can emit `{}` twice", cell_name(cell), shown(key));
            found.push((Severity::Error, "RSF920", place, message, "put the two into `do` and `else`, or emit once"));
        } else if least == 0 && most > 0 {
            let message = format!("{} can end without emitting `{}`", cell_name(cell), shown(key));
            found.push((Severity::Warning, "RSF921", place, message, "emit it on every way, or let the other way stop the run or fail"));
        }
    }
}

fn list<'a>(ops: &'a [Op], out: &[&TypeRef], start: Count, twice: &mut Option<&'a str>) -> Count {
    let mut count = start;
    for op in ops {
        let Some(before) = count.on else { break };
        let taken = one(op, out, before, twice);
        // Skipped, the operation leaves everything as it is, unless it has another way.
        let skipped = match (&op.when, &op.kind) {
            (None, _) => Count { on: None, ended: None },
            (Some(_), OpKind::Do { otherwise, .. }) => list(otherwise, out, Count { on: Some(before), ended: None }, twice),
            (Some(_), _) => Count { on: Some(before), ended: None },
        };
        count = Count { on: join(taken.on, skipped.on), ended: join(count.ended, join(taken.ended, skipped.ended)) };
    }
    count
}

fn one<'a>(op: &'a Op, out: &[&TypeRef], before: (u8, u8), twice: &mut Option<&'a str>) -> Count {
    let same = Count { on: Some(before), ended: None };
    match &op.kind {
        OpKind::Emit(map) => {
            let hits = map.keys().filter(|key| out.contains(&&TypeRef::parse(key))).count();
            let hits = u8::try_from(hits.min(9)).unwrap_or(9);
            let after = (before.0.saturating_add(hits).min(9), before.1.saturating_add(hits).min(9));
            if hits > 0 && after.1 > 1 {
                twice.get_or_insert(&op.at);
            }
            Count { on: Some(after), ended: None }
        }
        OpKind::Do { body, .. } => list(body, out, same, twice),
        OpKind::For { body, .. } => {
            let once = list(body, out, same, twice);
            let again = once.on.map_or(once, |on| list(body, out, Count { on: Some(on), ended: None }, twice));
            Count { on: join(join(same.on, once.on), again.on), ended: join(once.ended, again.ended) }
        }
        OpKind::Return => Count { on: None, ended: Some(before) },
        // A cell that stops the run need not emit; one that fails does not succeed.
        OpKind::Stop { .. } => Count { on: Some((before.0.max(1), before.1)), ended: None },
        OpKind::Fail(_) => Count { on: None, ended: None },
        _ => same,
    }
}

fn literals(context: &Context<'_>, cell: &Cell, op: &Op, map: &Map<String, Value>, found: &mut Found) {
    for (key, value) in map {
        let name = TypeRef::parse(key);
        let Some(definition) = context.workflow.execution.types.get(&name.name) else { continue };
        let path = definition.schema.get(&cell.role).or_else(|| definition.schema.get(""));
        let Some(file) = path.and_then(|path| context.files.get(path)) else { continue };
        let Ok(schema) = serde_json::from_str::<Value>(&file.text) else { continue };
        let counted: usize =
            cell.outputs.iter().filter(|e| e.term.alternatives.contains(&name)).map(|e| usize::from(e.term.count.max(1))).sum();
        let mut pointer = format!("{}/emit", op.at);
        crate::syntax::push_segment(&mut pointer, key);
        let values: Vec<(String, &Value)> = match value {
            Value::Array(items) if counted > 1 => items.iter().enumerate().map(|(i, item)| (format!("{pointer}/{i}"), item)).collect(),
            Value::String(_) if counted > 1 => continue,
            other => vec![(pointer, other)],
        };
        for (at, value) in values {
            if let Some((place, message)) = misfit(&schema, value, &at) {
                let message = format!("what {} emits as `{}` does not fit its schema: {message}", cell_name(cell), shown(key));
                found.push((Severity::Error, "RSF922", context.place(&place), message, "correct the value or the schema"));
            }
        }
    }
}

fn computed(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("{%"),
        Value::Array(items) => items.iter().any(computed),
        Value::Object(map) => map.values().any(computed),
        _ => false,
    }
}

/// The first part of a value that cannot fit, whatever its templates give.
fn misfit(schema: &Value, value: &Value, at: &str) -> Option<(String, String)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    if let (Value::Object(map), Some(properties)) = (value, properties) {
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (key, part) in map {
            let mut place = at.to_owned();
            crate::syntax::push_segment(&mut place, key);
            match properties.get(key) {
                None if closed => return Some((place, format!("it knows no `{}`", shown(key)))),
                // What refers elsewhere in the schema needs the whole of it.
                Some(inner) if !inner.to_string().contains("\"$ref\"") => {
                    if let Some(found) = misfit(inner, part, &place) {
                        return Some(found);
                    }
                }
                _ => {}
            }
        }
        let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let missing = required.find(|key| !map.contains_key(*key) && !FILLED.contains(key));
        return missing.map(|key| (at.to_owned(), format!("`{}` is missing", shown(key))));
    }
    if computed(value) {
        // A list or object with templates inside is one, whatever they give.
        let kind = match value {
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            _ => return None,
        };
        let wanted = schema.get("type").and_then(Value::as_str)?;
        return (wanted != kind).then(|| (at.to_owned(), format!("it wants {wanted}, not {kind}")));
    }
    let fault = Schema::compile(schema).ok()?.check_up_to(value, 1).into_iter().next()?;
    Some((format!("{at}{}", fault.pointer), fault.message))
}
