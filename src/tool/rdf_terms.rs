//! Terms as a caller writes them in JSON → terms of a graph: `<iri>`, `prefix:name`, `{"value": …}`, or a list of `[p, o]`.
//!
//! Nothing is guessed: an undeclared prefix is an error. What cannot stand in RDF (NUL) is replaced and noted.

use super::given::wrong;
use crate::knowledge::{Literal, Nested, Node, Prefixes, absolute, legal_prefix, percent_encoded};
use crate::model::tool::ToolError;
use serde_json::Value;

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// Deepest nesting of blank nodes.
const DEPTH: usize = 8;
/// Longest literal, in bytes.
const LITERAL_BYTES: usize = 256 * 1024;
/// Most prefixes of one call.
const PREFIXES: usize = 64;

/// Reads terms with one set of prefixes.
pub(super) struct Terms {
    /// As given by the caller.
    pub prefixes: Prefixes,
    /// What was replaced, as lower-case sentences.
    pub notes: Vec<String>,
}

impl Terms {
    /// Reads `prefixes` of the arguments.
    pub fn new(args: &Value) -> Result<Self, ToolError> {
        let mut prefixes = Prefixes::new();
        match args.get("prefixes") {
            None | Some(Value::Null) => {}
            Some(Value::Object(given)) if given.len() <= PREFIXES => {
                for (name, iri) in given {
                    let (name, iri) = prefix(name, iri)?;
                    prefixes.insert(name, iri);
                }
            }
            Some(Value::Object(_)) => return Err(wrong(format!("`prefixes` holds more than {PREFIXES}"))),
            Some(_) => return Err(wrong("`prefixes` must be an object of prefix and namespace")),
        }
        Ok(Self { prefixes, notes: Vec::new() })
    }

    /// An IRI, a literal, or a blank node described in place.
    pub fn object(&mut self, value: &Value, place: &str) -> Result<Nested, ToolError> {
        self.nested(value, place, DEPTH)
    }

    /// An IRI: what is said about a blank node stands where it is the object.
    pub fn subject(&mut self, value: &Value, place: &str) -> Result<Node, ToolError> {
        match value {
            Value::String(text) => Ok(Node::Iri(self.iri(text, place)?)),
            _ => Err(wrong(format!("{place}: a subject is `<iri>` or `prefix:name`; describe a blank node where it is the object"))),
        }
    }

    /// An IRI; `a` stands for `rdf:type`.
    pub fn predicate(&mut self, value: &Value, place: &str) -> Result<String, ToolError> {
        match value {
            Value::String(text) if text == "a" => Ok(format!("{RDF}type")),
            Value::String(text) => self.iri(text, place),
            _ => Err(wrong(format!("{place}: a predicate is `<iri>` or `prefix:name`"))),
        }
    }

    fn nested(&mut self, value: &Value, place: &str, depth: usize) -> Result<Nested, ToolError> {
        match value {
            Value::String(text) => Ok(Nested::Node(Node::Iri(self.iri(text, place)?))),
            Value::Array(pairs) => {
                let depth = depth.checked_sub(1).ok_or_else(|| wrong(format!("{place}: blank nodes nest deeper than {DEPTH}")))?;
                let mut said = Vec::with_capacity(pairs.len());
                for pair in pairs {
                    let Some([p, o]) = pair.as_array().map(Vec::as_slice) else {
                        return Err(wrong(format!("{place}: a blank node is a list of [predicate, object]")));
                    };
                    said.push((self.predicate(p, place)?, self.nested(o, place, depth)?));
                }
                Ok(Nested::Blank(said))
            }
            Value::Object(_) | Value::Bool(_) | Value::Number(_) => Ok(Nested::Node(Node::Literal(self.literal(value, place)?))),
            Value::Null => Err(wrong(format!("{place}: null is no term"))),
        }
    }

