//! Bracketed annotations in descriptions. Prose never rejects a document and never leaves a cell without a time limit.
//!
//! # RSF601 annotation that cannot be read (warning)
//! Brackets that look like a known annotation but are not: `[timeout soon]`, `[timeout 0s]`, a bracket that is never closed. The default applies, as the message says. Time-outs are
//! written `[timeout 300s]` or `[超时300秒]`, with `s`, `m`, `h`, `秒`, `分`, `分钟`, `小时`.
//! # RSF602 two time-outs (warning)
//! One description gives two different time-outs. The smaller one applies.
//! # RSF603 time-out without effect (note)
//! A time-out stands in the description of something that has no time limit of its own. Put it on the step, on the flow into the cell, or into the cell's `timeout`.
//! # RSF604 remark on a flow (note)
//! Bracketed prose on a flow without `when` decides nothing: the flow always delivers. If it is a condition, write it as `when`.

use super::{Context, shown};
use crate::base::{Span, limits};
use crate::model::{Annotation, AnnotationKind, annotations, timeout_ms};
use crate::syntax::Node;

/// What a description belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Step,
    Flow { conditional: bool },
    Other,
}

pub(super) fn check(context: &mut Context<'_>) {
    let workflow = context.workflow;
    let root = context.root.get("description").into_iter();
    let cells = context.net.cells.iter().filter_map(|info| info.member).filter_map(|member| member.value.get("description"));
    let roles = workflow.roles.iter().filter_map(|role| context.node(&format!("{}/description", role.at)));
    let others: Vec<&Node> = root.chain(cells).chain(roles).collect();
    for node in others {
        description(context, node, Owner::Other);
    }
    for step in &workflow.steps {
        if let Some(node) = context.node(&format!("{}/description", step.at)) {
            description(context, node, Owner::Step);
        }
    }
    for flow in &workflow.flows {
        if let Some(node) = context.node(&format!("{}/description", flow.at)) {
            description(context, node, Owner::Flow { conditional: flow.when.is_some() });
        }
    }
}

fn description(context: &mut Context<'_>, node: &Node, owner: Owner) {
    let Some(text) = node.as_str() else { return };
    let found = annotations(text);
    for annotation in &found {
        let span = node.inner_span(annotation.at.start, annotation.at.end);
        let written = shown(text.get(annotation.at.clone()).unwrap_or_default());
        match annotation.kind {
            AnnotationKind::Unreadable(why) => unreadable(context, span, &written, why, owner, &found),
            AnnotationKind::Timeout(_) if owner == Owner::Other => {
                let help = "put it into the step's or the flow's description, or into the cell's `timeout`";
                context.note("RSF603", span, format!("`[{written}]` has no effect here"), help);
            }
            AnnotationKind::Remark if owner == (Owner::Flow { conditional: false }) => {
                context.note("RSF604", span, format!("`[{written}]` decides nothing"), "if it is a condition, write it as `when`");
            }
            _ => {}
        }
    }
    two_timeouts(context, node, &found);
}

fn unreadable(context: &mut Context<'_>, span: Span, written: &str, why: &str, owner: Owner, found: &[Annotation]) {
    let default = match (timeout_ms(found), context.workflow.execution.limits.get("timeout")) {
        _ if owner == Owner::Other => "it has no effect here in any case".to_owned(),
        (Some(ms), _) => format!("the other time-out of this description applies, {}", seconds(ms)),
        (None, Some(limit)) => format!("the document's `limits.timeout` applies, {limit}"),
        (None, None) => format!("the step's time-out or the default of {} applies", seconds(limits::TIMEOUT_MS)),
    };
    let message = format!("`[{written}]` cannot be read: {why}");
    context.warning("RSF601", span, message, format!("write e.g. `[timeout 300s]`; as it is, {default}"));
}

fn two_timeouts(context: &mut Context<'_>, node: &Node, found: &[Annotation]) {
    let Some(least) = timeout_ms(found) else { return };
    let other = found.iter().find(|annotation| matches!(annotation.kind, AnnotationKind::Timeout(ms) if ms != least));
    if let Some(other) = other {
        let span = node.inner_span(other.at.start, other.at.end);
        context.warning(
            "RSF602",
            span,
            "two different time-outs in one description".to_owned(),
            format!("the smaller one applies, {}", seconds(least)),
        );
    }
}

fn seconds(ms: u64) -> String {
    format!("{}s", ms / 1000)
}
