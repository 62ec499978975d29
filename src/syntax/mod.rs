//! JSON text → tree with spans, and every syntax fault with its place. Never fails, never does I/O.
//!
//! Strict RFC 8259; one leading byte-order mark is read with a warning. The scanner is our own and iterative rather than a library's, because each fault
//! of the manual below is promised its own message, because a fault must not hide the next one, and because the time, memory and depth of a 64 MB document
//! must be bounded whatever it holds. Repeated keys stay in the tree. Nesting is bounded, so walking or dropping a tree needs little stack.

mod encoding;
pub mod manual;
mod number;
mod scanner;
mod string;
mod tree;

use crate::base::{FileId, Problem};

pub use tree::{Member, Node, NodeValue, Tree, pointer_segments, push_segment};

/// Values a document may hold, so that memory stays bounded: a full 64 MB document of flows has fewer.
pub const MAX_VALUES: usize = 10_000_000;
/// Syntax faults after which reading stops.
pub const MAX_FAULTS: usize = 1000;

/// Reads a document. The tree has no root when the text breaks off or could not be understood at some place.
#[must_use]
pub fn parse(bytes: &[u8], file: FileId) -> (Tree, Vec<Problem>) {
    let (text, mut problems) = encoding::decode(bytes, file);
    let Some(text) = text else {
        return (Tree { file, root: None }, problems);
    };
    let (root, mut faults) = scanner::Scanner::new(text, file).run();
    problems.append(&mut faults);
    problems.sort_by_key(|problem| problem.labels.first().map_or(0, |label| label.span.start));
    (Tree { file, root }, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(text.as_bytes(), FileId(0)).1.iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn each_fault_has_its_code_and_reading_goes_on() {
        assert_eq!(codes("{\"a\": 1}"), Vec::<&str>::new());
        assert_eq!(codes("// x\n{\"a\": [1,],}"), ["RSF102", "RSF103", "RSF103"]);
        assert_eq!(codes("{'a': 0x1F, b: +1, \"c\": NaN}"), ["RSF104", "RSF106", "RSF104", "RSF106", "RSF106"]);
        assert_eq!(codes("{\"a\":1,\"\\u0061\":2}"), ["RSF105"]);
        assert_eq!(codes("{\"a\":[1"), ["RSF109"]);
        assert_eq!(codes("{} {}"), ["RSF110"]);
        assert_eq!(codes("  "), ["RSF113"]);
        assert_eq!(codes("{\"a\":\"\\ud800\"}"), ["RSF112"]);
        assert_eq!(codes("[1 2]"), ["RSF101"]);
    }

    #[test]
    fn nesting_is_bounded_at_the_documented_depth() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(codes(&deep(128)), Vec::<&str>::new());
        assert_eq!(codes(&deep(129)), ["RSF111"]);
        assert_eq!(codes(&"[".repeat(1_000_000)), ["RSF111"]);
    }

    #[test]
    fn pointers_find_values_and_keys() {
        let text = r#"{"a/b": [10, {"c": "é"}]}"#;
        let (tree, problems) = parse(text.as_bytes(), FileId(0));
        assert!(problems.is_empty());
        let node = tree.get("/a~1b/1/c").expect("the node");
        assert_eq!(node.as_str(), Some("é"));
        assert_eq!(&text[node.span.start as usize..node.span.end as usize], "\"é\"");
        let key = tree.key_span("/a~1b/1/c").expect("the key");
        assert_eq!(&text[key.start as usize..key.end as usize], "\"c\"");
        assert_eq!(tree.root.as_ref().map(Node::to_json), serde_json::from_str(text).ok());
    }
}
