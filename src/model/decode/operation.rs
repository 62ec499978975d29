//! Operations. Each object names exactly one; what it names and which keys go with it is said here, with the nearest name for a misspelt one.
//!
//! # RSF902 unknown operation
//! An operation object names none of the operations of the language. The message gives the nearest name.
//! # RSF903 several operations in one
//! An operation does one thing. Write a list of several, or group them with `do`.

use super::reader::{Reader, child, map, text, texts};
use super::{agent, shape};
use crate::base::{Span, closest};
use crate::model::{Op, OpKind};
use crate::syntax::{Member, Node, NodeValue};

/// Name, JSON type of its value, and the keys that go with it beside `when` and `as`.
const OPERATIONS: [(&str, &str, &[&str]); 15] = [
    ("let", "object", &[]),
    ("set", "object", &[]),
    ("rules", "string", &["with"]),
    ("call", "string", &["with"]),
    ("agent", "object", &[]),
    ("ask", "object", &[]),
    ("workflow", "string", &["with"]),
    ("for", "string", &["do"]),
    ("do", "", &["else"]),
    ("store", "object", &[]),
    ("emit", "object", &[]),
    ("stop", "string", &["reason"]),
    ("return", "boolean", &[]),
    ("fail", "string", &[]),
    ("log", "object", &[]),
];

/// A list of operations, or one.
pub(super) fn list(node: &Node, at: &str, reader: &mut Reader) -> Vec<Op> {
    match &node.value {
        NodeValue::Array(items) => {
            items.iter().enumerate().filter_map(|(index, item)| operation(item, format!("{at}/{index}"), reader)).collect()
        }
        NodeValue::Object(_) => operation(node, at.to_owned(), reader).into_iter().collect(),
        _ => {
            shape::expect(node, "a list of operations", &["array", "object"], reader);
            Vec::new()
        }
    }
}

fn operation(node: &Node, at: String, reader: &mut Reader) -> Option<Op> {
    if !shape::expect(node, "an operation", &["object"], reader) {
        return None;
    }
    let named: Vec<&Member> = node.members().iter().filter(|member| names_operation(&member.key, node)).collect();
    let member = match named.as_slice() {
        [] => {
            unknown(node, reader);
            return None;
        }
        [member] => *member,
        [first, second, ..] => {
            let message = format!("an operation does one thing; this one names `{}` and `{}`", first.key, second.key);
            reader.error("RSF903", second.key_span, message, "write two operations, or group them with `do`");
            return None;
        }
    };
    let (name, value_type, extra) = OPERATIONS.iter().find(|(name, ..)| *name == &*member.key)?;
    let known: Vec<&str> = ["when", "as", name].iter().chain(*extra).copied().collect();
    for other in node.members().iter().filter(|other| !known.contains(&&*other.key)) {
        shape::unknown_key(&other.key, known.iter().copied(), other.key_span, &format!("the operation `{name}`"), reader);
    }
    if !value_type.is_empty() && !shape::expect(&member.value, name, &[value_type], reader) {
        return None;
    }
    for key in ["when", "as", "reason"] {
        if let Some(value) = node.get(key) {
            shape::expect(value, key, &["string"], reader);
        }
    }
    if let Some(with) = node.get("with") {
        shape::expect(with, "with", &["object"], reader);
    }
    let kind = kind(name, node, &member.value, &at, reader)?;
    Some(Op { kind, when: text(node, "when"), bind: text(node, "as"), at })
}

/// `do` belongs to `for` where both stand.
fn names_operation(key: &str, node: &Node) -> bool {
    OPERATIONS.iter().any(|(name, ..)| *name == key) && !(key == "do" && node.get("for").is_some())
}

fn unknown(node: &Node, reader: &mut Reader) {
    let names = OPERATIONS.iter().map(|(name, ..)| *name);
    let other = node.members().iter().find(|member| !matches!(&*member.key, "when" | "as" | "with" | "else" | "reason"));
    let (span, message): (Span, String) = match other {
        Some(member) => {
            let shown: String = member.key.chars().take(40).collect();
            (member.key_span, format!("unknown operation `{}`", shown.escape_debug()))
        }
        None => (node.head_span(), "the object names no operation".to_owned()),
    };
    let near = other.and_then(|member| closest(&member.key, names.clone()));
    let help =
        near.map_or_else(|| format!("operations are {}", names.collect::<Vec<_>>().join(", ")), |near| format!("did you mean `{near}`?"));
    reader.error("RSF902", span, message, &help);
}

fn kind(name: &str, node: &Node, value: &Node, at: &str, reader: &mut Reader) -> Option<OpKind> {
    let word = value.as_str().unwrap_or_default().to_owned();
    let with = || map(node.get("with"));
    Some(match name {
        "let" => OpKind::Let(map(Some(value))),
        "set" => OpKind::Set(map(Some(value))),
        "rules" => OpKind::Rules { table: word, with: with() },
        "call" => OpKind::Call { tool: word, with: with() },
        "agent" => OpKind::Agent(Box::new(agent::operation(value, &child(at, "agent"), reader))),
        "ask" => ask(value, reader)?,
        "workflow" => OpKind::Workflow { path: word, with: with() },
        "for" => OpKind::For { over: word, body: body(node, "do", at, reader)? },
        "do" => {
            let otherwise = node.get("else").map(|list_node| list(list_node, &child(at, "else"), reader)).unwrap_or_default();
            OpKind::Do { body: list(value, &child(at, "do"), reader), otherwise }
        }
        "store" => OpKind::Store(map(Some(value))),
        "emit" => OpKind::Emit(map(Some(value))),
        "stop" => OpKind::Stop { result: word, reason: text(node, "reason") },
        "return" => returned(value, reader)?,
        "fail" => OpKind::Fail(word),
        "log" => OpKind::Log(map(Some(value))),
        _ => return None,
    })
}

fn body(node: &Node, key: &str, at: &str, reader: &mut Reader) -> Option<Vec<Op>> {
    match node.get(key) {
        Some(list_node) => Some(list(list_node, &child(at, key), reader)),
        None => {
            reader.error(
                "RSF203",
                node.head_span(),
                format!("`{key}` is missing in the operation `for`"),
                "write `{\"for\": \"items\", \"do\": […]}`",
            );
            None
        }
    }
}

fn returned(value: &Node, reader: &mut Reader) -> Option<OpKind> {
    if matches!(value.value, NodeValue::Bool(true)) {
        return Some(OpKind::Return);
    }
    reader.error(
        "RSF207",
        value.head_span(),
        "`return` must be `true`, not `false`".to_owned(),
        "leave the operation out, or give it a `when`",
    );
    None
}

fn ask(value: &Node, reader: &mut Reader) -> Option<OpKind> {
    let Some(question) = text(value, "question") else {
        reader.error(
            "RSF203",
            value.head_span(),
            "`question` is missing in the operation `ask`".to_owned(),
            "write the question as a text",
        );
        return None;
    };
    let known = ["question", "choices", "unattended"];
    for other in value.members().iter().filter(|other| !known.contains(&&*other.key)) {
        shape::unknown_key(&other.key, known, other.key_span, "the operation `ask`", reader);
    }
    Some(OpKind::Ask { question, choices: texts(value.get("choices")), unattended: value.get("unattended").map(Node::to_json) })
}
