//! The shape of a document against the JSON Schema that editors use too. Large lists are checked item by item, so that memory stays bounded.
//!
//! Operations are left to their own file, whose messages about them are better than a schema's.

use super::reader::{Reader, seq};
use crate::base::{Span, closest};
use crate::schema::{Fault, FaultKind, Schema};
use crate::syntax::{Node, NodeValue, pointer_segments};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

const SOURCE: &str = include_str!("../../../schemas/rsf.schema.json");

/// The JSON Schema of documents, as text (`rsf schema` prints it).
#[must_use]
pub fn document_schema() -> &'static str {
    SOURCE
}

/// Schemas of the parts a document is checked by.
struct Shapes {
    root: Schema,
    role: Schema,
    step: Schema,
    flow: Schema,
    agent: Schema,
    table: Schema,
}

/// `None` only if the embedded schema were broken, which a test of this module excludes.
static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let mut source: Value = serde_json::from_str(SOURCE).ok()?;
    source.get_mut("$defs")?.as_object_mut()?.insert("operations".to_owned(), Value::Bool(true));
    let defs = source.get("$defs")?.clone();
    let part = |name: &str| Schema::compile(&json!({ "$ref": format!("#/$defs/{name}"), "$defs": defs })).ok();
    let root = Schema::compile(&source).ok()?;
    Some(Shapes { root, role: part("role")?, step: part("step")?, flow: part("flow")?, agent: part("agent")?, table: part("table")? })
});

/// Faults listed of one item; a document with more of them is refused whatever they are.
const MOST: usize = 20_000;

/// Parts that are checked on their own.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Agent,
    Table,
}

/// Reports every fault of shape in the document.
pub(super) fn check(root: &Node, reader: &mut Reader) {
    let Some(shapes) = SHAPES.as_ref() else { return };
    let outline =
        Value::Object(root.members().iter().map(|member| (member.key.to_string(), outline(&member.key, &member.value))).collect());
    report(&shapes.root.check_up_to(&outline, MOST), "", root, root, reader);
    for (section, schema) in [("roles", &shapes.role), ("steps", &shapes.step), ("flows", &shapes.flow)] {
        let Some(items) = root.get(section).and_then(|section| section.get("items")) else { continue };
        for (index, item) in items.items().iter().enumerate() {
            let faults = schema.check_up_to(&item.to_json(), MOST);
            report(&faults, &format!("/{section}/items/{index}"), item, root, reader);
        }
    }
}

/// Reports every fault of shape in one part that stands at `pointer`.
pub(super) fn check_part(part: Part, node: &Node, pointer: &str, reader: &mut Reader) {
    let Some(shapes) = SHAPES.as_ref() else { return };
    let schema = match part {
        Part::Agent => &shapes.agent,
        Part::Table => &shapes.table,
    };
    report(&schema.check_up_to(&node.to_json(), MOST), pointer, node, node, reader);
}

/// A root value with the items of the three sections left out.
fn outline(key: &str, node: &Node) -> Value {
    if !matches!(key, "roles" | "steps" | "flows") || !node.is_object() {
        return node.to_json();
    }
    let mut map = Map::new();
    for member in node.members() {
        let items = &*member.key == "items" && matches!(member.value.value, NodeValue::Array(_));
        map.entry(&*member.key).or_insert_with(|| if items { json!([]) } else { member.value.to_json() });
    }
    Value::Object(map)
}

fn report(faults: &[Fault], prefix: &str, part: &Node, root: &Node, reader: &mut Reader) {
    if faults.len() >= MOST {
        let message = format!("more than {MOST} faults of shape in one place; what follows was not looked at");
        reader.error("RSF115", part.head_span(), message, "mend those that are listed first");
    }
    let beside = Beside::of(faults);
    for fault in faults {
        if prefix.is_empty() && matches!(fault.pointer.as_str(), "/version" | "/format") {
            continue;
        }
        let Some(place) = locate(part, &fault.pointer) else { continue };
        let path = path(prefix, &fault.pointer, root, part);
        match &fault.kind {
            FaultKind::Missing { key } => missing(key, beside.unexpected(fault), &place, &path, reader),
            FaultKind::Unexpected { key, known } => unexpected(key, known, beside.missing(fault), &place, &path, reader),
            FaultKind::Type { expected } => wrong_type(expected, &place, &path, reader),
            FaultKind::Choice { allowed } => wrong_choice(allowed, &place, &path, reader),
            FaultKind::Other { .. } if is_seq(&path) => wrong_type(&[], &place, &path, reader),
            FaultKind::Other { .. } => reader.error("RSF212", place.node.head_span(), format!("`{path}`: {}", fault.message), ""),
        }
    }
}

