//! What the document does on every path, proved before it runs (docs/proof.md): soundness of the round net and its loops, definite assignment.
//!
//! A cell's choices are the alternatives it can emit and the `when` of each flow that leaves it, all of them free. Failures, stops and limits end a run from
//! outside the net. Only looked at when nothing else is wrong: what follows from another fault is not reported as well.
//!
//! # RSF711 cell started with an entry unfilled
//! On the path shown a delivery starts the cell, but nothing fills one of its entries (or not all of a counted one): the sender that feeds it made another alternative, held the value back, or did not run. The cell would fail as incomplete. Let
//! every way into the cell bring all its entries, make the entry a union, or give each way a cell of its own.
//! # RSF712 entry that gets more than its count
//! On the path shown more values reach the entry in one round than it lists. List the type as often as it can arrive, or make the ways exclude each other (alternatives of one union).
//! # RSF713 round that can die out
//! On the path shown the round ends without a stop, without a loop that goes on, and without the success of a cell that sends nothing forward: something was emitted that no flow takes, and the run would end as if completed. Give the alternative a
//! flow, or let the cell stop the run with a result of its own.
//! # RSF714 flow that never delivers
//! The sending cell runs, but never emits all parts of the flow together: two of its parts are alternatives of one union, or its program never emits one.
//! # RSF715 value that is lost in a joint flow (warning)
//! The flow carries several parts together. Where the cell emits another alternative of one of them, the flow does not deliver, and no other flow takes the rest. Split the flow, or add one for the other alternative.
//! # RSF716 entry filled by an earlier round (note)
//! On the path shown nothing brings the entry in this round, and the value of an earlier one fills it. A stale value looks like a fresh one; where that is not meant, let the round bring it anew.
//! # RSF717 cell that runs on no path
//! Flows lead to the cell, but on no path does one of them deliver.
//! # RSF719 proof not finished (warning)
//! The document has more combinations of choices than are looked at. What was found is true; what was not found is not proved absent. Fewer independent unions and conditions, or fewer loops that can be held together, make it provable.

mod bdd;
mod explore;
mod round;
mod story;

use super::plan::Net;
use super::{Context, shown};
use crate::base::{Severity, Span};
use crate::model::{Cell, Op, OpKind, TypeRef};
use bdd::Bdd;
use explore::{Exploration, Fault, Kind, explore};
use round::{Shape, Wrong};
use std::collections::BTreeSet;

/// Findings of one kind told with their story; the rest is only counted.
const STORIES: usize = 40;

pub(super) fn check(context: &mut Context<'_>) {
    if !context.net.whole_roles || !context.net.whole_cells || !context.net.whole_flows {
        return;
    }
    let Some(net) = Net::new(context.workflow).filter(|net| !net.cells.is_empty()) else { return };
    let mut shape = Shape::new(&net, possible(context, &net));
    // Entries of which it is known already that nothing brings them.
    let known: BTreeSet<Span> = context.found.iter().filter(|p| p.code == "RSF702").filter_map(|p| Some(p.labels.first()?.span)).collect();
    shape.recalled.retain(|(cell, slot)| !known.contains(&entry_span(context, &net, *cell, *slot)));
    let mut bdd = Bdd::new();
    let found = explore(&shape, &mut bdd);
    let mut reports = Vec::new();
    for fault in found.faults.iter().take(STORIES) {
        let story = story::story(&shape, &mut bdd, fault);
        reports.push(report(context, &net, fault, &story));
    }
    let sound = !found.faults.iter().any(|fault| !matches!(fault.kind, Kind::Stale(..)));
    if sound && !found.gave_up {
        idle(context, &net, &found, &mut reports);
    }
    joint(context, &net, &shape, &mut reports);
    if found.gave_up {
        let message = "not everything this document can do was looked at".to_owned();
        let help = "what was found is true; fewer independent unions, conditions and loops make the rest provable";
        reports.push((Severity::Warning, "RSF719", context.root.head_span(), message, help));
    }
    for (severity, code, span, message, help) in reports {
        context.report(severity, code, span, message, help);
    }
}

