//! Names that must mean something: roles, steps, cells, flow ids.
//!
//! # RSF301 undeclared role
//! A cell or a flow names a role that `roles` does not declare. All places that use the name are one finding.
//! # RSF302 role declared twice
//! Two roles have the same id. Rename one or merge them.
//! # RSF303 step number given twice
//! Two steps have the same `seq`, so that `{role, seq}` could mean either.
//! # RSF304 flow id given twice
//! Two flows have the same id. Logs and traces name flows by it.
//! # RSF305 no such step
//! A flow begins or ends at a step number that no step has.
//! # RSF306 no such cell
//! A flow begins or ends at a role that has no cell in that step.
//! # RSF307 flow from a cell to itself
//! A cell that feeds itself would start itself for ever. To go round again, let a later cell send a loop flow back.
//! # RSF308 flow within one step
//! Cells of one step run in parallel and cannot feed each other. Put the receiver into a later step.
//! # RSF309 role without cells (warning)
//! A role is declared that does nothing.
//! # RSF310 step without cells (warning)
//! A step in which nobody works.

use super::{Context, shown};
use crate::base::{Problem, Severity, Span};
use crate::model::{End, Workflow};
use std::collections::{BTreeMap, BTreeSet};

/// Places shown of one fault.
const SHOWN_PLACES: usize = 5;

pub(super) fn check(context: &mut Context<'_>) {
    duplicates(context);
    let misspelt = undeclared_roles(context);
    ends(context);
    idle(context, &misspelt);
}

fn duplicates(context: &mut Context<'_>) {
    let workflow = context.workflow;
    let roles = workflow.roles.iter().map(|role| (role.id.clone(), format!("{}/id", role.at))).collect();
    twice(context, "RSF302", "role", roles, "rename one of them, or merge them");
    let steps = workflow.steps.iter().map(|step| (step.seq.to_string(), format!("{}/seq", step.at))).collect();
    twice(context, "RSF303", "step", steps, "give each step a number of its own");
    let flows = workflow.flows.iter().map(|flow| (flow.id.clone(), format!("{}/id", flow.at))).collect();
    twice(context, "RSF304", "flow", flows, "give each flow an id of its own");
}

fn twice(context: &mut Context<'_>, code: &'static str, what: &str, items: Vec<(String, String)>, help: &str) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for (name, pointer) in items {
        let Some(earlier) = first.get(&name) else {
            first.insert(name, pointer);
            continue;
        };
        let problem = Problem::error(code, format!("{what} `{}` is given twice", shown(&name)))
            .at(context.file, context.place(&pointer), "again here")
            .at(context.file, context.place(earlier), "first here")
            .help(help);
        context.problems.push(problem);
    }
}

/// Reports undeclared roles; returns declared names that one of them probably meant.
fn undeclared_roles(context: &mut Context<'_>) -> BTreeSet<String> {
    // Without a readable list of roles every name would be undeclared; the list's own fault has been reported.
    if !context.net.whole_roles {
        return context.workflow.roles.iter().map(|role| role.id.clone()).collect();
    }
    let workflow = context.workflow;
    let declared: BTreeSet<&str> = workflow.roles.iter().map(|role| role.id.as_str()).collect();
    let mut uses: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for info in context.net.cells.iter().filter(|info| !declared.contains(info.cell.role.as_str())) {
        uses.entry(&info.cell.role).or_default().push(info.span());
    }
    for flow in &workflow.flows {
        for (end, key) in [(&flow.from, "from"), (&flow.to, "to")] {
            if !declared.contains(end.role.as_str()) {
                uses.entry(&end.role).or_default().push(context.place(&format!("{}/{key}/role", flow.at)));
            }
        }
    }
    let mut misspelt = BTreeSet::new();
    for (role, mut places) in uses {
        places.sort_unstable();
        let hint = context.hint(role, declared.iter().copied());
        misspelt.extend(
            declared.iter().take(500).filter(|name| hint.as_ref().is_some_and(|hint| hint.contains(**name))).map(|name| (*name).to_owned()),
        );
        let help = hint.unwrap_or_else(|| "declare it in `roles.items`".to_owned());
        grouped(context, "RSF301", format!("role `{}` is not declared", shown(role)), &places, help);
    }
    misspelt
}