/// A value and the key it stands under, if any.
struct Place<'t> {
    node: &'t Node,
    key: Option<Span>,
}

impl Place<'_> {
    /// The key, else the opening bracket: where something inside is missing.
    fn anchor(&self) -> Span {
        self.key.unwrap_or_else(|| self.node.head_span())
    }
}

fn locate<'t>(part: &'t Node, pointer: &str) -> Option<Place<'t>> {
    let mut place = Place { node: part, key: None };
    for segment in pointer_segments(pointer) {
        place = match &place.node.value {
            NodeValue::Array(items) => Place { node: items.get(segment.parse::<usize>().ok()?)?, key: None },
            NodeValue::Object(members) => {
                let member = members.iter().find(|member| *member.key == *segment)?;
                Place { node: &member.value, key: Some(member.key_span) }
            }
            _ => return None,
        };
    }
    Some(place)
}

/// A path for people: `steps.items[1].cells.b.in`.
fn path(prefix: &str, pointer: &str, root: &Node, part: &Node) -> String {
    let mut out = String::new();
    // A part that is no piece of `root` (an operation, a table file) is walked from itself.
    let inside = locate(root, prefix).is_some_and(|place| std::ptr::eq(place.node, part));
    let (mut node, whole) = if inside { (Some(root), format!("{prefix}{pointer}")) } else { (Some(part), pointer.to_owned()) };
    for segment in pointer_segments(&whole) {
        node = match node.map(|node| &node.value) {
            Some(NodeValue::Array(items)) => {
                let _ = write!(out, "[{segment}]");
                segment.parse::<usize>().ok().and_then(|index| items.get(index))
            }
            Some(NodeValue::Object(_)) => {
                let separator = if out.is_empty() { "" } else { "." };
                let _ = write!(out, "{separator}{}", segment.escape_debug());
                node.and_then(|node| node.get(&segment))
            }
            _ => None,
        };
    }
    out
}

fn in_place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in `{path}`") }
}

/// Missing and unknown keys by the object they belong to, a bounded number of each.
struct Beside<'f> {
    missing: BTreeMap<&'f str, Vec<&'f str>>,
    unexpected: BTreeMap<&'f str, Vec<&'f str>>,
}

impl<'f> Beside<'f> {
    fn of(faults: &'f [Fault]) -> Self {
        let mut beside = Self { missing: BTreeMap::new(), unexpected: BTreeMap::new() };
        for fault in faults {
            let (map, key) = match &fault.kind {
                FaultKind::Missing { key } => (&mut beside.missing, key),
                FaultKind::Unexpected { key, .. } => (&mut beside.unexpected, key),
                _ => continue,
            };
            let keys = map.entry(fault.pointer.as_str()).or_default();
            if keys.len() < 100 {
                keys.push(key);
            }
        }
        beside
    }

    fn missing(&self, fault: &Fault) -> &[&'f str] {
        self.missing.get(fault.pointer.as_str()).map_or(&[], Vec::as_slice)
    }

    fn unexpected(&self, fault: &Fault) -> &[&'f str] {
        self.unexpected.get(fault.pointer.as_str()).map_or(&[], Vec::as_slice)
    }
}

/// A missing key; if an unknown one beside it looks like it, both are one finding.
fn missing(key: &str, unexpected: &[&str], place: &Place<'_>, path: &str, reader: &mut Reader) {
    let message = format!("`{key}` is missing{}", in_place(path));
    let twin = unexpected.iter().find(|other| closest(other, [key]).is_some());
    match twin.and_then(|twin| place.node.members().iter().find(|member| *member.key == **twin)) {
        Some(member) => {
            let help = format!("did you mean `{key}` where `{}` is written?", member.key.escape_debug());
            reader.error("RSF203", member.key_span, message, &help);
        }
        None => reader.error("RSF203", place.anchor(), message, form(key)),
    }
}