type Report = (Severity, &'static str, Span, String, &'static str);

fn cell_of<'a>(context: &Context<'a>, net: &Net, cell: usize) -> Option<&'a Cell> {
    let (step, index) = net.cells.get(cell)?.source;
    context.workflow.steps.get(step)?.cells.get(index)
}

fn report(context: &Context<'_>, net: &Net, fault: &Fault, story: &str) -> Report {
    match fault.kind {
        Kind::Entry(cell, slot, wrong) => {
            let name = shown(&net.cells[cell].id);
            let entry = shown(&net.cells[cell].slots[slot].term.to_string());
            let span = entry_span(context, net, cell, slot);
            match wrong {
                Wrong::TooMany => {
                    let message = format!("`{entry}` of {name} can get more than its count: {story}");
                    (
                        Severity::Error,
                        "RSF712",
                        span,
                        message,
                        "list the type as often as it can arrive, or let the ways exclude each other",
                    )
                }
                Wrong::Empty | Wrong::Partial => {
                    let message = format!("{name} can be started with `{entry}` unfilled: {story}");
                    (
                        Severity::Error,
                        "RSF711",
                        span,
                        message,
                        "let every way into the cell bring all its entries, or make the entry a union",
                    )
                }
            }
        }
        Kind::DiesOut(cell) => {
            let message = format!("the round can die out after {}: {story}", shown(&net.cells[cell].id));
            (Severity::Error, "RSF713", cell_span(context, net, cell), message, "give what it emits there a flow, or let it stop the run")
        }
        Kind::Stale(cell, slot) => {
            let entry = shown(&net.cells[cell].slots[slot].term.to_string());
            let message = format!("`{entry}` of {} can be a value of an earlier round: {story}", shown(&net.cells[cell].id));
            (Severity::Note, "RSF716", entry_span(context, net, cell, slot), message, "let the round bring it anew where that is not meant")
        }
    }
}

fn cell_span(context: &Context<'_>, net: &Net, cell: usize) -> Span {
    let Some(cell) = cell_of(context, net, cell) else { return Span::default() };
    let member = context.net.find(&crate::model::End { role: cell.role.clone(), seq: cell.seq });
    member.and_then(|index| context.net.cells.get(index)).map_or_else(|| context.place(&cell.at), super::net::CellInfo::span)
}

fn entry_span(context: &Context<'_>, net: &Net, cell: usize, slot: usize) -> Span {
    let Some(found) = cell_of(context, net, cell) else { return Span::default() };
    let key = &net.cells[cell].slots[slot].key;
    found.inputs.iter().find(|entry| entry.term.key() == *key).map_or_else(|| context.place(&found.at), |entry| context.place(&entry.at))
}

/// Cells that run and flows that deliver on no path.
fn idle(context: &Context<'_>, net: &Net, found: &Exploration, reports: &mut Vec<Report>) {
    for (index, cell) in net.cells.iter().enumerate() {
        let first = !cell.incoming.iter().any(|flow| !found.reached[net.flows[*flow].from]);
        if !found.reached[index] && first {
            let message = format!("{} runs on no path: no flow into it ever delivers", shown(&cell.id));
            reports.push((Severity::Error, "RSF717", cell_span(context, net, index), message, "see which alternatives its senders emit"));
        }
    }
    for (index, flow) in net.flows.iter().enumerate() {
        if found.reached[flow.from] && !found.delivered[index] && found.reached[flow.to] {
            let place = context.workflow.flows.get(index).map_or_else(Span::default, |flow| context.place(&format!("{}/what", flow.at)));
            let message =
                format!("flow `{}` never delivers: {} never emits all of it together", shown(&flow.id), shown(&net.cells[flow.from].id));
            let help = "parts that are alternatives of one union travel by flows of their own";
            reports.push((Severity::Error, "RSF714", place, message, help));
        }
    }
}

