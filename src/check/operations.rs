//! Names that operations use: tools, decision tables, state, stored types.
//!
//! # RSF904 unknown tool
//! `call` or an agent's `tools` names a tool that does not exist. `rsf reference` lists them.
//! # RSF905 unknown decision table
//! `rules` names a table that the root's `rules` does not have.
//! # RSF910 unknown state (warning)
//! `set` changes a name that the root's `state` does not begin with. Expressions before that point would find it undefined.
//! # RSF914 type without a place
//! `store` writes a type that `types` gives no `store` path.
//! # RSF919 agent without a model
//! Neither the `agent` operation nor the role's `agent` names a `model`, so no session could be opened.

use super::execution::flatten;
use super::{Context, shown};
use crate::model::{Agent, Op, OpKind};
use crate::syntax::push_segment;

pub(super) fn check(context: &mut Context<'_>) {
    let workflow = context.workflow;
    for role in &workflow.roles {
        if let Some(agent) = &role.agent {
            tools(context, agent);
        }
    }
    for cell in workflow.steps.iter().flat_map(|step| &step.cells) {
        for op in flatten(cell.run.as_deref().unwrap_or_default()).into_iter().chain(flatten(&cell.recover)) {
            operation(context, op, true);
            model(context, op, Some(&cell.role));
        }
    }
    for (event, ops) in &workflow.execution.on {
        for op in flatten(ops) {
            // What `accept` sets are parameters.
            operation(context, op, event != "accept");
            let first = workflow.roles.first().map(|role| role.id.as_str());
            model(context, op, workflow.execution.on_as.as_deref().or(first));
        }
    }
}

fn operation(context: &mut Context<'_>, op: &Op, sets_state: bool) {
    let execution = &context.workflow.execution;
    match &op.kind {
        OpKind::Call { tool, .. } => tool_name(context, tool, &format!("{}/call", op.at)),
        OpKind::Agent(agent) => tools(context, agent),
        OpKind::Rules { table, .. } if !execution.rules.contains_key(table) => {
            let hint = context.hint(table, execution.rules.keys().map(String::as_str));
            let help = hint.unwrap_or_else(|| "declare it in the root's `rules`".to_owned());
            context.error("RSF905", context.place_of(&op.at, "rules"), format!("there is no decision table `{}`", shown(table)), help);
        }
        OpKind::Set(map) if sets_state => {
            for name in map.keys().filter(|name| !execution.state.contains_key(*name)) {
                let hint = context.hint(name, execution.state.keys().map(String::as_str));
                let help = hint.unwrap_or_else(|| "give it an initial value in the root's `state`".to_owned());
                context.warning("RSF910", key_place(context, &op.at, "set", name), format!("`state` has no `{}`", shown(name)), help);
            }
        }
        OpKind::Store(map) => {
            for name in map.keys() {
                let base = name.split('(').next().unwrap_or(name).trim();
                let stored =
                    [name.as_str(), base].iter().any(|name| execution.types.get(*name).is_some_and(|entry| !entry.store.is_empty()));
                if !stored {
                    let hint = context.hint(name, execution.types.keys().map(String::as_str));
                    let help = hint.unwrap_or_else(|| "give the type a `store` path in the root's `types`".to_owned());
                    context.error(
                        "RSF914",
                        key_place(context, &op.at, "store", name),
                        format!("`types` gives `{}` no `store`", shown(name)),
                        help,
                    );
                }
            }
        }
        _ => {}
    }
}

/// An agent's session needs a model, of the operation or of the role.
fn model(context: &mut Context<'_>, op: &Op, role: Option<&str>) {
    let OpKind::Agent(agent) = &op.kind else { return };
    let role = context.workflow.roles.iter().find(|known| Some(known.id.as_str()) == role);
    let Some(role) = role.filter(|role| agent.model.is_none() && role.agent.as_ref().is_none_or(|agent| agent.model.is_none())) else {
        return;
    };
    let message = format!("no model is named for this agent of `{}`", shown(&role.id));
    context.error("RSF919", context.place_of(&op.at, "agent"), message, "give the operation or the role's `agent` a `model`");
}

fn tools(context: &mut Context<'_>, agent: &Agent) {
    for (index, tool) in agent.tools.iter().flatten().enumerate() {
        tool_name(context, tool, &format!("{}/tools/{index}", agent.at));
    }
}

fn tool_name(context: &mut Context<'_>, tool: &str, pointer: &str) {
    if context.tools.contains(&tool) {
        return;
    }
    let hint = context.hint(tool, context.tools.iter().copied());
    let help = hint.unwrap_or_else(|| "`rsf reference` lists the tools".to_owned());
    context.error("RSF904", context.place(pointer), format!("there is no tool `{}`", shown(tool)), help);
}

fn key_place(context: &Context<'_>, at: &str, operation: &str, key: &str) -> crate::base::Span {
    let mut pointer = format!("{at}/{operation}");
    let member = context.node(&pointer).and_then(|node| node.members().iter().find(|member| *member.key == *key));
    push_segment(&mut pointer, key);
    member.map_or_else(|| context.place(at), |member| member.key_span)
}
