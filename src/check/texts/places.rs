//! What is in scope where: for cells, programs, flows and the texts of the root (docs/language.md, 5).

use super::infer::Names;
use super::programs;
use super::ty::Ty;
use super::{Context, Texts};
use crate::model::{Cell, Flow, TypeRef};
use serde_json::Value;

pub(super) fn check(texts: &mut Texts<'_, '_>) {
    let workflow = texts.context.workflow;
    root(texts);
    for (event, ops) in &workflow.execution.on {
        let mut names = if event == "accept" { texts.before.clone() } else { texts.common.clone() };
        if event == "attempt" || event == "failure" {
            names.insert("error".to_owned(), error());
        }
        programs::check(texts, ops, &mut names, None);
    }
    for cell in workflow.steps.iter().flat_map(|step| &step.cells) {
        self::cell(texts, cell);
    }
    for flow in &workflow.flows {
        if let Some(when) = &flow.when {
            let names = of_flow(texts, flow);
            texts.condition(&format!("{}/when", flow.at), when, &names);
        }
    }
}

fn cell(texts: &mut Texts<'_, '_>, cell: &Cell) {
    if cell.run.is_none() && cell.each.is_none() && cell.timeout.is_none() && cell.retry.is_none() && cell.recover.is_empty() {
        return;
    }
    let mut names = of_cell(texts, cell);
    if let Some(each) = &cell.each {
        let over = texts.expression(&format!("{}/each", cell.at), each, &names);
        names.insert("item".to_owned(), over.element());
        names.insert("index".to_owned(), Ty::Number);
    }
    if let Some(timeout) = &cell.timeout {
        texts.text(&format!("{}/timeout", cell.at), timeout, &names);
    }
    if let Some(Value::String(max)) = cell.retry.as_ref().map(|retry| &retry.max) {
        texts.text(&format!("{}/retry/max", cell.at), max, &names);
    }
    if let Some(backoff) = cell.retry.as_ref().and_then(|retry| retry.backoff.as_ref()) {
        texts.text(&format!("{}/retry/backoff", cell.at), backoff, &names);
    }
    if let Some(run) = &cell.run {
        programs::check(texts, run, &mut names.clone(), Some(cell));
    }
    if !cell.recover.is_empty() {
        names.insert("error".to_owned(), error());
        programs::check(texts, &cell.recover, &mut names, Some(cell));
    }
}

fn root(texts: &mut Texts<'_, '_>) {
    let execution = &texts.context.workflow.execution;
    let names = texts.before.clone();
    for (name, text) in execution.ids.iter().filter(|(name, _)| *name != "session_id") {
        texts.text(&format!("/ids/{name}"), text, &names);
    }
    for constraint in &execution.constraints {
        texts.condition(&format!("{}/assert", constraint.at), &constraint.assert, &names);
        texts.text(&format!("{}/message", constraint.at), &constraint.message, &names);
    }
    let names = texts.common.clone();
    for (index, view) in execution.view.iter().enumerate() {
        texts.expression(&format!("/view/{index}/value"), &view.value, &names);
    }
    if let Some(estimate) = &execution.estimate {
        let mut names = names.clone();
        names.remove("estimate");
        texts.expression("/estimate", estimate, &names);
    }
    if let Some(price) = &execution.price {
        let tokens = ["input", "cached", "output", "total"].map(|name| (name.to_owned(), Ty::Number));
        let fields = [
            ("role", Ty::Text),
            ("model", Ty::Text),
            ("tokens", Ty::closed(tokens)),
            ("config", Ty::of_value(&execution.config, 0)),
            ("listed", Ty::Any),
        ];
        let names: Names = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
        texts.expression("/price", price, &names);
    }
}

/// What stands before a run exists.
pub(super) fn before(context: &Context<'_>) -> Names {
    let execution = &context.workflow.execution;
    let params = execution.params.as_ref().map_or(Ty::Any, |schema| Ty::of_schema(schema, schema, 0));
    let text = || Ty::Text;
    let ids: Vec<(String, Ty)> = execution.ids.keys().map(|name| (name.clone(), Ty::Text)).collect();
    let fields = [
        ("params", params),
        ("config", Ty::of_value(&execution.config, 0)),
        ("project", Ty::closed([("root".to_owned(), Ty::Text), ("name".to_owned(), Ty::Text)])),
        ("state", state(context)),
        ("now", text()),
        ("nonce", text()),
        ("ids", Ty::open(ids)),
    ];
    fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect()
}

/// State begins as the document says, and any program may give its names values of other types.
fn state(context: &Context<'_>) -> Ty {
    let known = context.workflow.execution.state.keys().map(|name| (name.clone(), Ty::Any));
    // A name that is set but not declared has a finding of its own.
    let set = super::super::execution::all_ops(context.workflow).into_iter().filter_map(|op| match &op.kind {
        crate::model::OpKind::Set(map) => Some(map.keys().cloned()),
        _ => None,
    });
    Ty::closed(known.chain(set.flatten().map(|name| (name, Ty::Any))))
}

