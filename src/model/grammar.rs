//! Reads the grammar of `what` and of the entries of `in` and `out` into terms. Judges no name and knows nothing of the cells around.

use super::{Term, TypeRef};
use crate::base::limits;
use std::collections::BTreeMap;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Alternatives one union may have, and terms one `what`.
const MAX_PARTS: usize = 100;

/// Terms with what was understood although it is written otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The terms in written order; equal ones are one term with their counts added.
    pub terms: Vec<Term>,
    /// Characters that stand for others.
    pub oddities: Vec<Oddity>,
}

/// A character that was understood as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Where in the text, in bytes.
    pub at: Range<usize>,
    /// What is written.
    pub found: char,
    /// What is meant.
    pub meant: char,
}

/// Why a text is no sum of terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TermError {
    /// Where in the text, in bytes.
    pub at: Range<usize>,
    /// Lower-case sentence.
    pub message: String,
}

/// Reads a `what`: terms joined by `+`.
///
/// # Errors
/// The first place that is no term.
pub fn parse_what(text: &str) -> Result<Reading, TermError> {
    let mut reader = Reader { text, oddities: Vec::new() };
    let parts = reader.split(0..text.len(), '+', '\u{ff0b}')?;
    let mut terms: Vec<Term> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for part in parts {
        let term = reader.term(part.clone())?;
        let place = *places.entry(term.key()).or_insert(terms.len());
        match terms.get_mut(place) {
            Some(known) => {
                known.count = known.count.saturating_add(term.count);
                if known.count > limits::MAX_COUNT {
                    return Err(TermError { at: part, message: format!("more than {} of one type", limits::MAX_COUNT) });
                }
            }
            None => terms.push(term),
        }
    }
    Ok(Reading { terms, oddities: reader.oddities })
}

/// Reads an entry of `in` or `out`: one term.
///
/// # Errors
/// The first place that is no term; a sum.
pub fn parse_entry(text: &str) -> Result<(Term, Vec<Oddity>), TermError> {
    let mut reader = Reader { text, oddities: Vec::new() };
    let parts = reader.split(0..text.len(), '+', '\u{ff0b}')?;
    if let [_, second, ..] = parts.as_slice() {
        let message = "an entry is one type; write the parts of a sum as entries of their own".to_owned();
        return Err(TermError { at: second.clone(), message });
    }
    let term = reader.term(0..text.len())?;
    Ok((term, reader.oddities))
}

struct Reader<'a> {
    text: &'a str,
    oddities: Vec<Oddity>,
}

impl<'a> Reader<'a> {
    /// Splits at a separator outside parentheses; `wide` is its full-width twin.
    fn split(&mut self, range: Range<usize>, plain: char, wide: char) -> Result<Vec<Range<usize>>, TermError> {
        let (mut parts, mut depth, mut start, mut opened) = (Vec::new(), 0_usize, range.start, range.start);
        for (offset, c) in self.slice(&range).char_indices() {
            let at = range.start + offset;
            match c {
                '(' | '（' => {
                    depth += 1;
                    opened = at;
                }
                ')' | '）' if depth == 0 => {
                    return Err(TermError { at: at..at + c.len_utf8(), message: format!("`{c}` closes nothing") });
                }
                ')' | '）' => depth -= 1,
                c if depth == 0 && (c == plain || c == wide) => {
                    if c == wide {
                        self.odd(at, c, plain);
                    }
                    parts.push(start..at);
                    start = at + c.len_utf8();
                }
                _ => {}
            }
            if parts.len() >= MAX_PARTS {
                return Err(TermError { at: at..at + c.len_utf8(), message: format!("more than {MAX_PARTS} parts") });
            }
        }
        if depth > 0 {
            return Err(TermError { at: opened..range.end, message: "a parenthesis is never closed".to_owned() });
        }
        parts.push(start..range.end);
        Ok(parts)
    }

    fn term(&mut self, range: Range<usize>) -> Result<Term, TermError> {
        let parts = self.split(range, '|', '\u{ff5c}')?;
        let mut term = Term { alternatives: Vec::new(), count: 1 };
        let last = parts.len() - 1;
        for (index, part) in parts.into_iter().enumerate() {
            let (alternative, count) = self.alternative(part.clone())?;
            if let Some(count) = count {
                if index < last {
                    return Err(TermError { at: part, message: "a count stands behind the last alternative of a union".to_owned() });
                }
                term.count = count;
            }
            if !term.alternatives.contains(&alternative) {
                term.alternatives.push(alternative);
            }
        }
        Ok(term)
    }

    fn alternative(&mut self, range: Range<usize>) -> Result<(TypeRef, Option<u8>), TermError> {
        let range = self.trim_inside(range);
        if self.slice(&range).trim().is_empty() {
            return Err(TermError { at: self.around(&range), message: "a type name is missing".to_owned() });
        }
        let text = self.slice(&range);
        let Some(open) = text.find(['(', '（']) else {
            return Ok((TypeRef { name: nfc(text), variant: None }, None));
        };
        let name_end = range.start + open;
        let groups = self.groups(name_end..range.end)?;
        let name = self.trim_inside(range.start..name_end);
        if name.is_empty() {
            return Err(TermError { at: range, message: "a type name is missing before the parenthesis".to_owned() });
        }
        let mut found = TypeRef { name: nfc(self.slice(&name)), variant: None };
        let mut count = None;
        for group in groups {
            let inner = self.trim(group.clone());
            if count.is_some() {
                return Err(TermError { at: group, message: "the count stands last".to_owned() });
            }
            match self.count(&inner)? {
                Some(n) => count = Some(n),
                None if found.variant.is_some() => {
                    return Err(TermError { at: inner, message: "a type has one variant".to_owned() });
                }
                None if inner.is_empty() => {
                    return Err(TermError { at: self.around(&inner), message: "nothing stands in the parentheses".to_owned() });
                }
                None => found.variant = Some(nfc(self.slice(&inner))),
            }
        }
        Ok((found, count))
    }

