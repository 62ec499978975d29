//! What is kept of a stream that may be endless: its head and its tail, and how much lies between.
//!
//! Memory is bounded whatever comes in, one line of 50 MB included.

use regex::Regex;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// A stream as kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Head and tail as text, with a line between them that says how much was left out. Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Bytes left out.
    pub omitted: u64,
    /// Bytes that came in.
    pub total: u64,
}

/// Collects a stream.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most `keep` bytes, half of them from the beginning.
    pub(super) fn new(keep: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: (keep / 2).max(1), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    pub(super) fn finish(&self) -> Captured {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let kept = (self.head.len() + tail.len()) as u64;
        if kept == self.total {
            let whole: Vec<u8> = self.head.iter().copied().chain(tail).collect();
            return Captured { text: String::from_utf8_lossy(&whole).into_owned(), omitted: 0, total: self.total };
        }
        let (head, tail) = (whole_characters(&self.head), from_character(&tail));
        let omitted = self.total - (head.len() + tail.len()) as u64;
        let text = format!("{}\n[… {omitted} bytes left out …]\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        Captured { text, omitted, total: self.total }
    }
}

/// Without a character that the cut has split at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Without the rest of a character that the cut has split at the beginning.
fn from_character(bytes: &[u8]) -> &[u8] {
    let skip = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    &bytes[skip..]
}

static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // CSI; OSC and other strings up to BEL or ST (bounded by the line); two-character escapes.
    Regex::new(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|\x{9b}[0-?]*[ -/]*[@-~]").ok()
});

/// Text for a model: no colours, no control characters but newline and tab, `\r` progress lines reduced to what stays on a screen.
#[must_use]
pub fn clean_text(text: &str) -> String {
    let plain = ESCAPES.as_ref().map_or_else(|| text.into(), |escapes| escapes.replace_all(text, ""));
    let mut out = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let shown = body.split('\r').rfind(|part| !part.is_empty()).unwrap_or("");
        out.extend(shown.chars().filter(|c| *c == '\t' || !c.is_control()));
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut capture = Capture::new(8);
        for chunk in [&b"ab"[..], b"cdefgh", b"ijklmnop", b"q"] {
            capture.push(chunk);
        }
        let kept = capture.finish();
        assert_eq!(kept.text, "abcd\n[… 9 bytes left out …]\nnopq");
        assert_eq!((kept.omitted, kept.total), (9, 17));
    }

    #[test]
    fn a_split_character_does_not_show() {
        let mut capture = Capture::new(4);
        capture.push("aé…éb".as_bytes());
        assert_eq!(capture.finish().text, "a\n[… 7 bytes left out …]\nb");
    }

    #[test]
    fn colours_progress_and_nul_are_gone() {
        assert_eq!(clean_text("\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}!\r\n 1%\r 50%\r100%\na\0b\tc\u{8}"), "red!\n100%\nab\tc");
    }
}
