//! Where values come from, where they go, and which cells can ever run: as far as one look at the flows decides it.
//!
//! # RSF701 input from the role's memory (note)
//! No flow brings this input, but the same role received or made a value of that type in an earlier step; the newest one is taken.
//! # RSF702 input from nowhere (warning; an error once the cell has a `run`)
//! No flow brings this input, the role never had one, and it is no parameter. Add a flow, or remove the entry.
//! # RSF703 input from a parameter (note)
//! An entry cell's input is taken from the run's parameter of the same name. Declare it in `params`.
//! # RSF704 output nobody takes (note; a warning once the cell has a `run`)
//! No flow carries this output, no later cell of the role reads it, and no `store` keeps it.
//! # RSF705 cell that can never become active
//! No forward or loop flow leads to this cell from a cell that runs. Feedback without a loop mark only deposits its value and starts nothing.
//! # RSF706 later entry cell (warning)
//! A cell behind the first step has neither inputs nor incoming flows, so it is active in the first round by itself.
//! # RSF707 loop without a bound (note; an error once the document runs)
//! Nothing in the document ends this loop: no `stop`, no condition on the flow, no `limits.rounds` or `limits.cost`.

use super::net::{CellInfo, activates};
use super::{Context, cell_name, shown};
use crate::base::Severity;
use crate::model::{Op, OpKind, Term, TypeRef};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(context: &mut Context<'_>) {
    // Where an item could not be read or an end is no cell, whatever follows from the net would be a cascade.
    let dangling = context.net.ends.iter().any(|(from, to)| from.is_none() || to.is_none());
    let ambiguous = context.problems.iter().any(|problem| matches!(problem.code, "RSF302" | "RSF303"));
    if !context.net.whole_cells || !context.net.whole_flows || dangling || ambiguous {
        return;
    }
    inputs(context);
    outputs(context);
    activity(context);
    loops(context);
}

/// Types of one role by name → steps in which it has them (received or made).
type Memory<'a> = BTreeMap<(&'a str, &'a TypeRef), BTreeSet<u32>>;

fn memory<'a>(context: &Context<'a>) -> Memory<'a> {
    let mut memory = Memory::new();
    for step in &context.workflow.steps {
        for cell in &step.cells {
            for entry in cell.inputs.iter().chain(&cell.outputs) {
                for alternative in &entry.term.alternatives {
                    memory.entry((cell.role.as_str(), alternative)).or_default().insert(cell.seq);
                }
            }
        }
    }
    memory
}

fn inputs(context: &mut Context<'_>) {
    let memory = memory(context);
    let first = first_seq(context);
    let mut found = Vec::new();
    for info in &context.net.cells {
        let fed = marked(context, info, Direction::In);
        // An ill-typed flow into the cell has its own finding; the entry it was meant for is not reported as well.
        let Some(fed) = fed else { continue };
        let entry_cell = Some(info.cell.seq) == first;
        if info.incoming.is_empty() && !entry_cell {
            // Nothing starts this cell, which is the finding.
            continue;
        }
        for (_, slot) in info.inputs.slots.iter().enumerate().filter(|(index, _)| !fed.contains(index)) {
            let remembered = slot.term.alternatives.iter().any(|alternative| {
                memory.get(&(info.cell.role.as_str(), alternative)).is_some_and(|seqs| seqs.range(..info.cell.seq).next().is_some())
            });
            let span = info.entry_span("in", slot.first);
            let (cell, name) = (cell_name(info.cell), shown(&slot.term.key()));
            let declared = slot.term.alternatives.iter().any(|alternative| is_param(context, &alternative.to_string()));
            if remembered && !entry_cell {
                let message = format!("no flow brings `{name}` to {cell}");
                let help = "it is filled by what the role last received or made of that type".to_owned();
                found.push((Severity::Note, "RSF701", span, message, help));
            } else if entry_cell && !declared && info.cell.run.is_none() {
                let message = format!("`{name}` of {cell} is taken from the run's parameter of that name");
                found.push((Severity::Note, "RSF703", span, message, "declare it in `params`".to_owned()));
            } else if !(entry_cell && declared) {
                let severity = if info.cell.run.is_some() { Severity::Error } else { Severity::Warning };
                let message = format!("no flow brings `{name}` to {cell}, and nothing else does");
                found.push((severity, "RSF702", span, message, "add a flow that carries it, or remove the entry".to_owned()));
            }
        }
    }
    for (severity, code, span, message, help) in found {
        context.report(severity, code, span, message, help);
    }
}

fn is_param(context: &Context<'_>, name: &str) -> bool {
    let params = context.workflow.execution.params.as_ref();
    params.and_then(|schema| schema.get("properties")).is_some_and(|properties| properties.get(name).is_some())
}

fn outputs(context: &mut Context<'_>) {
    let mut found = Vec::new();
    // (role, type) → the last step that lists it as an input no flow feeds: what a role remembers is taken.
    let mut recalled: BTreeMap<(&str, &TypeRef), u32> = BTreeMap::new();
    for info in &context.net.cells {
        let fed = marked(context, info, Direction::In).unwrap_or_default();
        for (_, slot) in info.inputs.slots.iter().enumerate().filter(|(index, _)| !fed.contains(index)) {
            for alternative in &slot.term.alternatives {
                let last = recalled.entry((info.cell.role.as_str(), alternative)).or_default();
                *last = info.cell.seq.max(*last);
            }
        }
    }
    for info in &context.net.cells {
        let Some(taken) = marked(context, info, Direction::Out) else { continue };
        for (_, slot) in info.outputs.slots.iter().enumerate().filter(|(index, _)| !taken.contains(index)) {
            let remembered = slot
                .term
                .alternatives
                .iter()
                .any(|alternative| recalled.get(&(info.cell.role.as_str(), alternative)).is_some_and(|last| *last > info.cell.seq));
            if remembered || kept(context, slot.term) {
                continue;
            }
            let severity = if info.cell.run.is_some() { Severity::Warning } else { Severity::Note };
            let message = format!("nobody takes `{}` of {}", shown(&slot.term.key()), cell_name(info.cell));
            let help = "add a flow that carries it, a `store` in `types` that keeps it, or remove the entry".to_owned();
            found.push((severity, "RSF704", info.entry_span("out", slot.first), message, help));
        }
    }
    for (severity, code, span, message, help) in found {
        context.report(severity, code, span, message, help);
    }
}

