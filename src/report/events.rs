//! `--format json`: one JSON object per line and event, the same data the journal's readers know.

use crate::driver::Event;
use crate::report::text::is_unsafe;
use serde_json::json;
use std::fmt::Write as _;

/// The event as one line of JSON with its line feed. Characters that steer a terminal are written as `\u` escapes, which changes no value.
#[must_use]
pub fn line(event: &Event) -> String {
    // Serialising can fail only for maps whose keys are no strings; an event has none, but a reporter must not end a run over it.
    let text =
        serde_json::to_string(event).unwrap_or_else(|error| json!({ "type": "unprintable", "error": error.to_string() }).to_string());
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        // Below U+0080 only DEL is left raw by the serialiser, and every such character stands inside a string.
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Timestamp;

    #[test]
    fn one_line_that_reads_back_as_it_was() -> Result<(), serde_json::Error> {
        let text = "a\nb\u{202e}c\u{7f}\u{9b}\u{e0041} 迭代".to_owned();
        let line = line(&Event::Message { text: text.clone(), at: Timestamp(1) });
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.trim_end().chars().any(is_unsafe), "{line:?}");
        let back: serde_json::Value = serde_json::from_str(&line)?;
        assert_eq!(back["text"], text);
        Ok(())
    }
}
