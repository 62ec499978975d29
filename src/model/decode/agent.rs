//! `agent` and `permissions`, wherever they stand. Their shape is checked by the schema's part of the same name.

use super::reader::{Reader, text, texts};
use super::shape;
use crate::model::{Access, Agent, Exec, Policy, Prompt};
use crate::syntax::{Node, NodeValue};

/// `agent` of a role.
pub(super) fn agent(node: &Node, at: &str, _reader: &mut Reader) -> Agent {
    Agent {
        model: text(node, "model"),
        system: prompt(node.get("system")),
        prompt: prompt(node.get("prompt")).or_else(|| text(node, "text").map(Prompt::Text)),
        tools: node.get("tools").map(|tools| texts(Some(tools))),
        permissions: node.get("permissions").filter(|node| node.is_object()).map(policy),
        governor: text(node, "governor"),
        max_turns: node.get("max_turns").map(Node::to_json),
        output: node.get("output").map(Node::to_json),
        at: at.to_owned(),
    }
}

/// `agent` of an operation; its shape was not checked with the document's.
pub(super) fn operation(node: &Node, at: &str, reader: &mut Reader) -> Agent {
    shape::check_part(shape::Part::Agent, node, at, reader);
    agent(node, at, reader)
}

fn prompt(node: Option<&Node>) -> Option<Prompt> {
    match &node?.value {
        NodeValue::String(path) => Some(Prompt::File(path.to_string())),
        NodeValue::Object(_) => text(node?, "text").map(Prompt::Text),
        _ => None,
    }
}

/// `permissions`.
pub(super) fn policy(node: &Node) -> Policy {
    let flag = |key: &str| match node.get(key)?.value {
        NodeValue::Bool(value) => Some(value),
        _ => None,
    };
    let exec = match node.get("exec").map(|node| &node.value) {
        Some(NodeValue::Bool(true)) => Some(Exec::Yes),
        Some(NodeValue::Bool(false)) => Some(Exec::No),
        Some(NodeValue::String(word)) if &**word == "isolated" => Some(Exec::Isolated),
        _ => None,
    };
    Policy {
        read: node.get("read").map(|globs| texts(Some(globs))),
        write: node.get("write").map(|globs| texts(Some(globs))),
        exec,
        network: flag("network"),
        git: access(node.get("git")),
        rdf: access(node.get("rdf")),
    }
}

fn access(node: Option<&Node>) -> Option<Access> {
    match &node?.value {
        NodeValue::Bool(false) => Some(Access::No),
        NodeValue::String(word) if &**word == "read" => Some(Access::Read),
        NodeValue::String(word) if &**word == "write" => Some(Access::Write),
        _ => None,
    }
}
