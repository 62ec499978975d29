//! Turtle out: sorted, always with short literals, names shortened only where every reader takes them.
//!
//! The same statements and prefixes always give the same bytes. Nothing illegal can be written: IRIs are encoded, literals escaped.

use super::graph::{Graph, Nested, Statement};
use super::iri::{absolute, legal_prefix, percent_encoded, plain_local};
use super::term::{Literal, Node, RDF_TYPE, Triple, XSD};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Prefix → namespace.
pub type Prefixes = BTreeMap<String, String>;

/// A whole document: the prefixes, then the statements.
#[must_use]
pub fn document(graph: &Graph, statements: &[Statement], prefixes: &Prefixes) -> String {
    let mut out = declarations(prefixes, |_| true);
    let plain: Vec<Statement> = graph.iter().map(labelled).collect();
    let body = block(plain.iter().chain(statements), prefixes);
    if !out.is_empty() && !body.is_empty() {
        out.push('\n');
    }
    out.push_str(&body);
    out
}

/// The declarations of those prefixes that `wanted` names.
pub fn declarations(prefixes: &Prefixes, wanted: impl Fn(&str) -> bool) -> String {
    let legal = prefixes.iter().filter(|(name, iri)| legal_prefix(name) && absolute(iri) && wanted(name));
    legal.fold(String::new(), |mut out, (name, iri)| {
        let _ = writeln!(out, "@prefix {name}: <{iri}> .");
        out
    })
}

/// Statements grouped by subject, without declarations.
pub fn block<'a>(statements: impl IntoIterator<Item = &'a Statement>, prefixes: &Prefixes) -> String {
    let mut by_subject: BTreeMap<&Node, BTreeSet<(&str, &Nested)>> = BTreeMap::new();
    for statement in statements {
        by_subject.entry(&statement.subject).or_default().insert((&statement.predicate, &statement.object));
    }
    let mut out = String::new();
    for (subject, said) in by_subject {
        node(&mut out, subject, prefixes);
        let mut before: Option<&str> = None;
        for (predicate, object) in said {
            match before {
                Some(same) if same == predicate => out.push_str(" , "),
                Some(_) => {
                    out.push_str(" ;\n    ");
                    predicate_name(&mut out, predicate, prefixes);
                    out.push(' ');
                }
                None => {
                    out.push(' ');
                    predicate_name(&mut out, predicate, prefixes);
                    out.push(' ');
                }
            }
            nested(&mut out, object, prefixes);
            before = Some(predicate);
        }
        out.push_str(" .\n");
    }
    out
}

/// The prefixes that the names of these statements would use.
#[must_use]
pub fn used(statements: &[Statement], prefixes: &Prefixes) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut note = |iri: &str| {
        if let Some((name, _)) = short(iri, prefixes) {
            found.insert(name.to_owned());
        }
    };
    let mut open: Vec<&Nested> = Vec::new();
    for statement in statements {
        note(&statement.predicate);
        if let Node::Iri(iri) = &statement.subject {
            note(iri);
        }
        open.push(&statement.object);
        while let Some(next) = open.pop() {
            match next {
                Nested::Node(Node::Iri(iri)) => note(iri),
                Nested::Node(Node::Literal(literal)) => note(&literal.datatype),
                Nested::Node(Node::Blank(_)) => {}
                Nested::Blank(said) => {
                    for (predicate, object) in said {
                        note(predicate);
                        open.push(object);
                    }
                }
            }
        }
    }
    found
}

fn labelled(triple: &Triple) -> Statement {
    Statement { subject: triple.subject.clone(), predicate: triple.predicate.clone(), object: Nested::Node(triple.object.clone()) }
}

fn node(out: &mut String, node: &Node, prefixes: &Prefixes) {
    match node {
        Node::Iri(iri) => name(out, iri, prefixes),
        Node::Blank(label) => {
            let _ = write!(out, "_:{label}");
        }
        Node::Literal(value) => literal(out, value, prefixes),
    }
}

fn nested(out: &mut String, object: &Nested, prefixes: &Prefixes) {
    match object {
        Nested::Node(plain) => node(out, plain, prefixes),
        Nested::Blank(said) if said.is_empty() => out.push_str("[]"),
        Nested::Blank(said) => {
            let mut said: Vec<_> = said.iter().collect();
            said.sort();
            said.dedup();
            out.push_str("[ ");
            for (position, (predicate, object)) in said.into_iter().enumerate() {
                if position > 0 {
                    out.push_str(" ; ");
                }
                predicate_name(out, predicate, prefixes);
                out.push(' ');
                nested(out, object, prefixes);
            }
            out.push_str(" ]");
        }
    }
}

fn predicate_name(out: &mut String, iri: &str, prefixes: &Prefixes) {
    if iri == RDF_TYPE { out.push('a') } else { name(out, iri, prefixes) }
}

fn name(out: &mut String, iri: &str, prefixes: &Prefixes) {
    let _ = match short(iri, prefixes) {
        Some((prefix, local)) => write!(out, "{prefix}:{local}"),
        None => write!(out, "<{}>", percent_encoded(iri)),
    };
}

/// The longest namespace that leaves a plain local name.
fn short<'a>(iri: &'a str, prefixes: &'a Prefixes) -> Option<(&'a str, &'a str)> {
    prefixes
        .iter()
        .filter(|(name, namespace)| legal_prefix(name) && absolute(namespace))
        .filter_map(|(name, namespace)| Some((name.as_str(), namespace, iri.strip_prefix(namespace.as_str())?)))
        .filter(|(_, _, local)| plain_local(local))
        .max_by(|a, b| a.1.len().cmp(&b.1.len()).then(b.0.cmp(a.0)))
        .map(|(name, _, local)| (name, local))
}

/// One literal: numbers and truth values bare where they are in the plainest form, everything else quoted and escaped.
pub fn literal(out: &mut String, value: &Literal, prefixes: &Prefixes) {
    let xsd = value.datatype.strip_prefix(XSD);
    if value.language.is_none() && xsd.is_some_and(|kind| bare(kind, &value.text)) {
        out.push_str(&value.text);
        return;
    }
    quoted(out, &value.text);
    if let Some(tag) = &value.language {
        let _ = write!(out, "@{tag}");
    } else if xsd != Some("string") {
        out.push_str("^^");
        name(out, &value.datatype, prefixes);
    }
}

fn bare(kind: &str, text: &str) -> bool {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match kind {
        "integer" => digits(unsigned),
        "boolean" => matches!(text, "true" | "false"),
        "decimal" => unsigned.split_once('.').is_some_and(|(whole, rest)| digits(whole) && digits(rest)),
        "double" => unsigned.split_once(['e', 'E']).is_some_and(|(number, exponent)| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            digits(exponent) && (digits(number) || number.split_once('.').is_some_and(|(whole, rest)| digits(whole) && digits(rest)))
        }),
        _ => false,
    }
}

/// The backslash first, or the backslashes of the other escapes would be escaped again. NUL has no portable form and becomes U+FFFD.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0' => out.push('\u{fffd}'),
            '\u{1}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
