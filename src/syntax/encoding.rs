//! Bytes → text: names UTF-16 and UTF-32, the offset of a byte that is no UTF-8, a byte-order mark, an empty file. Decodes nothing else.

use crate::base::{FileId, Problem, Span};

/// The text, unless the bytes are no UTF-8 or blank.
pub(super) fn decode(bytes: &[u8], file: FileId) -> (Option<&str>, Vec<Problem>) {
    if let Some(name) = wide_encoding(bytes) {
        let problem = Problem::error("RSF108", format!("the file is written in {name}"))
            .at(file, Span::new(0, 0), "the first bytes say so")
            .help("save it as UTF-8");
        return (None, vec![problem]);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return (None, vec![not_utf8(bytes, error.valid_up_to(), file)]),
    };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let problem = Problem::error("RSF113", "the file is empty")
            .at(file, Span::new(0, 0), "")
            .help("a document begins with `{\"format\": \"roles-steps-flows\", …`");
        return (None, vec![problem]);
    }
    let mut problems = Vec::new();
    if text.starts_with('\u{feff}') {
        problems.push(
            Problem::warning("RSF114", "the file begins with a byte-order mark (U+FEFF)")
                .at(file, Span::new(0, 3), "three bytes that show as nothing")
                .help("save it as UTF-8 without BOM"),
        );
    }
    (Some(text), problems)
}

fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [_, 0, 0, 0, ..] => Some("UTF-32 (little endian)"),
        [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, _, ..] => Some("UTF-32 (big endian)"),
        [0xff, 0xfe, ..] => Some("UTF-16 (little endian)"),
        [0xfe, 0xff, ..] => Some("UTF-16 (big endian)"),
        [a, 0, ..] if *a != 0 => Some("UTF-16 (little endian, without a byte-order mark)"),
        [0, b, ..] if *b != 0 => Some("UTF-16 (big endian, without a byte-order mark)"),
        _ => None,
    }
}

fn not_utf8(bytes: &[u8], at: usize, file: FileId) -> Problem {
    let byte = bytes.get(at).copied().unwrap_or_default();
    Problem::error("RSF107", format!("the file is not UTF-8: byte {at} is 0x{byte:02X}"))
        .at(file, Span::new(at, at + 1), "this byte (shown as U+FFFD)")
        .help("save the file as UTF-8")
}
