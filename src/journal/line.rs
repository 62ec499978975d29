//! One line: its exact bytes, and the chain of hashes. Knows nothing of what a body means.
//!
//! `{"seq":N,"prev":"H","at":T,"kind":"K","body":B,"hash":"H"}` and a line feed. The hash is SHA-256, in lower-case hexadecimal, over the
//! bytes of the line from its `{` up to, not including, `,"hash"`. `prev` is the hash of the line before (64 zeros in the first).

use crate::base::{Timestamp, digest_bytes};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::fmt::Write as _;

/// Hash that stands in `prev` of the first line.
pub const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Longest line that is read. Larger values lie in blobs, so that no line comes near it.
pub const LINE_BYTES: usize = 16 * 1024 * 1024;

const BEFORE_HASH: &str = ",\"hash\":\"";
const AFTER_HASH: &str = "\"}";
/// Bytes of `,"hash":"…"}`.
const TAIL: usize = BEFORE_HASH.len() + 64 + AFTER_HASH.len();

/// The last line written or read: what the next one is chained to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of the next line.
    pub next: u64,
    /// Hash of the last line.
    pub hash: String,
}

impl Default for Chain {
    fn default() -> Self {
        Self { next: 0, hash: NO_HASH.to_owned() }
    }
}

impl Chain {
    /// Number of the last line.
    pub fn last(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }
}

/// A line taken apart; the body is as written (blobs are still names).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Number.
    pub seq: u64,
    /// Hash of the line before.
    pub prev: String,
    /// When it was written.
    pub at: Timestamp,
    /// Kind of record.
    pub kind: String,
    /// The record.
    pub body: Value,
    /// Checked already, over the bytes.
    #[serde(rename = "hash")]
    _hash: IgnoredAny,
}

/// Appends the next line to `out` and moves the chain on.
pub fn render(chain: &mut Chain, at: Timestamp, kind: &str, body: &Value, out: &mut Vec<u8>) {
    let mut text = String::with_capacity(256);
    // Writing to a string cannot fail.
    let _ = write!(text, "{{\"seq\":{},\"prev\":\"{}\",\"at\":{},\"kind\":\"{kind}\",\"body\":{body}", chain.next, chain.hash, at.0);
    let hash = digest_bytes(text.as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(BEFORE_HASH.as_bytes());
    out.extend_from_slice(hash.as_bytes());
    out.extend_from_slice(AFTER_HASH.as_bytes());
    out.push(b'\n');
    chain.next += 1;
    chain.hash = hash;
}

/// Takes a line (without its line feed) apart and moves the chain on; says what is wrong with it otherwise, leaving the chain.
pub fn parse(bytes: &[u8], chain: &mut Chain) -> Result<Line, String> {
    let (content, tail) = bytes.split_at_checked(bytes.len().saturating_sub(TAIL)).ok_or("too short")?;
    let hash = tail
        .strip_prefix(BEFORE_HASH.as_bytes())
        .and_then(|rest| rest.strip_suffix(AFTER_HASH.as_bytes()))
        .and_then(|hash| std::str::from_utf8(hash).ok())
        .ok_or("a line that does not end in its hash")?;
    if digest_bytes(content) != hash {
        return Err("a line that does not match its hash".to_owned());
    }
    let line: Line = serde_json::from_slice(bytes).map_err(|error| format!("a line that is no record: {error}"))?;
    if line.seq != chain.next {
        return Err(format!("record {} stands where record {} should be", line.seq, chain.next));
    }
    if line.prev != chain.hash {
        return Err(format!("record {} does not follow the one before it", line.seq));
    }
    chain.next += 1;
    hash.clone_into(&mut chain.hash);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_rendered_parses_and_the_chain_holds() {
        let (mut written, mut read, mut out) = (Chain::default(), Chain::default(), Vec::new());
        render(&mut written, Timestamp(5), "note", &json!({"a": "\n\u{0}"}), &mut out);
        render(&mut written, Timestamp(6), "note", &json!(1.5), &mut out);
        let lines: Vec<&[u8]> = out.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
        assert_eq!(lines.len(), 2);
        assert!(parse(lines[1], &mut read.clone()).unwrap_err().contains("record 1 stands where record 0"));
        assert_eq!(parse(lines[0], &mut read).unwrap().body, json!({"a": "\n\u{0}"}));
        assert_eq!(parse(lines[1], &mut read).unwrap().at, Timestamp(6));
        assert_eq!(read, written);
        assert!(parse(b"", &mut read).is_err());
    }
}