    fn iri(&self, text: &str, place: &str) -> Result<String, ToolError> {
        if let Some(inside) = text.strip_prefix('<') {
            let inside = inside.strip_suffix('>').ok_or_else(|| wrong(format!("{place}: `{}` isn't closed by `>`", shown(text))))?;
            let iri = percent_encoded(inside);
            return if absolute(&iri) { Ok(iri) } else { Err(wrong(format!("{place}: <{}> is no absolute IRI", shown(inside)))) };
        }
        let Some((prefix, local)) = text.split_once(':') else {
            return Err(wrong(format!("{place}: `{}` is no term: write `<iri>`, `prefix:name`, or {{\"value\": …}}", shown(text))));
        };
        if prefix == "_" {
            return Err(wrong(format!("{place}: labels of blank nodes mean nothing outside a file: write a list of [predicate, object]")));
        }
        let namespace = self.namespace(prefix).ok_or_else(|| {
            wrong(format!(
                "{place}: the prefix `{}` of `{}` is not declared in `prefixes`; a whole IRI stands in `<…>`",
                shown(prefix),
                shown(text)
            ))
        })?;
        let iri = percent_encoded(&format!("{namespace}{local}"));
        if absolute(&iri) { Ok(iri) } else { Err(wrong(format!("{place}: `{}` gives no absolute IRI", shown(text)))) }
    }

    fn namespace(&self, prefix: &str) -> Option<&str> {
        let built_in = match prefix {
            "rdf" => Some(RDF),
            "rdfs" => Some(RDFS),
            "xsd" => Some(XSD),
            _ => None,
        };
        self.prefixes.get(prefix).map(String::as_str).or(built_in)
    }

    fn literal(&mut self, value: &Value, place: &str) -> Result<Literal, ToolError> {
        let (inner, tag, kind) = match value {
            Value::Object(fields) => (fields.get("value").unwrap_or(&Value::Null), fields.get("lang"), fields.get("type")),
            plain => (plain, None, None),
        };
        let (text, own) = match inner {
            Value::String(text) => (self.cleaned(text, place)?, "string"),
            Value::Bool(truth) => (truth.to_string(), "boolean"),
            Value::Number(number) if number.is_f64() => (format!("{:e}", number.as_f64().unwrap_or_default()), "double"),
            Value::Number(number) => (number.to_string(), "integer"),
            _ => return Err(wrong(format!("{place}: a literal is {{\"value\": text, number or boolean}}"))),
        };
        match (tag.and_then(Value::as_str), kind.and_then(Value::as_str)) {
            (Some(_), Some(_)) => Err(wrong(format!("{place}: a literal has `lang` or `type`, not both"))),
            (Some(tag), None) if language(tag) => Ok(Literal::in_language(text, tag)),
            (Some(tag), None) => Err(wrong(format!("{place}: `{}` is no language tag", shown(tag)))),
            (None, Some(kind)) => Ok(Literal::typed(text, self.iri(kind, place)?)),
            (None, None) if tag.is_none_or(Value::is_null) && kind.is_none_or(Value::is_null) => {
                Ok(Literal::typed(text, format!("{XSD}{own}")))
            }
            (None, None) => Err(wrong(format!("{place}: `lang` and `type` are texts"))),
        }
    }

    fn cleaned(&mut self, text: &str, place: &str) -> Result<String, ToolError> {
        if text.len() > LITERAL_BYTES {
            return Err(wrong(format!("{place}: a literal of {} bytes; at most {LITERAL_BYTES} are kept", text.len())));
        }
        if text.contains('\0') {
            self.notes.push(format!("{place}: U+0000 can't be written in RDF and was replaced by U+FFFD"));
        }
        Ok(text.replace('\0', "\u{fffd}"))
    }
}

fn prefix(name: &str, iri: &Value) -> Result<(String, String), ToolError> {
    let name = name.strip_suffix(':').unwrap_or(name);
    if !legal_prefix(name) {
        return Err(wrong(format!(
            "`{}` is no legal prefix: begin with a letter, use letters, digits, `-`, `_`, and no `.` at the end",
            shown(name)
        )));
    }
    let iri = iri.as_str().ok_or_else(|| wrong(format!("the namespace of `{}` must be a text", shown(name))))?;
    let inside = iri.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(iri);
    if absolute(inside) {
        Ok((name.to_owned(), inside.to_owned()))
    } else {
        Err(wrong(format!("`{}` of the prefix `{}` is no absolute IRI", shown(inside), shown(name))))
    }
}

fn language(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let first = parts.next().unwrap_or_default();
    let sized = |part: &str| (1..=8).contains(&part.len());
    sized(first)
        && first.chars().all(|c| c.is_ascii_alphabetic())
        && parts.all(|p| sized(p) && p.chars().all(|c| c.is_ascii_alphanumeric()))
}

fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