/// Parts of joint flows that nobody takes where another part is emitted otherwise.
fn joint(context: &Context<'_>, net: &Net, shape: &Shape<'_>, reports: &mut Vec<Report>) {
    let stored = |name: &TypeRef| {
        let execution = &context.workflow.execution;
        let kept =
            |key: &str| execution.types.get(key).is_some_and(|entry| !entry.store.is_empty()) || execution.outputs.iter().any(|o| o == key);
        kept(&name.name) || kept(&name.to_string())
    };
    for (index, flow) in net.flows.iter().enumerate().filter(|(_, flow)| flow.parts.len() > 1) {
        let sender = &net.cells[flow.from];
        let narrow = |part: &&crate::check::plan::Part| {
            let out = &sender.outs[part.out].term;
            let possible = shape.possible.get(flow.from).and_then(|outs| outs.get(part.out)).filter(|some| !some.is_empty());
            out.alternatives.iter().enumerate().any(|(a, alternative)| {
                possible.is_none_or(|possible| possible.contains(&a)) && !part.term.alternatives.contains(alternative)
            })
        };
        let Some(deciding) = flow.parts.iter().find(narrow) else { continue };
        let lost = flow.parts.iter().find(|part| {
            let elsewhere = sender.outgoing.iter().filter(|other| **other != index).any(|other| {
                let other = &net.flows[*other];
                other.parts.iter().any(|p| p.out == part.out)
                    && !other.parts.iter().any(|p| p.out == deciding.out && p.out != part.out && part_within(p, deciding))
            });
            part.out != deciding.out && !elsewhere && !part.term.alternatives.iter().all(stored)
        });
        if let Some(part) = lost {
            let place = context.workflow.flows.get(index).map_or_else(Span::default, |flow| context.place(&format!("{}/what", flow.at)));
            let message = format!(
                "`{}` of {} is lost when it does not emit `{}`: flow `{}` carries them only together",
                shown(&part.term.to_string()),
                shown(&sender.id),
                shown(&deciding.term.to_string()),
                shown(&flow.id)
            );
            reports.push((Severity::Warning, "RSF715", place, message, "split the flow, or add one for the other alternative"));
        }
    }
}

/// Whether `part` travels by no alternative that `other` does not have as well.
fn part_within(part: &crate::check::plan::Part, other: &crate::check::plan::Part) -> bool {
    part.term.alternatives.iter().all(|alternative| other.term.alternatives.contains(alternative))
}

/// Per cell and output, the alternatives that the cell's program names; empty where any may come.
fn possible(context: &Context<'_>, net: &Net) -> Vec<Vec<Vec<usize>>> {
    let of_cell = |index: usize| {
        let outs = &net.cells[index].outs;
        let Some(cell) = cell_of(context, net, index) else { return vec![Vec::new(); outs.len()] };
        let Some(run) = cell.run.as_deref() else { return vec![Vec::new(); outs.len()] };
        if let [Op { kind: OpKind::Agent(agent), .. }] = run
            && agent.output.is_none()
        {
            return vec![Vec::new(); outs.len()];
        }
        let mut named: BTreeSet<TypeRef> = BTreeSet::new();
        for op in super::execution::flatten(run).into_iter().chain(super::execution::flatten(&cell.recover)) {
            if let OpKind::Emit(map) = &op.kind {
                named.extend(map.keys().map(|key| TypeRef::parse(key)));
            }
        }
        let of_out = |out: &super::plan::Slot| {
            let alternatives = out.term.alternatives.iter().enumerate();
            alternatives.filter(|(_, alternative)| named.contains(alternative)).map(|(index, _)| index).collect()
        };
        outs.iter().map(of_out).collect()
    };
    (0..net.cells.len()).map(of_cell).collect()
}
