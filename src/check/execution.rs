//! The root keys of the execution part and what each cell says it does.
//!
//! # RSF901 cell that does not say what it does (warning)
//! Other cells of the document have a `run`, this one has none and is no relay (a cell whose every output is among its inputs). The document cannot be run before it has one.
//! # RSF908 type that is not among the outputs
//! A cell emits a type that its `out` does not list.
//! # RSF909 output that is never emitted
//! An entry of `out` is emitted by none of the cell's operations, so the cell could never succeed.
//! # RSF911 role that is not declared
//! `on.as`, `independence` or the schemas of `types` name a role that the document does not have.
//! # RSF920 type that nobody hands over (warning)
//! `blind_to` of `independence` hides a type that no cell takes or makes, so it hides nothing. Write `Type` or `Type.field`.
//! # RSF916 not within `each`
//! A cell that runs once per item changes no state and stops no run: its items run side by side. Do it in a later cell. What it emits is one list,
//! so its outputs have no count.

use super::{Context, cell_name, shown};
use crate::base::{Severity, Span};
use crate::model::{Cell, Op, OpKind, TypeRef, Workflow};
use std::collections::BTreeSet;
use unicode_normalization::UnicodeNormalization;

pub(super) fn check(context: &mut Context<'_>) {
    silent(context);
    roles(context);
    if context.net.whole_cells {
        blindness(context);
    }
    let mut found = Vec::new();
    for info in &context.net.cells {
        if let Some(run) = &info.cell.run {
            emission(context, info.cell, run, info.span(), &mut found);
            within_each(info.cell, run, info.span(), context, &mut found);
        }
    }
    for (severity, code, span, message, help) in found {
        context.report(severity, code, span, message, help);
    }
}

