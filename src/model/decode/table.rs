//! Decision tables, inline or as a file of their own.

use super::reader::{Reader, child, map, text};
use super::shape;
use crate::base::{FileId, Problem};
use crate::model::{HitPolicy, Rule, Table};
use crate::syntax::{Node, NodeValue};
use serde_json::Value;

/// Reads a decision table that stands at `at` in `file`. What could not be read has the default; the problems say so.
#[must_use]
pub fn decode_table(node: &Node, file: FileId, at: &str) -> (Table, Vec<Problem>) {
    let mut reader = Reader::new(file);
    if shape::expect(node, "a decision table", &["object"], &mut reader) {
        shape::check_part(shape::Part::Table, node, at, &mut reader);
    }
    (table(node, at), reader.finish())
}

/// A table whose shape was checked with the document's.
pub(super) fn table(node: &Node, at: &str) -> Table {
    let hit_policy = match node.get("hit_policy").and_then(Node::as_str) {
        Some("first") => HitPolicy::First,
        Some("priority") => HitPolicy::Priority,
        Some("collect") => HitPolicy::Collect,
        Some("any") => HitPolicy::Any,
        _ => HitPolicy::Unique,
    };
    let base = child(at, "rules");
    let rows = node.get("rules").map(Node::items).unwrap_or_default();
    let rules = rows.iter().enumerate().map(|(index, row)| rule(row, index, format!("{base}/{index}"))).collect();
    Table { hit_policy, options: map(node.get("options")), inputs: map(node.get("inputs")), rules, at: at.to_owned() }
}

fn rule(node: &Node, index: usize, at: String) -> Rule {
    let priority = match node.get("priority").map(|node| &node.value) {
        Some(NodeValue::Number(raw)) => raw.parse().unwrap_or(0),
        _ => 0,
    };
    Rule {
        id: text(node, "id").unwrap_or_else(|| (index + 1).to_string()),
        priority,
        when: text(node, "when"),
        then: node.get("then").map_or(Value::Null, Node::to_json),
        at,
    }
}
