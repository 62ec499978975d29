//! Turtle in: bytes → graph, or one fault with its line and column. Never guesses a namespace, never repairs.
//!
//! Blank nodes get labels in the order in which they appear, so that the same bytes always give the same graph.

use super::graph::Graph;
use super::iri::absolute;
use super::term::{Literal, Node, Triple};
use sophia::api::prelude::*;
use sophia::api::source::StreamError;
use sophia::api::term::{SimpleTerm, TermKind};
use sophia::turtle::parser::ErrorKind;
use sophia::turtle::parser::turtle::TurtleParser;
use std::collections::BTreeMap;
use std::io::Read as _;

/// Most statements that one file may hold.
pub const STATEMENTS: usize = 500_000;

/// Why a text could not be read as Turtle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReadError {
    /// What kind of fault.
    pub kind: ReadErrorKind,
    /// A lower-case sentence that names the place.
    pub message: String,
}

/// Kinds of [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// The text is not Turtle: torn, or never was.
    Broken,
    /// The text may be good, but it holds more or other things than are read here.
    Unsupported,
}

/// Reads a Turtle document; `name` is used in messages. A byte-order mark is passed over.
///
/// # Errors
/// The first fault.
pub fn read(name: &str, bytes: &[u8]) -> Result<Graph, ReadError> {
    let (graph, fault) = read_on(name, bytes);
    fault.map_or(Ok(graph), Err)
}

/// What stands before the first fault, and that fault.
#[must_use]
pub fn rescue(name: &str, bytes: &[u8]) -> (Graph, Option<ReadError>) {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes,
        Err(fault) => bytes.get(..fault.valid_up_to()).unwrap_or_default(),
    };
    let (graph, fault) = read_on(name, valid);
    (graph, read(name, bytes).err().or(fault))
}

fn read_on(name: &str, bytes: &[u8]) -> (Graph, Option<ReadError>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(fault) => {
            let at = fault.valid_up_to();
            return (Graph::default(), Some(broken(format!("{name} is not UTF-8: the byte at offset {at} belongs to no character"))));
        }
    };
    let mut collector = Collector::default();
    let parser = TurtleParser::new().with_preserve_bn_labels(true);
    // The parser looks behind a backslash or a quote without asking whether the text ends there; a line end makes it a plain fault. It also
    // cuts `\u` escapes by bytes, which stops it inside a wider character: such a stop is a fault of the text, not of the program.
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut source = parser.parse(std::io::BufReader::new(text.as_bytes().chain(&b"\n"[..])));
        source.try_for_each_triple(|[s, p, o]| collector.take(s.as_simple(), p.as_simple(), o.as_simple()))
    }));
    let fault = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(StreamError::SourceError(fault))) => {
            let (line, column) = fault.position();
            let hint =
                if matches!(fault.kind(), ErrorKind::Iri(_)) { ": write the whole IRI, with a scheme and without blanks" } else { "" };
            let kind = match fault.kind() {
                ErrorKind::EOF(_) => "the text ends in the middle of a statement".to_owned(),
                other => lower_first(&other.to_string()),
            };
            Some(broken(format!("{name}:{}:{}: {kind}{hint}", line + 1, column_of(text, line, column))))
        }
        Ok(Err(StreamError::SinkError(fault))) => Some(ReadError { message: format!("{name}: {}", fault.message), ..fault }),
        Err(_) => Some(broken(format!("{name} can't be read as Turtle: look for a `\\u` without its hexadecimal digits"))),
    };
    (collector.graph, fault)
}

fn broken(message: String) -> ReadError {
    ReadError { kind: ReadErrorKind::Broken, message }
}

/// The reader counts bytes from 0; people count characters from 1.
fn column_of(text: &str, line: usize, byte: usize) -> usize {
    let line = text.split('\n').nth(line).unwrap_or_default();
    line.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

#[derive(Default)]
struct Collector {
    graph: Graph,
    labels: BTreeMap<String, usize>,
}

impl Collector {
    fn take(&mut self, s: SimpleTerm<'_>, p: SimpleTerm<'_>, o: SimpleTerm<'_>) -> Result<(), ReadError> {
        if self.graph.len() >= STATEMENTS {
            let message = format!("more than {STATEMENTS} statements: split the file");
            return Err(ReadError { kind: ReadErrorKind::Unsupported, message });
        }
        let subject = self.node(&s)?;
        let Node::Iri(predicate) = self.node(&p)? else {
            return Err(broken("a predicate must be an IRI".to_owned()));
        };
        let object = self.node(&o)?;
        self.graph.insert(Triple { subject, predicate, object });
        Ok(())
    }

    fn node(&mut self, term: &SimpleTerm<'_>) -> Result<Node, ReadError> {
        match term {
            SimpleTerm::Iri(iri) if absolute(iri.as_str()) => Ok(Node::Iri(iri.as_str().to_owned())),
            SimpleTerm::Iri(iri) => {
                Err(broken(format!("<{}> is not an absolute IRI: write the whole IRI, or declare a @base", iri.as_str().escape_debug())))
            }
            SimpleTerm::BlankNode(label) => {
                let next = self.labels.len();
                let number = *self.labels.entry(label.as_str().to_owned()).or_insert(next);
                Ok(Node::Blank(format!("b{number}")))
            }
            SimpleTerm::LiteralDatatype(text, datatype) => Ok(Node::Literal(Literal::typed(text.to_string(), datatype.as_str()))),
            SimpleTerm::LiteralLanguage(text, tag, None) => Ok(Node::Literal(Literal::in_language(text.to_string(), tag.as_str()))),
            other => Err(unsupported(other.kind())),
        }
    }
}

fn unsupported(kind: TermKind) -> ReadError {
    let message = format!("terms of RDF 1.2 ({}) are not read: keep them in another file", lower_first(&format!("{kind:?}")));
    ReadError { kind: ReadErrorKind::Unsupported, message }
}