type Found = Vec<(Severity, &'static str, Span, String, String)>;

/// The cells that do not say what they do, as `role@seq`: with one of them a document is a plain one and does not run.
#[must_use]
pub fn silent_cells(workflow: &Workflow) -> Vec<String> {
    workflow.steps.iter().flat_map(|step| &step.cells).filter(|cell| is_silent(cell)).map(cell_name).collect()
}

fn is_silent(cell: &Cell) -> bool {
    cell.run.is_none() && !is_relay(cell)
}

fn is_relay(cell: &Cell) -> bool {
    let has = |term: &crate::model::Term| {
        let listed: usize =
            cell.inputs.iter().filter(|entry| entry.term.key() == term.key()).map(|entry| usize::from(entry.term.count)).sum();
        let wanted: usize =
            cell.outputs.iter().filter(|entry| entry.term.key() == term.key()).map(|entry| usize::from(entry.term.count)).sum();
        listed >= wanted
    };
    // Bounded, because the comparison is quadratic; no relay of that width is plausible.
    !cell.outputs.is_empty() && cell.outputs.len() <= 1000 && cell.inputs.len() <= 1000 && cell.outputs.iter().all(|entry| has(&entry.term))
}

fn silent(context: &mut Context<'_>) {
    if !context.runs() {
        return;
    }
    let silent: Vec<(Span, String)> =
        context.net.cells.iter().filter(|info| is_silent(info.cell)).map(|info| (info.span(), cell_name(info.cell))).collect();
    for (span, cell) in silent {
        context.warning(
            "RSF901",
            span,
            format!("{cell} does not say what it does"),
            "give it a `run`; without one the document cannot be run",
        );
    }
}

fn roles(context: &mut Context<'_>) {
    if !context.net.whole_roles {
        return;
    }
    let execution = &context.workflow.execution;
    let mut named: Vec<(String, String)> = Vec::new();
    named.extend(execution.on_as.iter().map(|role| (role.clone(), "/on/as".to_owned())));
    for item in &execution.independence {
        named.push((item.from.clone(), format!("{}/from", item.at)));
        named.extend(item.roles.iter().enumerate().map(|(index, role)| (role.clone(), format!("{}/roles/{index}", item.at))));
    }
    for entry in execution.types.values() {
        let roles = entry.schema.keys().filter(|role| !role.is_empty());
        named.extend(roles.map(|role| (role.clone(), format!("{}/schema", entry.at))));
    }
    let declared: Vec<&str> = context.workflow.roles.iter().map(|role| role.id.as_str()).collect();
    for (role, pointer) in named.into_iter().filter(|(role, _)| !declared.contains(&role.as_str())) {
        let hint = context.hint(&role, declared.iter().copied()).unwrap_or_else(|| "name a role of the document".to_owned());
        context.error("RSF911", context.place(&pointer), format!("role `{}` is not declared", shown(&role)), hint);
    }
}

fn blindness(context: &mut Context<'_>) {
    let cells = context.workflow.steps.iter().flat_map(|step| &step.cells);
    let entries = cells.flat_map(|cell| cell.inputs.iter().chain(&cell.outputs)).flat_map(|entry| &entry.term.alternatives);
    let known: BTreeSet<&str> = entries.map(|alternative| alternative.name.as_str()).collect();
    for item in &context.workflow.execution.independence {
        for (index, hidden) in item.blind_to.iter().enumerate() {
            let name = hidden.split('.').next().unwrap_or_default();
            if !known.contains(name) {
                let hint = context.hint(name, known.iter().copied()).unwrap_or_else(|| "name a type that a flow brings".to_owned());
                let place = context.place(&format!("{}/blind_to/{index}", item.at));
                context.warning("RSF920", place, format!("no cell takes or makes `{}`, so nothing is hidden", shown(name)), hint);
            }
        }
    }
}

/// What operations emit and whether they may stop the run.
#[derive(Default)]
struct Emitted {
    keys: Vec<(String, String)>,
    stops: bool,
}

impl Emitted {
    fn collect(&mut self, ops: &[Op]) {
        for op in ops {
            match &op.kind {
                OpKind::Emit(map) => self.keys.extend(map.keys().map(|key| (key.clone(), op.at.clone()))),
                OpKind::Stop { .. } => self.stops = true,
                OpKind::For { body, .. } => self.collect(body),
                OpKind::Do { body, otherwise } => {
                    self.collect(body);
                    self.collect(otherwise);
                }
                _ => {}
            }
        }
    }
}

fn emission(context: &Context<'_>, cell: &Cell, run: &[Op], span: Span, found: &mut Found) {
    // An agent alone emits whatever the cell's `out` asks for.
    let agent_alone = matches!(run, [Op { kind: OpKind::Agent(agent), when: None, .. }] if agent.output.is_none());
    let mut emitted = Emitted::default();
    emitted.collect(run);
    // What `recover` emits stands in for the cell's work after a failure; it does not do that work.
    let own = emitted.keys.len();
    let stops = emitted.stops;
    emitted.collect(&cell.recover);
    let listed: BTreeSet<&TypeRef> = cell.outputs.iter().flat_map(|entry| &entry.term.alternatives).collect();
    let mut made: BTreeSet<TypeRef> = BTreeSet::new();
    for (index, (key, pointer)) in emitted.keys.iter().enumerate() {
        let name = TypeRef::parse(&key.nfc().collect::<String>());
        if !listed.contains(&name) {
            let names: Vec<String> = listed.iter().take(200).map(ToString::to_string).collect();
            let help = context.hint(key, names.iter().map(String::as_str)).unwrap_or_else(|| format!("list it in {}.out", cell_name(cell)));
            let place = context.node(&format!("{pointer}/emit")).and_then(|emit| emit.members().iter().find(|member| *member.key == **key));
            let place = place.map_or(span, |member| member.key_span);
            found.push((
                Severity::Error,
                "RSF908",
                place,
                format!("{} emits `{}`, which its `out` does not list", cell_name(cell), shown(key)),
                help,
            ));
        }
        if index < own {
            made.insert(name);
        }
    }
    if agent_alone || stops {
        return;
    }
    let mut reported = BTreeSet::new();
    for entry in &cell.outputs {
        if !entry.term.alternatives.iter().any(|alternative| made.contains(alternative)) && reported.insert(entry.term.key()) {
            let message = format!("no operation of {} emits `{}`", cell_name(cell), shown(&entry.term.key()));
            let help = "add an `emit`, or remove the entry from `out`".to_owned();
            found.push((Severity::Error, "RSF909", context.place(&entry.at), message, help));
        }
    }
}

fn within_each(cell: &Cell, run: &[Op], span: Span, context: &Context<'_>, found: &mut Found) {
    if cell.each.is_none() {
        return;
    }
    for (index, entry) in cell.outputs.iter().enumerate() {
        let listed = cell.outputs.iter().take(index).any(|other| other.term.key() == entry.term.key());
        if listed || entry.term.count > 1 {
            let message = format!("{} runs once per item, so `{}` is one list and has no count", cell_name(cell), shown(&entry.term.key()));
            found.push((Severity::Error, "RSF916", context.place(&entry.at), message, "list the type once, without a count".to_owned()));
        }
    }
    for op in flatten(run) {
        let name = match op.kind {
            OpKind::Set(_) => "set",
            OpKind::Stop { .. } => "stop",
            _ => continue,
        };
        let place = context.node(&op.at).map_or(span, crate::syntax::Node::head_span);
        let message = format!("`{name}` stands in {}, which runs once per item", cell_name(cell));
        found.push((Severity::Error, "RSF916", place, message, "do it in a later cell, over the list of all items' values".to_owned()));
    }
}

/// All operations of a list, nested ones included, in order.
pub(super) fn flatten(ops: &[Op]) -> Vec<&Op> {
    let mut all = Vec::new();
    for op in ops {
        all.push(op);
        match &op.kind {
            OpKind::For { body, .. } => all.extend(flatten(body)),
            OpKind::Do { body, otherwise } => {
                all.extend(flatten(body));
                all.extend(flatten(otherwise));
            }
            _ => {}
        }
    }
    all
}

/// Every operation of the document: of cells, of `recover` and of `on`.
pub(super) fn all_ops(workflow: &Workflow) -> Vec<&Op> {
    let cells = workflow.steps.iter().flat_map(|step| &step.cells);
    let lists = cells.flat_map(|cell| [cell.run.as_deref().unwrap_or_default(), &cell.recover]);
    lists.chain(workflow.execution.on.values().map(Vec::as_slice)).flat_map(flatten).collect()
}
