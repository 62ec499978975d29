//! SPARQL over graphs: SELECT and ASK, bounded in text, depth, statements looked at, and rows. Changes nothing and asks nobody else.

use super::bind::{Values, bind};
use super::budget::Statements;
use super::graph::Graph;
use super::iri::absolute;
use super::term::{Literal, Node};
use sophia::api::prelude::*;
use sophia_sparql::{ResultTerm, SparqlQuery, SparqlWrapper};
use spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::{GroundTerm, NamedNode, Variable};
use spargebra::{Query, SparqlParser};
use std::collections::BTreeMap;

/// Longest query, in bytes.
pub const QUERY_BYTES: usize = 16 * 1024;
/// Deepest nesting of brackets in a query: the parser tries nested brackets in several ways.
const QUERY_DEPTH: usize = 16;
/// Stack of the thread a query runs on: long chains of operators are parsed and evaluated by recursion.
const STACK: usize = 256 * 1024 * 1024;
/// Longest text of one value in a row, in characters.
const VALUE_CHARS: usize = 16 * 1024;

/// How much one query may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Rows that come back.
    pub rows: usize,
    /// Statements it may look at; a row that is kept for counting or ordering costs about two kilobytes, so this bounds memory as well.
    pub looks: u64,
}

/// What a query gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of SELECT: variables, rows (a value per variable, `None` where there is none), and whether there were more.
    Rows {
        /// Names without `?`.
        vars: Vec<String>,
        /// As ordered by the query; sorted where it says nothing about order.
        rows: Vec<Vec<Option<String>>>,
        /// More rows than were asked for.
        truncated: bool,
    },
    /// Of ASK.
    Truth(bool),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// What kind of fault.
    pub kind: QueryErrorKind,
    /// A lower-case sentence.
    pub message: String,
}

/// Kinds of [`QueryError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryErrorKind {
    /// The query or a bound value is wrong.
    Query,
    /// It would cost too much, or the engine failed.
    Evaluation,
}

fn wrong(message: impl Into<String>) -> QueryError {
    QueryError { kind: QueryErrorKind::Query, message: message.into() }
}

/// Asks the union of `graphs`. `bound` gives variables their values; at most `bounds` say when to stop.
///
/// # Errors
/// A query that does not parse or is refused, a value that cannot stand where its variable does, a query that costs too much.
pub fn ask(query: &str, graphs: &[Graph], bound: &BTreeMap<String, Node>, bounds: Bounds) -> Result<Answer, QueryError> {
    if query.len() > QUERY_BYTES {
        return Err(wrong(format!("the query has {} bytes; at most {QUERY_BYTES} are read", query.len())));
    }
    if depth(query) > QUERY_DEPTH {
        return Err(wrong(format!("the query nests brackets deeper than {QUERY_DEPTH}")));
    }
    let values = bound.iter().map(|(name, node)| ground(name, node)).collect::<Result<Values, _>>()?;
    std::thread::scope(|scope| {
        let work = || evaluate(query, graphs, &values, bounds);
        let failed = |what: String| QueryError { kind: QueryErrorKind::Evaluation, message: what };
        let thread = std::thread::Builder::new().name("sparql".to_owned()).stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|fault| failed(format!("no thread could be started for the query: {fault}")))?;
        thread.join().unwrap_or_else(|_| Err(failed("the query engine gave up on this query; write it in another way".to_owned())))
    })
}

