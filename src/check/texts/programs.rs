//! The texts of a list of operations, each against the names bound before it.

use super::infer::Names;
use super::places::{of_file, of_type};
use super::ty::Ty;
use super::{Place, Texts};
use crate::base::Severity;
use crate::model::{Agent, Cell, Op, OpKind, Prompt, TableRef, decode_table, tools};
use serde_json::{Map, Value};

pub(super) fn check(texts: &mut Texts<'_, '_>, ops: &[Op], names: &mut Names, cell: Option<&Cell>) {
    for op in ops {
        if let Some(when) = &op.when {
            texts.condition(&format!("{}/when", op.at), when, names);
        }
        let result = operation(texts, op, names, cell);
        if let Some(bind) = &op.bind {
            let skipped = if op.when.is_some() { Ty::Null } else { result.clone() };
            names.insert(bind.clone(), Ty::either([result, skipped]));
        }
    }
}

fn operation(texts: &mut Texts<'_, '_>, op: &Op, names: &mut Names, cell: Option<&Cell>) -> Ty {
    let at = &op.at;
    match &op.kind {
        OpKind::Let(map) => {
            for (name, value) in map {
                let ty = texts.tree(&key(at, "let", name), value, names, true);
                // What an earlier operation bound may still stand where this one is skipped.
                let ty = if op.when.is_some() { names.get(name).map_or(Ty::Any, |old| Ty::either([old.clone(), ty])) } else { ty };
                names.insert(name.clone(), ty);
            }
            Ty::Null
        }
        OpKind::Set(map) => values(texts, at, "set", map, names),
        OpKind::Store(map) => values(texts, at, "store", map, names),
        OpKind::Emit(map) => values(texts, at, "emit", map, names),
        OpKind::Log(map) => values(texts, at, "log", map, names),
        OpKind::Rules { table, with } => {
            for (name, value) in with {
                texts.tree(&key(at, "with", name), value, names, true);
            }
            rules(texts, op, table, with)
        }
        OpKind::Call { tool, with } => {
            for (name, value) in with {
                texts.tree(&key(at, "with", name), value, names, false);
            }
            call(texts, op, tool, with)
        }
        OpKind::Workflow { with, .. } => {
            for (name, value) in with {
                texts.tree(&key(at, "with", name), value, names, false);
            }
            Ty::Any
        }
        OpKind::Agent(agent) => session(texts, agent, names, cell),
        OpKind::Ask { question, choices, .. } => {
            texts.text(at, question, names);
            choices.iter().for_each(|choice| texts.text(at, choice, names));
            Ty::Any
        }
        OpKind::For { over, body } => repeat(texts, at, over, body, names, cell),
        OpKind::Do { body, otherwise } => {
            check(texts, body, names, cell);
            check(texts, otherwise, names, cell);
            Ty::Any
        }
        OpKind::Stop { result, reason } => {
            texts.text(&format!("{at}/stop"), result, names);
            reason.iter().for_each(|reason| texts.text(&format!("{at}/reason"), reason, names));
            Ty::Any
        }
        OpKind::Fail(message) => {
            texts.text(&format!("{at}/fail"), message, names);
            Ty::Any
        }
        OpKind::Return => Ty::Null,
    }
}

fn repeat(texts: &mut Texts<'_, '_>, at: &str, over: &str, body: &[Op], names: &mut Names, cell: Option<&Cell>) -> Ty {
    let over = texts.expression(&format!("{at}/for"), over, names);
    let outer = [names.get("item").cloned(), names.get("index").cloned()];
    names.insert("item".to_owned(), over.element());
    names.insert("index".to_owned(), Ty::Number);
    check(texts, body, names, cell);
    for (name, old) in ["item", "index"].into_iter().zip(outer) {
        match old {
            Some(ty) => names.insert(name.to_owned(), ty),
            None => names.remove(name),
        };
    }
    Ty::list(Ty::Any)
}

fn key(at: &str, operation: &str, name: &str) -> String {
    let mut pointer = format!("{at}/{operation}");
    crate::syntax::push_segment(&mut pointer, name);
    pointer
}

fn values(texts: &mut Texts<'_, '_>, at: &str, operation: &str, map: &Map<String, Value>, names: &Names) -> Ty {
    for (name, value) in map {
        texts.tree(&key(at, operation, name), value, names, false);
    }
    Ty::Null
}