    /// The insides of the parenthesised groups of `range`, which begins with a parenthesis and is balanced.
    fn groups(&mut self, range: Range<usize>) -> Result<Vec<Range<usize>>, TermError> {
        let (mut groups, mut depth, mut start) = (Vec::new(), 0_usize, range.start);
        let text = self.text;
        for (offset, c) in text.get(range.clone()).unwrap_or_default().char_indices() {
            let at = range.start + offset;
            match c {
                '(' | '（' => {
                    depth += 1;
                    if depth == 1 {
                        start = at + c.len_utf8();
                    }
                    if c == '（' {
                        self.odd(at, c, '(');
                    }
                }
                ')' | '）' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        groups.push(start..at);
                    }
                    if c == '）' {
                        self.odd(at, c, ')');
                    }
                }
                c if depth == 0 && !c.is_whitespace() => {
                    return Err(TermError { at: at..range.end, message: "text stands behind a parenthesis".to_owned() });
                }
                _ => {}
            }
        }
        Ok(groups)
    }

    /// The count in `inner`, or `None` when it is a variant.
    fn count(&mut self, inner: &Range<usize>) -> Result<Option<u8>, TermError> {
        let text = self.slice(inner);
        let Some(sign) = text.chars().next() else { return Ok(None) };
        let digits = text.get(sign.len_utf8()..).unwrap_or_default().trim();
        let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match sign {
            '×' => {}
            'x' | 'X' | '✕' | '＊' | '*' | 'х' if numeric => self.odd(inner.start, sign, '×'),
            _ => return Ok(None),
        }
        let max = limits::MAX_COUNT;
        match digits.parse::<u8>() {
            Ok(count) if numeric && (2..=max).contains(&count) => Ok(Some(count)),
            _ if numeric => Err(TermError { at: inner.clone(), message: format!("a count is from 2 to {max}") }),
            _ => Err(TermError { at: inner.clone(), message: format!("a count is `×` and a number from 2 to {max}") }),
        }
    }

    fn odd(&mut self, at: usize, found: char, meant: char) {
        self.oddities.push(Oddity { at: at..at + found.len_utf8(), found, meant });
    }

    fn slice(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// Without the blanks beside an operator. Those at the very ends of the text belong to the name: names are compared exactly.
    fn trim_inside(&self, range: Range<usize>) -> Range<usize> {
        let text = self.slice(&range);
        let blank = [' ', '\t'];
        let left = if range.start > 0 { text.len() - text.trim_start_matches(blank).len() } else { 0 };
        let right = if range.end < self.text.len() { text.len() - text.trim_end_matches(blank).len() } else { 0 };
        range.start + left..(range.end - right).max(range.start + left)
    }

    fn trim(&self, range: Range<usize>) -> Range<usize> {
        let text = self.slice(&range);
        let start = range.start + (text.len() - text.trim_start().len());
        start..start + text.trim().len()
    }

    /// An empty range widened to a neighbouring character, so that a message can point at something.
    fn around(&self, range: &Range<usize>) -> Range<usize> {
        match self.text.get(range.start..).and_then(|rest| rest.chars().next()) {
            Some(next) => range.start..range.start + next.len_utf8(),
            None => match self.text.chars().next_back() {
                Some(last) => self.text.len() - last.len_utf8()..self.text.len(),
                None => 0..0,
            },
        }
    }
}

fn nfc(text: &str) -> String {
    text.nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        parse_what(text)
            .map(|reading| reading.terms.iter().map(ToString::to_string).collect::<Vec<_>>().join("+"))
            .map_err(|error| error.message)
    }

    #[test]
    fn public_spellings_are_read() {
        assert_eq!(shown("A + B").as_deref(), Ok("A+B"));
        assert_eq!(shown("Result+Vote(×2)+Report").as_deref(), Ok("Result+Vote(×2)+Report"));
        assert_eq!(shown("retry|next_kr").as_deref(), Ok("retry|next_kr"));
        assert_eq!(shown("Snapshot(t0) (×3)").as_deref(), Ok("Snapshot(t0)(×3)"));
        assert_eq!(shown("A+A").as_deref(), Ok("A(×2)"));
        assert_eq!(shown("A | B").as_deref(), Ok("A|B"));
        assert_eq!(shown(" A ").as_deref(), Ok(" A "));
        assert_eq!(shown("A(x)").as_deref(), Ok("A(x)"));
    }

    #[test]
    fn other_characters_are_understood_and_named() {
        let reading = parse_what("A＋B（x3）｜C").expect_err("a count before the last alternative");
        assert_eq!(reading.message, "a count stands behind the last alternative of a union");
        let reading = parse_what("A＋B（x3）").expect("terms");
        let found: String = reading.oddities.iter().map(|odd| odd.found).collect();
        assert_eq!(found, "＋（）x");
        assert_eq!(reading.terms[1].count, 3);
    }

    #[test]
    fn what_is_no_term_is_refused() {
        for text in [
            "",
            " ",
            "+",
            "A+ ",
            "A++B",
            "A|",
            "A(×1)",
            "A(×100)",
            "A(×99999999999999999999)",
            "A(×two)",
            "A(",
            "A)",
            "(t0)",
            "A(t0)b",
            "A()",
            "A(a)(b)",
        ] {
            assert!(parse_what(text).is_err(), "{text}");
        }
        assert!(parse_entry("A+B").is_err());
    }
}