fn depth(query: &str) -> usize {
    let mut deepest = 0;
    let mut open = 0_usize;
    for c in query.chars() {
        match c {
            '(' | '{' | '[' => open += 1,
            ')' | '}' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn ground(name: &str, node: &Node) -> Result<(String, GroundTerm), QueryError> {
    let name = name.trim_start_matches(['?', '$']).to_owned();
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty() && name.len() <= 64;
    if !plain {
        return Err(wrong(format!("`{}` is no variable: letters, digits and `_` only", name.escape_debug())));
    }
    match node {
        Node::Iri(iri) if absolute(iri) => Ok((name, GroundTerm::NamedNode(NamedNode::new_unchecked(iri.clone())))),
        Node::Iri(iri) => Err(wrong(format!("`{}` for ?{name} is no absolute IRI", iri.escape_debug()))),
        Node::Blank(_) => Err(wrong(format!("?{name} can't be bound to a blank node: those have no name outside their file"))),
        Node::Literal(literal) => Ok((name, GroundTerm::Literal(literal_term(literal)))),
    }
}

fn literal_term(literal: &Literal) -> spargebra::term::Literal {
    match &literal.language {
        Some(tag) => spargebra::term::Literal::new_language_tagged_literal_unchecked(literal.text.clone(), tag.clone()),
        None => spargebra::term::Literal::new_typed_literal(literal.text.clone(), NamedNode::new_unchecked(literal.datatype.clone())),
    }
}

fn evaluate(text: &str, graphs: &[Graph], values: &Values, bounds: Bounds) -> Result<Answer, QueryError> {
    let mut query = parse(text)?;
    let pattern = match &mut query {
        Query::Select { dataset: None, pattern, .. } | Query::Ask { dataset: None, pattern, .. } => pattern,
        Query::Select { .. } | Query::Ask { .. } => {
            return Err(wrong("FROM has no meaning here: name the files in `files`"));
        }
        Query::Construct { .. } | Query::Describe { .. } => return Err(wrong("only SELECT and ASK are answered")),
    };
    bind(pattern, values).map_err(wrong)?;
    let (vars, ordered) = (projected(pattern), is_ordered(pattern));
    settle_order(pattern, &vars);
    let statements = Statements::new(graphs, bounds.looks);
    let answer = match &query {
        Query::Ask { .. } => truth(&statements, query),
        _ => rows(&statements, query, &vars, values, ordered, bounds.rows),
    };
    if statements.exhausted() {
        let message = format!("the query looks at more than {} statements: name more in its patterns, or ask fewer files", bounds.looks);
        return Err(QueryError { kind: QueryErrorKind::Evaluation, message });
    }
    answer
}

fn parse(text: &str) -> Result<Query, QueryError> {
    let fault = match SparqlParser::new().parse_query(text) {
        Ok(query) => return Ok(query),
        Err(fault) => fault.to_string(),
    };
    if SparqlParser::new().parse_update(text).is_ok() {
        return Err(wrong("an update is refused: a query changes nothing; use rdf.insert"));
    }
    let fault: String = fault.chars().take(400).collect();
    Err(wrong(format!("the query can't be read: {fault}")))
}

/// The variables of the outermost projection, in its order.
fn projected(pattern: &GraphPattern) -> Vec<String> {
    match pattern {
        GraphPattern::Project { variables, .. } => variables.iter().map(|v| Variable::as_str(v).to_owned()).collect(),
        GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } | GraphPattern::Slice { inner, .. } => projected(inner),
        _ => Vec::new(),
    }
}

fn is_ordered(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::OrderBy { .. } => true,
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => is_ordered(inner),
        _ => false,
    }
}

/// The engine groups in a hash table: without a full order its rows would come in another one each time, and a LIMIT would cut others off.
fn settle_order(pattern: &mut GraphPattern, vars: &[String]) {
    let by = |vars: &[String]| -> Vec<OrderExpression> {
        let text = |v: &String| Expression::FunctionCall(Function::Str, vec![Expression::Variable(Variable::new_unchecked(v.clone()))]);
        vars.iter().map(|v| OrderExpression::Asc(text(v))).collect()
    };
    match pattern {
        GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } | GraphPattern::Slice { inner, .. } => settle_order(inner, vars),
        GraphPattern::Project { inner, .. } => {
            if let GraphPattern::OrderBy { expression, .. } = inner.as_mut() {
                expression.extend(by(vars));
            } else if groups(inner) {
                let grouped = std::mem::replace(inner.as_mut(), GraphPattern::Bgp { patterns: Vec::new() });
                **inner = GraphPattern::OrderBy { inner: Box::new(grouped), expression: by(vars) };
            }
        }
        _ => {}
    }
}

fn groups(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Group { .. } => true,
        GraphPattern::Extend { inner, .. } | GraphPattern::Filter { inner, .. } => groups(inner),
        _ => false,
    }
}

fn truth(statements: &Statements, query: Query) -> Result<Answer, QueryError> {
    let result = SparqlWrapper(statements).query(&SparqlQuery::from(query)).map_err(|fault| failed(&fault))?;
    match result {
        sophia::api::sparql::SparqlResult::Boolean(truth) => Ok(Answer::Truth(truth)),
        _ => Err(failed(&"an answer of another kind came back")),
    }
}

fn rows(statements: &Statements, query: Query, vars: &[String], values: &Values, ordered: bool, max: usize) -> Result<Answer, QueryError> {
    let query = SparqlQuery::from(query);
    let result = SparqlWrapper(statements).query(&query).map_err(|fault| failed(&fault))?;
    let sophia::api::sparql::SparqlResult::Bindings(found) = result else {
        return Err(failed(&"an answer of another kind came back"));
    };
    let names: Vec<String> = found.variables().into_iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut truncated = false;
    for row in found {
        let row = row.map_err(|fault| failed(&fault))?;
        if rows.len() == max {
            truncated = true;
            break;
        }
        rows.push(vars.iter().map(|var| cell(var, &names, &row, values)).collect::<Vec<_>>());
    }
    if !ordered {
        rows.sort();
    }
    Ok(Answer::Rows { vars: vars.to_vec(), rows, truncated })
}

fn cell(var: &str, names: &[String], row: &[Option<ResultTerm>], values: &Values) -> Option<String> {
    let found = names.iter().position(|name| name == var).and_then(|at| row.get(at)?.as_ref()).map(text);
    let text = found.or_else(|| {
        values.get(var).map(|value| match value {
            GroundTerm::NamedNode(iri) => iri.as_str().to_owned(),
            GroundTerm::Literal(literal) => literal.value().to_owned(),
            GroundTerm::Triple(triple) => triple.to_string(),
        })
    })?;
    Some(text.chars().take(VALUE_CHARS).collect())
}

fn text(term: &ResultTerm) -> String {
    if let Some(iri) = term.iri() {
        return iri.as_str().to_owned();
    }
    if let Some(text) = term.lexical_form() {
        return text.to_string();
    }
    term.bnode_id().map_or_else(|| term.to_string(), |label| format!("_:{}", label.as_str()))
}

fn failed(fault: &dyn std::fmt::Display) -> QueryError {
    QueryError { kind: QueryErrorKind::Evaluation, message: format!("the query could not be answered: {fault}") }
}
