//! Statements as the query engine sees them, with a count of how many it may look at: a query ends by arithmetic, not by a clock.

use super::graph::Graph;
use super::term::Node;
use sophia::api::prelude::*;
use sophia::api::quad::Spog;
use sophia::api::term::matcher::{GraphNameMatcher, TermMatcher};
use sophia::api::term::{BnodeId, IriRef, LanguageTag, SimpleTerm};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A term the engine may compare.
pub type Owned = SimpleTerm<'static>;

/// The budget is used up.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the query looks at too many statements")]
pub struct Exhausted;

/// An indexed copy of graphs, behind a budget.
pub struct Statements {
    all: Vec<Spog<Owned>>,
    by_subject: BTreeMap<String, Vec<usize>>,
    by_predicate: BTreeMap<String, Vec<usize>>,
    by_object: BTreeMap<String, Vec<usize>>,
    none: Vec<usize>,
    left: Cell<u64>,
}

impl Statements {
    /// The union of graphs; blank nodes of different graphs stay different.
    pub fn new<'a>(graphs: impl IntoIterator<Item = &'a Graph>, budget: u64) -> Self {
        let mut this = Self {
            all: Vec::new(),
            by_subject: BTreeMap::new(),
            by_predicate: BTreeMap::new(),
            by_object: BTreeMap::new(),
            none: Vec::new(),
            left: Cell::new(budget),
        };
        for (number, graph) in graphs.into_iter().enumerate() {
            for triple in graph.iter() {
                let predicate = Node::Iri(triple.predicate.clone());
                this.push([term(&triple.subject, number), term(&predicate, number), term(&triple.object, number)]);
            }
        }
        this
    }

    /// True when the engine was refused a look: whatever it answered then is worth nothing.
    pub fn exhausted(&self) -> bool {
        self.left.get() == 0
    }

    fn push(&mut self, [s, p, o]: [Owned; 3]) {
        let at = self.all.len();
        self.by_subject.entry(key(&s)).or_default().push(at);
        self.by_predicate.entry(key(&p)).or_default().push(at);
        self.by_object.entry(key(&o)).or_default().push(at);
        self.all.push(([s, p, o], None));
    }

    fn spend(&self) -> Result<(), Exhausted> {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        if left == 0 { Err(Exhausted) } else { Ok(()) }
    }

    /// The shortest list of positions that holds every match; `None`: all of them.
    fn candidates(&self, s: Option<String>, p: Option<String>, o: Option<String>) -> Option<&[usize]> {
        [(s, &self.by_subject), (p, &self.by_predicate), (o, &self.by_object)]
            .into_iter()
            .filter_map(|(key, index)| Some(index.get(&key?).unwrap_or(&self.none).as_slice()))
            .min_by_key(|list| list.len())
    }
}

/// One text per term, equal exactly for equal terms.
fn key<T: Term>(term: T) -> String {
    match term.as_simple() {
        SimpleTerm::Iri(iri) => format!("<{}", iri.as_str()),
        SimpleTerm::BlankNode(label) => format!("_{}", label.as_str()),
        SimpleTerm::LiteralDatatype(text, datatype) => format!("\"{}\" {text}", datatype.as_str()),
        SimpleTerm::LiteralLanguage(text, tag, _) => format!("@{} {text}", tag.as_str().to_lowercase()),
        SimpleTerm::Triple(_) | SimpleTerm::Variable(_) => String::new(),
    }
}

fn term(node: &Node, graph: usize) -> Owned {
    match node {
        Node::Iri(iri) => SimpleTerm::Iri(IriRef::new_unchecked(iri.clone().into())),
        Node::Blank(label) => SimpleTerm::BlankNode(BnodeId::new_unchecked(format!("g{graph}{label}").into())),
        Node::Literal(literal) => match &literal.language {
            Some(tag) => SimpleTerm::LiteralLanguage(literal.text.clone().into(), LanguageTag::new_unchecked(tag.clone().into()), None),
            None => SimpleTerm::LiteralDatatype(literal.text.clone().into(), IriRef::new_unchecked(literal.datatype.clone().into())),
        },
    }
}

impl Dataset for Statements {
    type Quad<'x> = Spog<&'x Owned>;
    type Error = Exhausted;

    fn quads(&self) -> impl Iterator<Item = Result<Self::Quad<'_>, Exhausted>> + '_ {
        self.all.iter().map(|([s, p, o], _)| self.spend().map(|()| ([s, p, o], None)))
    }

    fn quads_matching<'s, 't, S, P, O, G>(
        &'s self,
        sm: S,
        pm: P,
        om: O,
        gm: G,
    ) -> impl Iterator<Item = Result<Self::Quad<'s>, Exhausted>> + 't
    where
        's: 't,
        S: TermMatcher + 't,
        P: TermMatcher + 't,
        O: TermMatcher + 't,
        G: GraphNameMatcher + 't,
    {
        let of = |term: Option<String>| term.filter(|key| !key.is_empty());
        let (s, p, o) = (
            of(sm.constant().map(|t| key(t.borrow_term()))),
            of(pm.constant().map(|t| key(t.borrow_term()))),
            of(om.constant().map(|t| key(t.borrow_term()))),
        );
        let positions: Box<dyn Iterator<Item = usize> + 't> = match self.candidates(s, p, o) {
            Some(list) => Box::new(list.iter().copied()),
            None => Box::new(0..self.all.len()),
        };
        // One look is charged for the question itself: a question without candidates must not be free, or a product of them would not end.
        let charge = self.spend().err().map(Err);
        let found = positions.filter_map(move |at| {
            let ([s, p, o], _) = self.all.get(at)?;
            if let Err(stop) = self.spend() {
                return Some(Err(stop));
            }
            let quad: Self::Quad<'s> = ([s, p, o], None);
            quad.matched_by(sm.matcher_ref(), pm.matcher_ref(), om.matcher_ref(), gm.matcher_ref()).then_some(Ok(quad))
        });
        charge.into_iter().chain(found)
    }
}