/// True when every alternative is stored or handed to a parent workflow.
fn kept(context: &Context<'_>, term: &Term) -> bool {
    let execution = &context.workflow.execution;
    term.alternatives.iter().all(|alternative| {
        let stored = |name: &str| execution.types.get(name).is_some_and(|entry| !entry.store.is_empty());
        stored(&alternative.name) || stored(&alternative.to_string()) || execution.outputs.contains(&alternative.name)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// The slots that flows fill or empty; `None` when a flow of the cell fits none, which is a finding of its own.
fn marked(context: &Context<'_>, info: &CellInfo<'_>, direction: Direction) -> Option<BTreeSet<usize>> {
    let (flows, slots) = match direction {
        Direction::In => (&info.incoming, &info.inputs),
        Direction::Out => (&info.outgoing, &info.outputs),
    };
    let mut marked = BTreeSet::new();
    for term in flows.iter().filter_map(|index| context.workflow.flows.get(*index)).flat_map(|flow| &flow.what) {
        let before = marked.len();
        let mut fits = false;
        for slot in slots.fitting(term).take(1) {
            fits = true;
            marked.insert(slot);
        }
        if !fits && before == marked.len() {
            return None;
        }
    }
    Some(marked)
}

fn first_seq(context: &Context<'_>) -> Option<u32> {
    context.workflow.steps.iter().map(|step| step.seq).min()
}

fn activity(context: &mut Context<'_>) {
    let first = first_seq(context);
    let count = context.net.cells.len();
    let mut seeds = Vec::new();
    let mut later = Vec::new();
    for (index, info) in context.net.cells.iter().enumerate() {
        if Some(info.cell.seq) == first {
            seeds.push(index);
        } else if info.cell.inputs.is_empty() && info.incoming.is_empty() {
            seeds.push(index);
            later.push((info.span(), cell_name(info.cell)));
        }
    }
    let mut active = vec![false; count];
    spread(context, seeds, &mut active);
    let mut found = Vec::new();
    // The cells where it begins first; what they would have started is a consequence and no further finding.
    let mut covered = active.clone();
    for wanted in [true, false] {
        for (index, info) in context.net.cells.iter().enumerate() {
            let begins = !info.incoming.iter().any(|flow| context.workflow.flows.get(*flow).is_some_and(activates));
            if !covered.get(index).copied().unwrap_or(true) && (begins || !wanted) {
                found.push((info.span(), cell_name(info.cell), !info.incoming.is_empty()));
                spread(context, vec![index], &mut covered);
            }
        }
    }
    for (span, cell) in later {
        let help = "if it is to run after others, let a flow lead to it";
        context.warning("RSF706", span, format!("{cell} runs in the first round although no flow leads to it"), help);
    }
    for (span, cell, has_flows) in found {
        let help = if has_flows { "mark a feedback flow into it as a loop, or lead a forward flow to it" } else { "lead a flow to it" };
        context.error("RSF705", span, format!("{cell} can never become active"), help);
    }
}

/// Marks every cell that the given ones make active, directly or not.
fn spread(context: &Context<'_>, mut work: Vec<usize>, active: &mut [bool]) {
    for index in &work {
        if let Some(flag) = active.get_mut(*index) {
            *flag = true;
        }
    }
    while let Some(index) = work.pop() {
        let Some(info) = context.net.cells.get(index) else { continue };
        for flow in &info.outgoing {
            let target = context.net.ends.get(*flow).and_then(|ends| ends.1);
            let starts = context.workflow.flows.get(*flow).is_some_and(activates);
            if let Some(target) = target.filter(|_| starts)
                && let Some(flag) = active.get_mut(target)
                && !*flag
            {
                *flag = true;
                work.push(target);
            }
        }
    }
}

fn loops(context: &mut Context<'_>) {
    let workflow = context.workflow;
    let execution = &workflow.execution;
    let limited = ["rounds", "cost"].iter().any(|name| execution.limits.contains_key(*name));
    let stops = |ops: &[Op]| ops.iter().any(may_stop);
    let stopped = execution.on.values().any(|ops| stops(ops))
        || workflow.steps.iter().flat_map(|step| &step.cells).any(|cell| cell.run.as_deref().is_some_and(stops) || stops(&cell.recover));
    if limited || stopped {
        return;
    }
    let severity = if context.runs() { Severity::Error } else { Severity::Note };
    for flow in workflow.flows.iter().filter(|flow| flow.looping && flow.from.seq > flow.to.seq && flow.when.is_none()) {
        let message = format!("nothing bounds the loop of flow `{}`", shown(&flow.id));
        let help = "set `limits.rounds`, give the flow a `when`, or let a cell `stop` the run";
        context.report(severity, "RSF707", context.place(&format!("{}/id", flow.at)), message, help);
    }
}

fn may_stop(op: &Op) -> bool {
    match &op.kind {
        OpKind::Stop { .. } => true,
        OpKind::For { body, .. } => body.iter().any(may_stop),
        OpKind::Do { body, otherwise } => body.iter().chain(otherwise).any(may_stop),
        _ => false,
    }
}
