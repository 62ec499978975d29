//! Tree → typed document, with every fault of shape. Reads what is well formed even where something beside it is not; judges no rule between items.
//!
//! # RSF201 not an RSF document
//! The top level is no object, or has no `"format": "roles-steps-flows"`. Nothing else is looked at.
//! # RSF202 version
//! `version` is a text of two numbers, `"2.3"`. Known are 1.0 and 2.0 to 2.3. A newer minor version is read with a warning; another major version is refused.
//! # RSF203 missing key
//! An object lacks a key that it needs. The message gives the path.
//! # RSF204 wrong type
//! A value is of another type than the key asks for: a text where a list belongs, a list where an object belongs.
//! # RSF205 unknown key (warning)
//! A key that no page of the format knows. It is ignored; if it was meant to be a known one, the nearest name is given.
//! # RSF206 step number
//! `seq` is a whole number from 1 to 4294967295, written as one: `1`, not `1.0`, `"1"` or `1e0`.
//! # RSF207 value outside its list
//! A key takes one of a few words, and this is none of them. Words are compared exactly, letters' case included.
//! # RSF208 steps out of order
//! Steps are written in ascending order of `seq`.
//! # RSF209 gap in the step numbers (warning)
//! The steps' numbers leave some out, or do not begin at 1. It works; perhaps a step is missing.
//! # RSF210 section without description (warning)
//! Documents of version 1.x describe each of `roles`, `steps` and `flows`. Later versions do not ask for it.
//! # RSF211 nothing there
//! A document without a role or without a step says nothing.
//! # RSF212 value out of bounds
//! A value has the right type but lies outside what the key allows.

mod agent;
mod core;
mod execution;
mod operation;
mod reader;
mod shape;
mod table;

use super::{Version, Workflow};
use crate::base::{Problem, fold_hint};
use crate::syntax::{Node, NodeValue, Tree};
use reader::Reader;

pub use shape::document_schema;
pub use table::decode_table;

/// Newest minor version known of each known major version.
const KNOWN: [(u32, u32); 2] = [(1, 0), (2, 3)];

/// Reads a document. Problems come in document order; what could not be read is absent from the workflow.
#[must_use]
pub fn decode(tree: &Tree) -> (Workflow, Vec<Problem>) {
    let mut reader = Reader::new(tree.file);
    let mut workflow = Workflow::default();
    if let Some(root) = &tree.root
        && is_document(root, &mut reader)
        && let Some(version) = version(root, &mut reader)
    {
        workflow.version = version;
        shape::check(root, &mut reader);
        core::document(root, &mut workflow, &mut reader);
        execution::document(root, &mut workflow, &mut reader);
    }
    (workflow, reader.finish())
}

fn is_document(root: &Node, reader: &mut Reader) -> bool {
    if !root.is_object() {
        let message = format!("not an RSF document: the top level must be an object, not {}", root.kind());
        reader.error("RSF201", root.head_span(), message, "begin with `{\"format\": \"roles-steps-flows\", …`");
        return false;
    }
    let Some(format) = root.get("format") else {
        let message = "not an RSF document: `format` is missing".to_owned();
        reader.error("RSF201", root.head_span(), message, "an RSF document has `\"format\": \"roles-steps-flows\"`");
        return false;
    };
    match format.as_str() {
        Some("roles-steps-flows") => true,
        Some(other) => {
            let shown: String = other.chars().take(60).collect();
            let message = format!("not an RSF document: `format` is `{}`", shown.escape_debug());
            let hint = fold_hint(other, "roles-steps-flows").map(|hint| format!("; {hint}")).unwrap_or_default();
            reader.error("RSF201", format.span, message, &format!("write `\"roles-steps-flows\"`, exactly so{hint}"));
            false
        }
        None => {
            let message = format!("not an RSF document: `format` must be a text, not {}", format.kind());
            reader.error("RSF201", format.head_span(), message, "write `\"roles-steps-flows\"`");
            false
        }
    }
}

/// The version, unless the document is of a major version that is not known.
fn version(root: &Node, reader: &mut Reader) -> Option<Version> {
    let help = "write two numbers in quotes, e.g. `\"2.3\"`";
    let Some(node) = root.get("version") else {
        reader.error("RSF202", root.head_span(), "`version` is missing".to_owned(), help);
        return Some(Version { major: 2, minor: 3 });
    };
    let Some(text) = node.as_str() else {
        let why = if matches!(node.value, NodeValue::Number(_)) { ": as numbers, 2.3 and 2.30 cannot be told apart" } else { "" };
        reader.error("RSF202", node.head_span(), format!("`version` must be a text, not {}{why}", node.kind()), help);
        return Some(Version { major: 2, minor: 3 });
    };
    let number = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        plain.then(|| part.parse::<u32>().ok()).flatten()
    };
    let parsed = text.split_once('.').and_then(|(major, minor)| Some(Version { major: number(major)?, minor: number(minor)? }));
    let Some(version) = parsed else {
        let shown: String = text.chars().take(40).collect();
        reader.error("RSF202", node.span, format!("`version` is not MAJOR.MINOR: `{}`", shown.escape_debug()), help);
        return Some(Version { major: 2, minor: 3 });
    };
    let Some((_, newest)) = KNOWN.iter().find(|(major, _)| *major == version.major) else {
        let message = format!("version {}.{} is of an unknown major version", version.major, version.minor);
        reader.error("RSF202", node.span, message, "known are 1.0 and 2.0 to 2.3");
        return None;
    };
    if version.minor > *newest {
        let message = format!("version {}.{} is newer than what is known ({}.{newest})", version.major, version.minor, version.major);
        reader.warning("RSF202", node.span, message, "it is read; what is new in it is not understood");
    }
    Some(version)
}
