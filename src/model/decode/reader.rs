//! What all of decoding shares: the list of findings, one per place and code, and lenient readers of values. Writes no message of its own.

use crate::base::{FileId, Problem, Severity, Span};
use crate::syntax::{Node, NodeValue, push_segment};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Findings kept of one document; warnings never crowd out an error.
const MAX_WARNINGS: usize = 100_000;
const MAX_ERRORS: usize = 1_000_000;

pub(super) struct Reader {
    file: FileId,
    problems: Vec<Problem>,
    seen: BTreeSet<(&'static str, Span, String)>,
}

impl Reader {
    pub(super) fn new(file: FileId) -> Self {
        Self { file, problems: Vec::new(), seen: BTreeSet::new() }
    }

    pub(super) fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.report(Severity::Error, code, span, message, help);
    }

    pub(super) fn warning(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.report(Severity::Warning, code, span, message, help);
    }

    fn report(&mut self, severity: Severity, code: &'static str, span: Span, message: String, help: &str) {
        // Missing keys share the place of their object, so the message tells them apart there.
        let detail = if matches!(code, "RSF203" | "RSF205") { message.clone() } else { String::new() };
        let most = if severity == Severity::Error { MAX_ERRORS } else { MAX_WARNINGS };
        if self.problems.len() < most && self.seen.insert((code, span, detail)) {
            let problem = Problem::of(code, severity, message).at(self.file, span, "");
            self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
        }
    }

    /// The findings in document order.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.labels.first().map_or(0, |label| label.span.start));
        self.problems
    }
}

/// The pointer of a child.
pub(super) fn child(pointer: &str, segment: &str) -> String {
    let mut child = pointer.to_owned();
    push_segment(&mut child, segment);
    child
}

/// The text of a key; `None` when it is absent or no text.
pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::as_str).map(str::to_owned)
}

/// A text, or a number as it is written (time-outs).
pub(super) fn text_or_number(node: &Node, key: &str) -> Option<String> {
    match &node.get(key)?.value {
        NodeValue::String(text) => Some(text.to_string()),
        NodeValue::Number(raw) => Some(raw.to_string()),
        _ => None,
    }
}

/// The texts of a list; other items are left out.
pub(super) fn texts(node: Option<&Node>) -> Vec<String> {
    node.map(Node::items).unwrap_or_default().iter().filter_map(Node::as_str).map(str::to_owned).collect()
}

/// An object as JSON; empty when absent or no object.
pub(super) fn map(node: Option<&Node>) -> Map<String, Value> {
    match node.map(Node::to_json) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// A whole number from 1 that is written as one.
pub(super) fn seq(node: &Node) -> Option<u32> {
    let NodeValue::Number(raw) = &node.value else { return None };
    raw.bytes().all(|b| b.is_ascii_digit()).then(|| raw.parse::<u32>().ok()).flatten().filter(|seq| *seq >= 1)
}
