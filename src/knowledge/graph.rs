//! A set of statements, and the comparison of blank nodes by what is said about them instead of by their labels.

use super::term::{Node, Triple};
use std::collections::{BTreeMap, BTreeSet};

/// Blank nodes nested deeper than this are taken to differ from everything.
const BLANK_DEPTH: usize = 16;
/// Parts of one description of a blank node that are compared; beyond it two nodes count as different.
const BLANK_PARTS: usize = 4096;

/// Statements without order and without repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    triples: BTreeSet<Triple>,
}

/// An object that is written in place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nested {
    /// An IRI or a literal.
    Node(Node),
    /// A blank node with what is said about it.
    Blank(Vec<(String, Nested)>),
}

/// A statement whose object may be a blank node without a label: its description stands in place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Statement {
    /// An IRI; a blank node only where it has a label of its own document.
    pub subject: Node,
    /// An IRI.
    pub predicate: String,
    /// Anything.
    pub object: Nested,
}

impl Graph {
    /// Adds a statement; false when it was there.
    pub fn insert(&mut self, triple: Triple) -> bool {
        self.triples.insert(triple)
    }

    /// The statements, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Triple> {
        self.triples.iter()
    }

    /// How many statements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.triples.len()
    }

    /// True without a statement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.triples.is_empty()
    }

    /// The comparison of statements with this graph's; made once, used for many.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        let mut about: BTreeMap<&str, Vec<(&str, &Node)>> = BTreeMap::new();
        for triple in &self.triples {
            if let Node::Blank(label) = &triple.subject {
                about.entry(label).or_default().push((&triple.predicate, &triple.object));
            }
        }
        Known { graph: self, about }
    }
}

/// See [`Graph::known`].
pub struct Known<'a> {
    graph: &'a Graph,
    about: BTreeMap<&'a str, Vec<(&'a str, &'a Node)>>,
}

impl Known<'_> {
    /// True when the graph holds exactly this statement.
    #[must_use]
    pub fn has(&self, triple: &Triple) -> bool {
        self.graph.triples.contains(triple)
    }

    /// True when the graph holds the statement, or one whose blank nodes are described in exactly the same way.
    #[must_use]
    pub fn holds(&self, statement: &Statement) -> bool {
        let Statement { subject, predicate, object } = statement;
        match object {
            Nested::Node(object) => self.has(&Triple { subject: subject.clone(), predicate: predicate.clone(), object: object.clone() }),
            Nested::Blank(_) => {
                let wanted = Some(sorted(object));
                let beside = self.graph.triples.iter().filter(|t| t.subject == *subject && t.predicate == *predicate);
                beside.into_iter().any(|t| matches!(t.object, Node::Blank(_)) && self.describe(&t.object) == wanted)
            }
        }
    }

    fn describe(&self, node: &Node) -> Option<Nested> {
        let mut parts = BLANK_PARTS;
        self.expand(node, 0, &mut parts)
    }

    fn expand(&self, node: &Node, depth: usize, parts: &mut usize) -> Option<Nested> {
        *parts = parts.checked_sub(1)?;
        let Node::Blank(label) = node else { return Some(Nested::Node(node.clone())) };
        if depth >= BLANK_DEPTH {
            return None;
        }
        let said = self.about.get(label.as_str()).map(Vec::as_slice).unwrap_or_default();
        let mut described = Vec::with_capacity(said.len().min(BLANK_PARTS));
        for (predicate, object) in said {
            described.push(((*predicate).to_owned(), self.expand(object, depth + 1, parts)?));
        }
        described.sort();
        Some(Nested::Blank(described))
    }
}

/// The same with every description of a blank node sorted and without repetition.
fn sorted(nested: &Nested) -> Nested {
    match nested {
        Nested::Node(node) => Nested::Node(node.clone()),
        Nested::Blank(said) => {
            let mut said: Vec<_> = said.iter().map(|(p, o)| (p.clone(), sorted(o))).collect();
            said.sort();
            said.dedup();
            Nested::Blank(said)
        }
    }
}
