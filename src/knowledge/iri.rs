//! IRIs and the short names that stand for them: what is legal, and how anything else is made legal without two things becoming one.

use crate::base::digest_bytes;
use std::fmt::Write as _;

/// True for an absolute IRI that Turtle can hold between `<` and `>`: a scheme, a colon, and no character that must be encoded.
#[must_use]
pub fn absolute(iri: &str) -> bool {
    let Some((scheme, _)) = iri.split_once(':') else { return false };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !iri.chars().any(forbidden)
        && sophia::iri::Iri::new(iri).is_ok()
}

/// The text with every character that an IRI may not hold percent-encoded as UTF-8 (a lone `%` too); the same text gives the same result.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    encode(text, forbidden)
}

/// The text as one segment of an IRI: what separates (`/ : ? #` …) is encoded as well, so that two texts never give one segment.
#[must_use]
pub fn segment(text: &str) -> String {
    encode(text, |c| c == '%' || !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~')))
}

/// A path as part of an IRI: like [`segment`] but the slashes stay.
#[must_use]
pub fn path(text: &str) -> String {
    encode(text, |c| c == '%' || !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '/')))
}

fn encode(text: &str, must: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for (at, c) in text.char_indices() {
        let encoded_already = c == '%' && text.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        if must(c) || outside(c) || (c == '%' && !encoded_already) {
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn forbidden(c: char) -> bool {
    c <= ' ' || c == '\u{7f}' || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\')
}

/// Beyond ASCII, what RFC 3987 does not list under `ucschar` (controls, private use, bidi marks, non-characters).
fn outside(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{a0}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{ffef}' => false,
        '\u{10000}'..='\u{dffff}' => (c as u32) & 0xFFFE == 0xFFFE,
        '\u{e1000}'..='\u{efffd}' => false,
        _ => true,
    }
}

/// True for a prefix name that every Turtle reader takes (`PN_PREFIX`); the empty prefix is legal.
#[must_use]
pub fn legal_prefix(name: &str) -> bool {
    let mut letters = name.chars();
    let Some(first) = letters.next() else { return true };
    base_letter(first) && letters.all(|c| name_letter(c) || c == '.') && !name.ends_with('.')
}

/// A legal prefix for a project's name, and whether it differs from the name: illegal characters become `-` and a part of the
/// name's digest keeps two projects apart.
#[must_use]
pub fn mangled_prefix(project: &str) -> (String, bool) {
    if !project.is_empty() && legal_prefix(project) {
        return (project.to_owned(), false);
    }
    let kept: String = project.chars().map(|c| if name_letter(c) { c } else { '-' }).take(40).collect();
    let kept = kept.trim_matches('-');
    let start = if kept.chars().next().is_some_and(base_letter) { "" } else { "p-" };
    let digest = digest_bytes(project.as_bytes());
    let short = digest.get(..8).unwrap_or_default();
    let dash = if kept.is_empty() { "" } else { "-" };
    (format!("{start}{kept}{dash}{short}"), true)
}

/// True for a local name that needs no escape and that every reader splits in the same way: letters, digits, `_`, and inside `-` and `.`.
#[must_use]
pub fn plain_local(name: &str) -> bool {
    let mut letters = name.chars();
    let Some(first) = letters.next() else { return false };
    let last = name.chars().next_back().unwrap_or(first);
    (base_letter(first) || first == '_' || first.is_ascii_digit()) && letters.all(|c| name_letter(c) || c == '.') && last != '.'
}

/// `PN_CHARS_BASE` of Turtle.
fn base_letter(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

/// `PN_CHARS` of Turtle.
fn name_letter(c: char) -> bool {
    base_letter(c) || matches!(c, '_' | '-' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_get_legal_prefixes_that_stay_apart() {
        for name in ["my-proj", "我的项目", "a.b"] {
            assert_eq!(mangled_prefix(name), (name.to_owned(), false), "{name}");
        }
        let odd = ["3d tool", "3d-tool", "a.b.", "_x", "", "@x/y", "x y", "x/y"];
        let mut seen = std::collections::BTreeSet::new();
        for name in odd {
            let (prefix, changed) = mangled_prefix(name);
            assert!(changed && legal_prefix(&prefix) && !prefix.is_empty(), "{name:?} gave {prefix:?}");
            assert!(seen.insert(prefix), "{name:?} shares its prefix");
        }
    }

    #[test]
    fn local_names_are_plain_or_not_used() {
        for name in ["K2.1", "K2.1_R3", "a-b", "3d", "_x", "é"] {
            assert!(plain_local(name), "{name}");
        }
        for name in ["", "K2.", "-K", "K/1", "a b", ".a", "a%20", "a:b", "a,b", "a#b"] {
            assert!(!plain_local(name), "{name}");
        }
    }

    #[test]
    fn any_path_becomes_one_iri_again_and_again() {
        let odd = "src/a b/{x}|^.py";
        assert_eq!(percent_encoded(odd), "src/a%20b/%7Bx%7D%7C%5E.py");
        assert_eq!(path(odd), path(odd));
        assert_ne!(path("a%20b"), path("a b"));
        assert!(absolute(&format!("urn:x:{}", path("a\u{202e}\u{0}\u{e000}#?%"))));
        assert!(!absolute("memory/outcome") && !absolute("urn:a b") && !absolute("3:x"));
    }
}