/// What every cell and program sees.
pub(super) fn common(context: &Context<'_>, before: &Names) -> Names {
    let mut names = before.clone();
    let number = |name: &str| (name.to_owned(), Ty::Number);
    let sum = || {
        let numbers = ["input", "cached", "output", "tokens", "cost", "exchanges"].map(|name| (name.to_owned(), Ty::Number));
        numbers.into_iter().chain([("estimated".to_owned(), Ty::Bool)])
    };
    let usage = [
        ("total".to_owned(), Ty::closed(sum())),
        ("by_role".to_owned(), Ty::Any),
        ("by_model".to_owned(), Ty::Any),
        ("by_round".to_owned(), Ty::Any),
        ("roles".to_owned(), Ty::Any),
    ];
    let any = ["id", "started", "resumed", "stop_requested", "disk_full", "failures", "log_records", "risk_flags", "result", "reason"];
    let facts = any.map(|name| (name.to_owned(), Ty::Any)).into_iter().chain([number("watchdog_deaths"), number("rounds")]);
    let cell = [("role".to_owned(), Ty::Text), number("seq"), ("task".to_owned(), Ty::Text), ("id".to_owned(), Ty::Text)];
    let more = [
        ("role", Ty::Text),
        ("round", Ty::Number),
        ("attempt", Ty::Number),
        ("balance", Ty::Any),
        ("usage", Ty::closed(usage)),
        ("run", Ty::closed(facts)),
        ("cell", Ty::closed(cell)),
    ];
    names.extend(more.into_iter().map(|(name, ty)| (name.to_owned(), ty)));
    if context.workflow.execution.estimate.is_some() {
        names.insert("estimate".to_owned(), Ty::Any);
    }
    names
}

fn error() -> Ty {
    let texts = ["kind", "message", "cell"].map(|name| (name.to_owned(), Ty::Text));
    Ty::closed(texts.into_iter().chain([("attempt".to_owned(), Ty::Number)]))
}

/// What a cell sees when it begins.
fn of_cell(texts: &Texts<'_, '_>, cell: &Cell) -> Names {
    let context = texts.context;
    let mut names = texts.common.clone();
    let mut inputs: Vec<(String, Ty)> = Vec::new();
    for entry in &cell.inputs {
        let listed: usize =
            cell.inputs.iter().filter(|other| other.term.key() == entry.term.key()).map(|e| usize::from(e.term.count.max(1))).sum();
        for alternative in &entry.term.alternatives {
            let ty = received(context, cell, alternative);
            let ty = if listed > 1 { Ty::list(ty) } else { ty };
            inputs.push((alternative.to_string(), if entry.term.alternatives.len() > 1 { Ty::either([ty, Ty::Null]) } else { ty }));
        }
    }
    names.insert("inputs".to_owned(), Ty::closed(inputs));
    let end = || Ty::either([Ty::closed([("role".to_owned(), Ty::Text), ("seq".to_owned(), Ty::Number)]), Ty::Null]);
    let one = [("type", Ty::Text), ("from", end()), ("origin", end()), ("value", Ty::Any)].map(|(name, ty)| (name.to_owned(), ty));
    names.insert("received".to_owned(), Ty::list(Ty::closed(one)));
    names
}

/// The type of values of a type that can reach the cell, whichever role makes them.
fn received(context: &Context<'_>, cell: &Cell, alternative: &TypeRef) -> Ty {
    let hidden: Vec<&str> = context
        .workflow
        .execution
        .independence
        .iter()
        .filter(|rule| rule.roles.contains(&cell.role))
        .flat_map(|rule| &rule.blind_to)
        .filter_map(|hidden| match hidden.split_once('.') {
            Some((name, field)) if name == alternative.name => Some(field),
            _ => None,
        })
        .collect();
    match of_type(context, &alternative.name, None) {
        // What the cell must not see is not there.
        Ty::Object(fields) if !hidden.is_empty() => {
            let known = fields.known.iter().filter(|(name, _)| !hidden.contains(&name.as_str()));
            let known: Vec<(String, Ty)> = known.map(|(name, ty)| (name.clone(), ty.clone())).collect();
            Ty::closed(known)
        }
        ty => ty,
    }
}

/// The type of a handover by its schemas: that of `role`, or any of them.
pub(super) fn of_type(context: &Context<'_>, name: &str, role: Option<&str>) -> Ty {
    let Some(definition) = context.workflow.execution.types.get(name).filter(|definition| !definition.schema.is_empty()) else {
        return Ty::Any;
    };
    let own = role.and_then(|role| definition.schema.get(role).or_else(|| definition.schema.get("")));
    let paths: Vec<&String> = match own {
        Some(path) => vec![path],
        None => definition.schema.values().collect(),
    };
    Ty::either(paths.into_iter().map(|path| of_file(context, path)))
}

/// The type of a schema file.
pub(super) fn of_file(context: &Context<'_>, path: &str) -> Ty {
    let schema: Option<Value> = context.files.get(path).and_then(|file| serde_json::from_str(&file.text).ok());
    schema.map_or(Ty::Any, |schema| Ty::of_schema(&schema, &schema, 0))
}

fn of_flow(texts: &Texts<'_, '_>, flow: &Flow) -> Names {
    let context = texts.context;
    let sender = context.net.find(&flow.from).and_then(|index| context.net.cells.get(index));
    let mut names = sender.map_or_else(|| texts.common.clone(), |info| of_cell(texts, info.cell));
    for name in ["usage", "run"] {
        names.remove(name);
    }
    let mut value: Vec<(String, Ty)> = Vec::new();
    for term in &flow.what {
        for alternative in &term.alternatives {
            let ty = of_type(context, &alternative.name, Some(&flow.from.role));
            value.push((alternative.to_string(), if term.count > 1 { Ty::list(ty) } else { ty }));
        }
    }
    names.insert("value".to_owned(), Ty::closed(value));
    names
}
