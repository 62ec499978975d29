//! Reads JSON as models write it: strict, with the few repairs that have exactly one reading.
//!
//! Repaired are trailing commas, `//` comments between tokens and raw control characters inside a string. Never repaired: an open string or
//! bracket (the text was cut), a key given twice (which one is checked and which one used may differ), foreign literals. Depth is bounded.

use serde_json::{Map, Number, Value};
use std::fmt::Write as _;

const DEPTH: usize = 128;

/// What had to be repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// A comma before a closing bracket.
    TrailingComma,
    /// A `//` comment.
    Comment,
    /// A raw line break or another control character inside a string.
    ControlCharacter,
}

impl Repair {
    /// Words for a log.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::TrailingComma => "a trailing comma",
            Self::Comment => "a comment",
            Self::ControlCharacter => "a raw control character in a string",
        }
    }
}

/// Why a text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault {
    /// Byte offset.
    pub at: usize,
    /// The text ended where more was due.
    pub cut: bool,
    /// Lower-case sentence with line and column.
    pub message: String,
}

/// A value read from the start of a text.
#[derive(Debug)]
pub(super) struct Prefix {
    /// The value.
    pub(super) value: Value,
    /// Byte offset behind it.
    pub(super) end: usize,
    /// Repairs made, each kind once.
    pub(super) repairs: Vec<Repair>,
}

/// Reads `text` as one JSON value and nothing else (white space around it is fine).
///
/// # Errors
/// The first place that has no single reading.
pub fn read_json(text: &str) -> Result<(Value, Vec<Repair>), ReadFault> {
    let mut reader = Reader::new(text, 0);
    let value = reader.whole().map_err(|stop| located(text, &stop))?;
    Ok((value, reader.repairs))
}

/// Reads the value that starts at byte `from`, whatever follows it.
pub(super) fn read_prefix(text: &str, from: usize) -> Result<Prefix, ReadFault> {
    let mut reader = Reader::new(text, from);
    let value = reader.value(0).map_err(|stop| located(text, &stop))?;
    Ok(Prefix { value, end: reader.at, repairs: reader.repairs })
}

/// Whether a value that can be read starts at byte `from`. Cheap to refuse, because prose may hold many brackets.
pub(super) fn is_prefix(text: &str, from: usize) -> bool {
    Reader::new(text, from).value(0).is_ok()
}

/// Where reading stopped; line and column are counted only for a fault that is shown.
struct Stop {
    at: usize,
    what: String,
}