/// The inputs a table asks for are given, and no others; its result.
fn rules(texts: &mut Texts<'_, '_>, op: &Op, name: &str, with: &Map<String, Value>) -> Ty {
    let context = texts.context;
    let table = match context.workflow.execution.rules.get(name) {
        Some(TableRef::Inline(table)) => table.clone(),
        Some(TableRef::Path(path)) => {
            let Some(file) = context.files.get(path) else { return Ty::Any };
            let (tree, _) = crate::syntax::parse(file.text.as_bytes(), file.id);
            let Some(root) = &tree.root else { return Ty::Any };
            decode_table(root, file.id, "").0
        }
        None => return Ty::Any,
    };
    // A slip in a name is one finding, not one for the name given and one for the name asked for.
    let strange = with.keys().any(|input| !table.inputs.contains_key(input));
    for missing in table.inputs.keys().filter(|input| !strange && !with.contains_key(*input)) {
        let message = format!("the table `{}` asks for `{}`", super::shown(name), super::shown(missing));
        texts.say(&Place::At(&op.at), None, "RSF931", Severity::Error, message, "give it in `with`".to_owned());
    }
    for extra in with.keys().filter(|input| !table.inputs.contains_key(*input)) {
        let help = context.hint(extra, table.inputs.keys().map(String::as_str)).unwrap_or_default();
        let message = format!("the table `{}` has no input `{}`", super::shown(name), super::shown(extra));
        texts.say(&Place::At(&key(&op.at, "with", extra)), None, "RSF931", Severity::Error, message, help);
    }
    let mut rows = Vec::new();
    for rule in &table.rules {
        rows.push(match &rule.then {
            Value::Object(map) => {
                let fields = map.iter().map(|(name, value)| (name.clone(), literal(value)));
                Ty::closed(fields.chain([("id".to_owned(), Ty::Text)]))
            }
            other => literal(other),
        });
    }
    let collects = table.hit_policy == crate::model::HitPolicy::Collect;
    let row = Ty::either(rows);
    if collects { Ty::list(row) } else { Ty::either([row, Ty::Null]) }
}

/// The type of a tree of templates.
fn literal(value: &Value) -> Ty {
    match value {
        Value::String(text) if text.contains("{{") || text.contains("{%") => Ty::Any,
        Value::Array(items) => Ty::list(Ty::either(items.iter().map(literal))),
        Value::Object(map) => Ty::closed(map.iter().map(|(name, item)| (name.clone(), literal(item)))),
        other => Ty::of_value(other, 0),
    }
}

/// The arguments a tool asks for are given, and no others; its result.
fn call(texts: &mut Texts<'_, '_>, op: &Op, name: &str, with: &Map<String, Value>) -> Ty {
    let Some(tool) = tools::find(name) else { return Ty::Any };
    let known = tool.arguments.get("properties").and_then(Value::as_object);
    let required = tool.arguments.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let strange = with.keys().any(|argument| known.is_some_and(|known| !known.contains_key(argument)));
    for missing in required.filter(|argument| !strange && !with.contains_key(*argument)) {
        let message = format!("the tool `{name}` asks for `{missing}`");
        texts.say(&Place::At(&op.at), None, "RSF931", Severity::Error, message, "give it in `with`".to_owned());
    }
    for extra in with.keys().filter(|argument| known.is_some_and(|known| !known.contains_key(*argument))) {
        let help = texts.context.hint(extra, known.into_iter().flat_map(|known| known.keys().map(String::as_str))).unwrap_or_default();
        let message = format!("the tool `{name}` has no argument `{}`", super::shown(extra));
        texts.say(&Place::At(&key(&op.at, "with", extra)), None, "RSF931", Severity::Error, message, help);
    }
    match Ty::of_schema(&tool.result, &tool.result, 0) {
        // A tool gives what it says, and nothing else.
        Ty::Object(fields) => Ty::closed(fields.known.clone()),
        other => other,
    }
}

/// An agent's texts and prompts; what it answers.
fn session(texts: &mut Texts<'_, '_>, agent: &Agent, names: &mut Names, cell: Option<&Cell>) -> Ty {
    let context = texts.context;
    let defaults =
        cell.and_then(|cell| context.workflow.roles.iter().find(|role| role.id == cell.role)).and_then(|role| role.agent.as_ref());
    let of_role = |at: &Agent| at.at.clone();
    for one in defaults.into_iter().chain([agent]) {
        if let Some(model) = &one.model {
            texts.text(&format!("{}/model", of_role(one)), model, names);
        }
        if let Some(Value::String(turns)) = &one.max_turns {
            texts.text(&format!("{}/max_turns", of_role(one)), turns, names);
        }
    }
    names.insert("session_id".to_owned(), Ty::Text);
    for (name, own) in [
        ("system", (&agent.system, defaults.and_then(|d| d.system.as_ref()))),
        ("prompt", (&agent.prompt, defaults.and_then(|d| d.prompt.as_ref()))),
    ] {
        match own.0.as_ref().or(own.1) {
            Some(Prompt::Text(text)) => {
                let holder = if own.0.is_some() { agent } else { defaults.unwrap_or(agent) };
                texts.text(&format!("{}/{name}/text", of_role(holder)), text, names);
            }
            Some(Prompt::File(path)) => {
                if let Some(file) = context.files.get(path) {
                    texts.file(file, names, 0);
                }
            }
            None => {}
        }
    }
    names.insert("session".to_owned(), Ty::Any);
    match (&agent.output, cell) {
        (Some(Value::String(path)), _) => of_file(context, path),
        (Some(schema), _) => Ty::of_schema(schema, schema, 0),
        (None, Some(cell)) => match cell.outputs.as_slice() {
            [only] if only.term.alternatives.len() == 1 && only.term.count <= 1 => {
                only.term.alternatives.first().map_or(Ty::Any, |alternative| of_type(context, &alternative.name, Some(&cell.role)))
            }
            _ => Ty::Any,
        },
        (None, None) => Ty::Any,
    }
}
