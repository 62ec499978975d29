//! The tree: every value with its span, keys with theirs, repeated keys kept. Depth is bounded by the scanner, so recursion over it is safe.

use crate::base::{FileId, Span};
use serde_json::{Map, Number, Value};

/// A parsed document.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The file all spans are in.
    pub file: FileId,
    /// The top value, unless the text could not be read to its end.
    pub root: Option<Node>,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its bytes, quotes and brackets included.
    pub span: Span,
    /// What it is.
    pub value: NodeValue,
}

/// A JSON value; numbers as they are written.
#[derive(Clone, Debug)]
pub enum NodeValue {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// The digits as written, valid JSON.
    Number(Box<str>),
    /// The text, unescaped.
    String(Box<str>),
    /// `[…]`.
    Array(Vec<Node>),
    /// `{…}`, in written order, repeated keys included.
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key, unescaped.
    pub key: Box<str>,
    /// Its bytes, quotes included.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Tree {
    /// The value a JSON pointer names.
    #[must_use]
    pub fn get(&self, pointer: &str) -> Option<&Node> {
        self.find(pointer).map(|(_, node)| node)
    }

    /// The span of the value a JSON pointer names.
    #[must_use]
    pub fn span(&self, pointer: &str) -> Option<Span> {
        self.get(pointer).map(|node| node.span)
    }

    /// The span of the key whose value a JSON pointer names; `None` for the root and for items of lists.
    #[must_use]
    pub fn key_span(&self, pointer: &str) -> Option<Span> {
        self.find(pointer).and_then(|(member, _)| member).map(|member| member.key_span)
    }

    /// The JSON pointer of the innermost value (or the value of the key) that holds a byte offset.
    #[must_use]
    pub fn pointer_at(&self, offset: u32) -> String {
        let mut pointer = String::new();
        let mut node = self.root.as_ref();
        while let Some(current) = node {
            node = match &current.value {
                NodeValue::Array(items) => {
                    let index = items.partition_point(|item| item.span.end <= offset);
                    let found = items.get(index).filter(|item| item.span.start <= offset);
                    if found.is_some() {
                        push_segment(&mut pointer, &index.to_string());
                    }
                    found
                }
                NodeValue::Object(members) => {
                    let index = members.partition_point(|member| member.value.span.end <= offset);
                    let found = members.get(index).filter(|member| member.key_span.start <= offset);
                    if let Some(member) = found {
                        push_segment(&mut pointer, &member.key);
                    }
                    found.map(|member| &member.value).filter(|value| value.span.start <= offset)
                }
                _ => None,
            };
        }
        pointer
    }

    fn find(&self, pointer: &str) -> Option<(Option<&Member>, &Node)> {
        let mut found = (None, self.root.as_ref()?);
        for segment in pointer_segments(pointer) {
            found = match &found.1.value {
                NodeValue::Array(items) => (None, items.get(segment.parse::<usize>().ok()?)?),
                NodeValue::Object(members) => {
                    let member = members.iter().find(|member| *member.key == *segment)?;
                    (Some(member), &member.value)
                }
                _ => return None,
            };
        }
        Some(found)
    }
}

impl Node {
    /// The value of a key, the first one if it is repeated.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().find(|member| &*member.key == key).map(|member| &member.value)
    }

    /// The members of an object; none for anything else.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let NodeValue::Object(members) = &self.value { members } else { &[] }
    }

    /// The items of a list; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        if let NodeValue::Array(items) = &self.value { items } else { &[] }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let NodeValue::String(text) = &self.value { Some(text) } else { None }
    }

    /// True for an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self.value, NodeValue::Object(_))
    }

    /// What kind of value it is, with an article: `a list`, `an object`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::String(_) => "a text",
            NodeValue::Array(_) => "a list",
            NodeValue::Object(_) => "an object",
        }
    }

    /// The span of `range` (bytes of the unescaped text) inside a string written without escapes; else of the whole value.
    #[must_use]
    pub fn inner_span(&self, start: usize, end: usize) -> Span {
        match &self.value {
            NodeValue::String(text) if self.span.len() == text.len() + 2 && start <= end && end <= text.len() => {
                let base = self.span.start as usize + 1;
                Span::new(base + start, base + end)
            }
            _ => self.span,
        }
    }

    /// A short place for the value: a scalar's own span, the opening bracket of a list or object.
    #[must_use]
    pub fn head_span(&self) -> Span {
        match self.value {
            NodeValue::Array(_) | NodeValue::Object(_) => {
                Span { start: self.span.start, end: self.span.start.saturating_add(1).min(self.span.end) }
            }
            _ => self.span,
        }
    }

    /// The value as JSON. Of repeated keys the first is kept.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(*value),
            NodeValue::Number(raw) => number(raw),
            NodeValue::String(text) => Value::String(text.to_string()),
            NodeValue::Array(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            NodeValue::Object(members) => {
                let mut map = Map::new();
                for member in members {
                    map.entry(&*member.key).or_insert_with(|| member.value.to_json());
                }
                Value::Object(map)
            }
        }
    }
}

fn number(raw: &str) -> Value {
    if let Ok(value) = raw.parse::<i64>() {
        return Value::from(value);
    }
    if let Ok(value) = raw.parse::<u64>() {
        return Value::from(value);
    }
    // The scanner refuses what no double holds, so the fallback is never reached by a parsed tree.
    raw.parse::<f64>().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
}

/// The segments of a JSON pointer, unescaped.
pub fn pointer_segments(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// Appends a segment to a JSON pointer.
pub fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
}