fn unexpected(key: &str, known: &[String], missing: &[&str], place: &Place<'_>, path: &str, reader: &mut Reader) {
    let is_twin = closest(key, missing.iter().copied()).is_some();
    let span = place.node.members().iter().find(|member| *member.key == *key).map(|member| member.key_span);
    if let Some(span) = span.filter(|_| !is_twin) {
        unknown_key(key, known.iter().map(String::as_str), span, path, reader);
    }
}

/// The warning about a key nobody knows.
pub(super) fn unknown_key<'k>(key: &str, known: impl IntoIterator<Item = &'k str>, span: Span, path: &str, reader: &mut Reader) {
    let shown: String = key.chars().take(60).collect();
    let help = match closest(key, known) {
        Some(near) => format!("did you mean `{near}`? The key is ignored"),
        None => "the key is ignored; remarks belong into a `description`".to_owned(),
    };
    reader.warning("RSF205", span, format!("unknown key `{}`{}", shown.escape_debug(), in_place(path)), &help);
}

fn is_seq(path: &str) -> bool {
    path.ends_with(".seq")
}

fn wrong_type(expected: &[String], place: &Place<'_>, path: &str, reader: &mut Reader) {
    let (node, got) = (place.node, shown(place.node));
    if is_seq(path) {
        if seq(node).is_none() {
            reader.error(
                "RSF206",
                node.head_span(),
                format!("`{path}` must be a whole number from 1 to {}, not {got}", u32::MAX),
                "write it as `1`, `2`, `3`, …",
            );
        }
        return;
    }
    let words: Vec<&str> = expected.iter().map(|name| word(name)).collect();
    let subject = if path.is_empty() { "this".to_owned() } else { format!("`{path}`") };
    let key = path.rsplit('.').next().unwrap_or(path);
    let key = if key.ends_with(']') { path.split('.').next().unwrap_or(key) } else { key };
    reader.error("RSF204", node.head_span(), format!("{subject} must be {}, not {got}", words.join(" or ")), form(key));
}

fn wrong_choice(allowed: &[Value], place: &Place<'_>, path: &str, reader: &mut Reader) {
    let names: Vec<String> = allowed.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("`{path}` must be {}, not {}", list.join(" or "), shown(place.node));
    let near = place.node.as_str().and_then(|text| closest(text, names.iter().map(String::as_str)));
    let help = near.map_or(String::new(), |near| format!("did you mean `{near}`? Words are compared exactly"));
    reader.error("RSF207", place.node.head_span(), message, &help);
}

/// What a key wants to look like.
fn form(key: &str) -> &'static str {
    match key {
        "in" | "out" => "write a list of type names: `[\"Order\"]`, or `[]`",
        "items" | "roles" | "steps" | "flows" => "write `{\"items\": [ {…}, {…} ]}`, each item an object with its keys",
        "cells" => "write `{\"role id\": {\"task\": …, \"description\": …, \"in\": […], \"out\": […]}}`",
        "from" | "to" => "write `{\"role\": \"…\", \"seq\": 1}`",
        "type" => "write `\"sync\"` within a role, `\"async\"` between roles",
        "what" => "name the types that travel: `\"Order\"`, `\"A+B\"`, `\"yes|no\"`, `\"Vote(×2)\"`",
        _ => "",
    }
}

fn word(json_type: &str) -> &'static str {
    match json_type {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    }
}

fn shown(node: &Node) -> String {
    match &node.value {
        NodeValue::Number(raw) => format!("`{}`", raw.chars().take(40).collect::<String>()),
        NodeValue::Bool(value) => format!("`{value}`"),
        NodeValue::String(text) => format!("the text `{}`", text.chars().take(40).collect::<String>().escape_debug()),
        _ => node.kind().to_owned(),
    }
}

/// Reports a mistyped key of an operation; true when it is of one of the JSON types given.
pub(super) fn expect(node: &Node, key: &str, types: &[&str], reader: &mut Reader) -> bool {
    let fits = types.iter().any(|name| match node.value {
        NodeValue::Null => *name == "null",
        NodeValue::Bool(_) => *name == "boolean",
        NodeValue::Number(_) => matches!(*name, "number" | "integer"),
        NodeValue::String(_) => *name == "string",
        NodeValue::Array(_) => *name == "array",
        NodeValue::Object(_) => *name == "object",
    });
    if !fits {
        let expected: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        wrong_type(&expected, &Place { node, key: None }, key, reader);
    }
    fits
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_embedded_schema_compiles_in_all_its_parts() {
        assert!(super::SHAPES.is_some());
    }
}
