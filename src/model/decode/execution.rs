//! Root keys of the execution part. Their shape was checked by the schema; here they become typed.

use super::reader::{Reader, child, map, text, texts};
use super::{core, operation, table};
use crate::model::{Constraint, Execution, Independence, Keep, Logs, Ordering, StoreFormat, TableRef, TypeDef, View, Workflow};
use crate::syntax::{Node, NodeValue};
use serde_json::Value;
use std::collections::BTreeMap;

/// Events that may have a program.
const EVENTS: [&str; 6] = ["accept", "start", "resume", "attempt", "failure", "end"];

pub(super) fn document(root: &Node, workflow: &mut Workflow, reader: &mut Reader) {
    let object = |key: &str| root.get(key).filter(|node| node.is_object());
    core::duration(root.get("limits").and_then(|limits| limits.get("timeout")), "timeout", reader);
    workflow.execution = Execution {
        params: object("params").map(Node::to_json),
        triggers: texts(root.get("triggers")),
        requires: map(root.get("requires")),
        config: Value::Object(map(root.get("config"))),
        profiles: map(root.get("profiles")),
        ids: named(root, "ids", |node, _| node.as_str().map(str::to_owned)),
        types: named(root, "types", type_def),
        state: map(root.get("state")),
        rules: named(root, "rules", table_ref),
        constraints: each(root, "constraints", constraint),
        independence: each(root, "independence", independence),
        on: programs(root, reader),
        on_as: object("on").and_then(|on| text(on, "as")),
        view: each(root, "view", |node, _| Some(view(node))),
        estimate: text(root, "estimate"),
        price: text(root, "price"),
        logs: object("logs").map(logs),
        results: named(root, "results", |node, _| if let NodeValue::Number(raw) = &node.value { raw.parse().ok() } else { None }),
        limits: map(root.get("limits")),
        ordering: if root.get("ordering").and_then(Node::as_str) == Some("flows") { Ordering::Flows } else { Ordering::Steps },
        outputs: texts(root.get("outputs")),
        dir: text(root, "dir"),
    };
}

/// The members of a root object, read one by one; those that cannot be read are left out.
fn named<T>(root: &Node, key: &str, read: impl Fn(&Node, String) -> Option<T>) -> BTreeMap<String, T> {
    let at = format!("/{key}");
    let members = root.get(key).map(Node::members).unwrap_or_default();
    members.iter().filter_map(|member| Some((member.key.to_string(), read(&member.value, child(&at, &member.key))?))).collect()
}

fn each<T>(root: &Node, key: &str, read: impl Fn(&Node, String) -> Option<T>) -> Vec<T> {
    let items = root.get(key).map(Node::items).unwrap_or_default();
    items.iter().enumerate().filter_map(|(index, item)| read(item, format!("/{key}/{index}"))).collect()
}

fn programs(root: &Node, reader: &mut Reader) -> BTreeMap<String, Vec<crate::model::Op>> {
    let Some(on) = root.get("on") else { return BTreeMap::new() };
    EVENTS.iter().filter_map(|event| Some(((*event).to_owned(), operation::list(on.get(event)?, &child("/on", event), reader)))).collect()
}

fn type_def(node: &Node, at: String) -> Option<TypeDef> {
    if !node.is_object() {
        return None;
    }
    let schema = match node.get("schema") {
        Some(path) if path.as_str().is_some() => BTreeMap::from([(String::new(), path.as_str().unwrap_or_default().to_owned())]),
        Some(by_role) => {
            let entries = by_role.members().iter();
            entries.filter_map(|member| Some((member.key.to_string(), member.value.as_str()?.to_owned()))).collect()
        }
        None => BTreeMap::new(),
    };
    let store = match node.get("store") {
        Some(path) if path.as_str().is_some() => texts_of_one(path),
        list => texts(list),
    };
    let format = if node.get("format").and_then(Node::as_str) == Some("text") { StoreFormat::Text } else { StoreFormat::Json };
    let keep = if node.get("keep").and_then(Node::as_str) == Some("project") { Keep::Project } else { Keep::Run };
    Some(TypeDef { schema, store, format, keep, at })
}

fn texts_of_one(node: &Node) -> Vec<String> {
    node.as_str().map(str::to_owned).into_iter().collect()
}

fn table_ref(node: &Node, at: String) -> Option<TableRef> {
    match &node.value {
        NodeValue::String(path) => Some(TableRef::Path(path.to_string())),
        NodeValue::Object(_) => Some(TableRef::Inline(table::table(node, &at))),
        _ => None,
    }
}

fn constraint(node: &Node, at: String) -> Option<Constraint> {
    Some(Constraint { assert: text(node, "assert")?, message: text(node, "message")?, at })
}

fn independence(node: &Node, at: String) -> Option<Independence> {
    let blind_to = texts(node.get("blind_to"));
    Some(Independence { roles: texts(node.get("roles")), from: text(node, "from")?, differ: texts(node.get("differ")), blind_to, at })
}

fn view(node: &Node) -> View {
    View {
        label: text(node, "label").unwrap_or_default(),
        value: text(node, "value").unwrap_or_default(),
        per_round: node.get("per").and_then(Node::as_str) != Some("run"),
        shown_as: text(node, "as").unwrap_or_else(|| "value".to_owned()),
    }
}

fn logs(node: &Node) -> Logs {
    Logs { path: text(node, "path").unwrap_or_default(), record: map(node.get("record")), text: text(node, "text").unwrap_or_default() }
}