fn located(text: &str, stop: &Stop) -> ReadFault {
    let before = text.get(..stop.at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    ReadFault { at: stop.at, cut: stop.at >= text.len(), message: format!("{} at line {line}, column {column}", stop.what) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    repairs: Vec<Repair>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, repairs: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn repaired(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn fault(&self, what: impl Into<String>) -> Stop {
        Stop { at: self.at, what: what.into() }
    }

    fn whole(&mut self) -> Result<Value, Stop> {
        let value = self.value(0)?;
        self.space()?;
        if self.at < self.text.len() {
            return Err(self.fault("there is text behind the value"));
        }
        Ok(value)
    }

    /// White space and `//` comments.
    fn space(&mut self) -> Result<(), Stop> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.repaired(Repair::Comment);
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') => return Err(self.fault("`/` has no place in JSON")),
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        self.space()?;
        match self.peek() {
            None => Err(self.fault("the text ends where a value is due")),
            Some(b'{' | b'[') if depth >= DEPTH => Err(self.fault("more than 128 brackets are open")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.literal(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Stop> {
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.space()?;
            if self.eat(b'}') {
                if !map.is_empty() {
                    self.repaired(Repair::TrailingComma);
                }
                return Ok(Value::Object(map));
            }
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key in double quotes is due"));
            }
            let start = self.at;
            let key = self.string()?;
            if map.contains_key(&key) {
                self.at = start;
                return Err(self.fault(format!("the key \"{}\" is given twice", key.escape_debug())));
            }
            self.space()?;
            if !self.eat(b':') {
                return Err(self.fault("`:` is due"));
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.space()?;
            if self.eat(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `}` is due"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Stop> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.eat(b']') {
                if !items.is_empty() {
                    self.repaired(Repair::TrailingComma);
                }
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.space()?;
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `]` is due"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Stop> {
        let start = self.at;
        let mut raw = false;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.fault("the text ends inside a string")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(byte) => {
                    raw |= byte < 0x20;
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        // `\` skips two bytes, which may end inside a character: then the slice is none and the escape is wrong anyway.
        let slice = self.text.get(start..self.at).unwrap_or("");
        let decoded = if raw { serde_json::from_str(&escape_controls(slice)) } else { serde_json::from_str(slice) };
        let Ok(text) = decoded else {
            self.at = start;
            return Err(self.fault("an escape cannot be read in the string"));
        };
        if raw {
            self.repaired(Repair::ControlCharacter);
        }
        Ok(text)
    }

    fn number(&mut self) -> Result<Value, Stop> {
        let length = self.rest().bytes().take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')).count();
        let slice = self.rest().get(..length).unwrap_or("");
        let number: Number = serde_json::from_str(slice).map_err(|_| self.fault("this is no number"))?;
        self.at += length;
        Ok(Value::Number(number))
    }

    fn literal(&mut self) -> Result<Value, Stop> {
        let known = [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        for (word, value) in known {
            let Some(rest) = self.rest().strip_prefix(word) else { continue };
            if !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
                self.at += word.len();
                return Ok(value);
            }
        }
        let word: String = self.rest().chars().take_while(|c| c.is_alphanumeric()).take(20).collect();
        if word.is_empty() {
            return Err(self.fault("this is no JSON value"));
        }
        Err(self.fault(format!("`{word}` is no JSON value")))
    }
}

fn escape_controls(slice: &str) -> String {
    slice.chars().fold(String::with_capacity(slice.len() + 16), |mut out, c| {
        if u32::from(c) < 0x20 {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strict_json_reads_as_serde_does() {
        for text in ["{}", "[1,-2.5e3,\"a\\u00e9\\n\",null,true,{\"k\":[[]]}]", " 7 ", "\"\"", "18446744073709551615"] {
            let (value, repairs) = read_json(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}");
            assert!(repairs.is_empty());
        }
    }

    #[test]
    fn repairs_are_the_three_with_one_reading() {
        assert_eq!(read_json("{\"a\": [1, 2,],}").unwrap(), (json!({"a": [1, 2]}), vec![Repair::TrailingComma]));
        assert_eq!(read_json("{ // note\n\"a\": \"//x\"}").unwrap(), (json!({"a": "//x"}), vec![Repair::Comment]));
        assert_eq!(read_json("\"a\nb\"").unwrap(), (json!("a\nb"), vec![Repair::ControlCharacter]));
    }

    #[test]
    fn everything_else_is_refused() {
        let bad = [
            "",
            "{'a': 1}",
            "{\"a\": True}",
            "[NaN]",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "[,]",
            "{\"a\":1 \"b\":2}",
            "nullx",
            "[1] x",
            "\"\\ud800\"",
            "01",
            "[1,,2]",
            "\"\\é\"",
            "/",
        ];
        for text in bad {
            assert!(read_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_cut_text_is_seen_as_cut() {
        for text in ["{\"a\": \"b", "{\"a\"", "[1,", "[", "{\"a\": \"b\\"] {
            assert!(read_json(text).unwrap_err().cut, "{text}");
        }
        assert!(!read_json("{'a'").unwrap_err().cut);
    }

    #[test]
    fn depth_is_bounded() {
        assert!(read_json(&"[".repeat(1_000_000)).is_err());
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        assert!(read_json(&deep).is_ok());
    }
}
