//! Rules of the flows themselves: kind and direction.
//!
//! # RSF501 sync between roles
//! A `sync` flow is a call within one role. Between two roles the receiver starts with a fresh context of its own: write `async`.
//! # RSF502 feedback without a mark (warning)
//! A flow goes back to an earlier step and does not say what for. `[feedback …]` deposits its value for the next time the target runs; `"loop": true` or `[loop: …]` starts the target in
//! the next round. Unmarked, it deposits.
//! # RSF503 async within a role (warning)
//! A flow within one role is `async`: the role hands over to a fresh context of itself. If that is not meant, write `sync`.
//! # RSF504 mark without effect (warning)
//! A flow is marked as a loop although it goes forward. A loop goes from a later step to an earlier one.

use super::{Context, shown};
use crate::model::{Flow, FlowKind};

pub(super) fn check(context: &mut Context<'_>) {
    let workflow = context.workflow;
    for (index, flow) in workflow.flows.iter().enumerate() {
        let dangling = context.net.ends.get(index).is_none_or(|(from, to)| from.is_none() || to.is_none());
        kind(context, flow, dangling);
        direction(context, flow);
    }
}

/// A flow whose end is no cell probably names the wrong role, so that being within one role may be a consequence.
fn kind(context: &mut Context<'_>, flow: &Flow, dangling: bool) {
    let id = shown(&flow.id);
    let within = flow.from.role == flow.to.role;
    if flow.kind == FlowKind::Sync && !within {
        let message = format!("flow `{id}` is sync but goes from role `{}` to `{}`", shown(&flow.from.role), shown(&flow.to.role));
        context.error("RSF501", context.place(&format!("{}/type", flow.at)), message, "between roles write `\"async\"`");
    }
    if flow.kind == FlowKind::Async && within && flow.from != flow.to && !dangling {
        let message = format!("flow `{id}` is async within role `{}`", shown(&flow.to.role));
        context.warning(
            "RSF503",
            context.place(&format!("{}/type", flow.at)),
            message,
            "write `\"sync\"` unless a fresh context is wanted",
        );
    }
}

fn direction(context: &mut Context<'_>, flow: &Flow) {
    let id = shown(&flow.id);
    if flow.from.seq > flow.to.seq && !flow.feedback_marked {
        let message = format!("flow `{id}` goes back from step {} to step {} without a mark", flow.from.seq, flow.to.seq);
        let help = "add `\"loop\": true` if it starts a new round, or `[feedback]` to its description if it only deposits its value";
        context.warning("RSF502", context.place(&format!("{}/to/seq", flow.at)), message, help);
    }
    if flow.from.seq < flow.to.seq && flow.looping {
        let message = format!("flow `{id}` is marked as a loop but goes forward");
        let place = context.place_of(&flow.at, if context.node(&format!("{}/loop", flow.at)).is_some() { "loop" } else { "description" });
        context.warning("RSF504", place, message, "a loop goes from a later step to an earlier one; remove the mark");
    }
}