fn grouped(context: &mut Context<'_>, code: &'static str, message: String, places: &[Span], help: String) {
    let mut problem = Problem::of(code, Severity::Error, message);
    for (index, place) in places.iter().take(SHOWN_PLACES).enumerate() {
        problem = problem.at(context.file, *place, if index == 0 { "" } else { "and here" });
    }
    let more = places.len().saturating_sub(SHOWN_PLACES);
    let help = if more > 0 { format!("{help} (used in {more} more places)") } else { help };
    context.problems.push(problem.help(help));
}

fn ends(context: &mut Context<'_>) {
    let workflow = context.workflow;
    let seqs: BTreeSet<u32> = workflow.steps.iter().map(|step| step.seq).collect();
    let declared: BTreeSet<&str> = workflow.roles.iter().map(|role| role.id.as_str()).collect();
    let mut no_step: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    let mut no_cell: BTreeMap<&End, Vec<Span>> = BTreeMap::new();
    for flow in &workflow.flows {
        if flow.from == flow.to {
            let message = format!("flow `{}` goes from a cell to itself", shown(&flow.id));
            context.error(
                "RSF307",
                context.place(&format!("{}/to", flow.at)),
                message,
                "to go round again, let a later cell send a loop flow back",
            );
        } else if flow.from.seq == flow.to.seq {
            let message = format!("flow `{}` stays within step {}", shown(&flow.id), flow.to.seq);
            let help = "cells of one step run in parallel; put the receiver into a later step";
            context.error("RSF308", context.place(&format!("{}/to/seq", flow.at)), message, help);
        }
        for (end, key) in [(&flow.from, "from"), (&flow.to, "to")] {
            if !context.net.whole_cells || context.net.find(end).is_some() {
                continue;
            }
            if !seqs.contains(&end.seq) {
                no_step.entry(end.seq).or_default().push(context.place(&format!("{}/{key}/seq", flow.at)));
            } else if declared.contains(end.role.as_str()) {
                no_cell.entry(end).or_default().push(context.place(&format!("{}/{key}/role", flow.at)));
            }
        }
    }
    for (seq, places) in no_step {
        let last = seqs.last().map_or(String::new(), |last| format!("the last step is number {last}"));
        grouped(context, "RSF305", format!("there is no step {seq}"), &places, last);
    }
    for (end, places) in no_cell {
        let message = format!("role `{}` has no cell in step {}", shown(&end.role), end.seq);
        let help = own_steps(workflow, &end.role);
        grouped(context, "RSF306", message, &places, help);
    }
}

fn own_steps(workflow: &Workflow, role: &str) -> String {
    let with_role = workflow.steps.iter().filter(|step| step.cells.iter().any(|cell| cell.role == role));
    let seqs: Vec<String> = with_role.take(10).map(|step| step.seq.to_string()).collect();
    if seqs.is_empty() { "it has no cell at all".to_owned() } else { format!("it has cells in steps {}", seqs.join(", ")) }
}

fn idle(context: &mut Context<'_>, misspelt: &BTreeSet<String>) {
    let workflow = context.workflow;
    if context.net.whole_cells {
        let used: BTreeSet<&str> = context.net.cells.iter().map(|info| info.cell.role.as_str()).collect();
        for role in workflow.roles.iter().filter(|role| !used.contains(role.id.as_str()) && !misspelt.contains(&role.id)) {
            let message = format!("role `{}` has no cell", shown(&role.id));
            context.warning("RSF309", context.place(&format!("{}/id", role.at)), message, "give it a task in a step, or remove it");
        }
    }
    for step in workflow.steps.iter().filter(|step| step.cells.is_empty()) {
        // A step whose cells could not be read has its own fault.
        if context.node(&format!("{}/cells", step.at)).is_some_and(|cells| cells.is_object() && cells.members().is_empty()) {
            let message = format!("step {} has no cell", step.seq);
            context.warning("RSF310", context.place(&format!("{}/cells", step.at)), message, "give a role a task in it, or remove it");
        }
    }
}
