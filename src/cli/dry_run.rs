//! `rsf run --dry-run`: the plan, the first prompts as they would be sent, and what the next round would cost. Touches nothing.

use super::ready::Ready;
use crate::base::{Money, Timestamp};
use crate::machine::{Command, Machine, Request};
use crate::report::text::{lines, one_line};
use crate::rule::{Scope, to_json};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

const PROMPT_LINES: usize = 400;

/// What a run would do first.
pub fn text(ready: &Ready, now: Timestamp, project: &Value) -> String {
    let mut out = String::new();
    let workflow = ready.plan.workflow();
    out.push_str("steps of a round:\n");
    for step in &workflow.steps {
        let cells: Vec<String> = step.cells.iter().map(|c| format!("{}: {}", one_line(&c.role), one_line(&c.task))).collect();
        let _ = writeln!(out, "  {:>3}  {}", step.seq, cells.join(" | "));
    }
    let machine = Machine::new(Arc::clone(&ready.plan), ready.prepared.clone());
    for command in machine.rehearse(now, project.clone()) {
        if let Command::Perform { id, request, .. } = command
            && let Request::Model(request) = *request
        {
            let _ = writeln!(
                out,
                "\nfirst prompt of {} for model {} ({}):",
                one_line(&request.asker.cell),
                one_line(&request.model),
                one_line(&id.0)
            );
            for (caption, words) in [("system", request.system.as_str()), ("prompt", first_words(&request.messages))] {
                let _ = writeln!(out, "--- {caption}");
                for line in lines(words, PROMPT_LINES) {
                    let _ = writeln!(out, "{line}");
                }
            }
        }
    }
    let _ = writeln!(out, "\n{}", cost(ready));
    out
}

fn first_words(messages: &[crate::agent::Message]) -> &str {
    match messages.first() {
        Some(crate::agent::Message::User { text }) => text,
        _ => "",
    }
}

fn cost(ready: &Ready) -> String {
    let limit = ready.plan.limits().cost.map(|micros| format!("; limit of the run: {}", Money(micros).two_decimals())).unwrap_or_default();
    let Some(estimate) = ready.plan.workflow().execution.estimate.as_deref() else {
        return format!("estimated cost of the first round: the document gives no estimate{limit}");
    };
    let mut scope = Scope::new();
    scope.set_json("config", ready.plan.config());
    scope.set_json("params", &Value::Object(ready.prepared.params.clone()));
    scope.set_json("state", &Value::Object(ready.plan.workflow().execution.state.clone()));
    scope.set_json("round", &Value::from(1));
    let zero = serde_json::json!({"input": 0, "cached": 0, "output": 0, "tokens": 0, "cost": 0, "exchanges": 0});
    scope.set_json("usage", &serde_json::json!({"total": zero, "by_role": {}, "by_model": {}, "by_round": {}, "roles": {}}));
    match ready.plan.engine().eval(estimate, &scope).and_then(|v| to_json(&v)) {
        Ok(value) => match value.as_i64() {
            Some(micros) => format!("estimated cost of the first round: {}{limit}", Money(micros).two_decimals()),
            None => format!("estimated cost of the first round: {value}{limit}"),
        },
        Err(_) => format!("estimated cost of the first round: known once the run has planned{limit}"),
    }
}
