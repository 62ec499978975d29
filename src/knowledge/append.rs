//! Adding statements to a Turtle file that may hold other people's: what stands there keeps its bytes.
//!
//! The new statements follow on a line of their own, so that they cannot fall into a comment. A short name is used only where the file
//! itself, read to its end, gives the prefix the same meaning, or knows no such prefix (then it is declared); otherwise the whole IRI stands
//! there. Blank nodes are written in place (`[ … ]`), so no label can meet another. The result is read again before it is handed
//! out. A file that is broken is never added to: what can be rescued goes into a new one, and the caller sets the old bytes aside.

use super::graph::{Graph, Statement};
use super::read::{ReadError, ReadErrorKind, read, rescue};
use super::write::{Prefixes, block, declarations, document, used};

/// What a file becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The new bytes, `None` when nothing changes.
    pub bytes: Option<Vec<u8>>,
    /// Statements that were not there before.
    pub added: usize,
    /// Why the old bytes must be set aside, with how many statements were rescued from them.
    pub broken: Option<(ReadError, usize)>,
}

/// Adds `statements` to the file `name` that holds `old` (`None`: there is no such file yet).
///
/// # Errors
/// The file is good Turtle, but not of a kind that is read here; or the result would not read back (a fault of this room).
pub fn append(name: &str, old: Option<&[u8]>, statements: &[Statement], prefixes: &Prefixes) -> Result<Appended, ReadError> {
    let old = old.unwrap_or_default();
    let (graph, fault) = rescue(name, old);
    match fault {
        Some(fault) if fault.kind == ReadErrorKind::Broken => {
            let fresh = fresh(&graph, statements);
            let text = document(&graph, &fresh, prefixes);
            verify(name, text.as_bytes(), &graph, &fresh)?;
            Ok(Appended { bytes: Some(text.into_bytes()), added: fresh.len(), broken: Some((fault, graph.len())) })
        }
        Some(fault) => Err(fault),
        None => add(name, old, &graph, statements, prefixes),
    }
}

fn add(name: &str, old: &[u8], graph: &Graph, statements: &[Statement], prefixes: &Prefixes) -> Result<Appended, ReadError> {
    let fresh = fresh(graph, statements);
    if fresh.is_empty() {
        return Ok(Appended { bytes: None, added: 0, broken: None });
    }
    let empty = old.iter().all(u8::is_ascii_whitespace);
    let mut bytes = if empty { Vec::new() } else { old.to_vec() };
    if empty {
        bytes.extend_from_slice(document(&Graph::default(), &fresh, prefixes).as_bytes());
    } else {
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let (usable, missing) = sort_prefixes(old, &fresh, prefixes);
        bytes.extend_from_slice(declarations(&usable, |prefix| missing.contains_key(prefix)).as_bytes());
        bytes.extend_from_slice(block(&fresh, &usable).as_bytes());
    }
    verify(name, &bytes, graph, &fresh)?;
    Ok(Appended { bytes: Some(bytes), added: fresh.len(), broken: None })
}

/// The statements that the graph does not hold, each once, sorted.
fn fresh(graph: &Graph, statements: &[Statement]) -> Vec<Statement> {
    let known = graph.known();
    let mut fresh: Vec<Statement> = statements.iter().filter(|statement| !known.holds(statement)).cloned().collect();
    fresh.sort();
    fresh.dedup();
    fresh
}

/// The prefixes that may be used behind `old` without changing what anything means, and those among them that must be declared.
fn sort_prefixes(old: &[u8], fresh: &[Statement], prefixes: &Prefixes) -> (Prefixes, Prefixes) {
    let mut usable = Prefixes::new();
    let mut missing = Prefixes::new();
    for prefix in used(fresh, prefixes) {
        let Some(wanted) = prefixes.get(&prefix) else { continue };
        match meaning(old, &prefix) {
            Some(there) if there == *wanted => {
                usable.insert(prefix, wanted.clone());
            }
            Some(_) => {}
            None => {
                usable.insert(prefix.clone(), wanted.clone());
                missing.insert(prefix, wanted.clone());
            }
        }
    }
    (usable, missing)
}

/// What a prefix means at the end of a document, found by asking a reader instead of by searching its text.
fn meaning(old: &[u8], prefix: &str) -> Option<String> {
    const PROBE: &str = "urn:rsf:probe";
    let mut probed = old.to_vec();
    probed.extend_from_slice(format!("\n<{PROBE}> <{PROBE}> {prefix}:end .\n").as_bytes());
    let graph = read("", &probed).ok()?;
    graph.iter().find(|t| t.predicate == PROBE).and_then(|t| match &t.object {
        super::Node::Iri(iri) => iri.strip_suffix("end").map(str::to_owned),
        _ => None,
    })
}

/// The new text must hold everything that was there and every new statement.
fn verify(name: &str, bytes: &[u8], before: &Graph, fresh: &[Statement]) -> Result<(), ReadError> {
    let after = read(name, bytes)?;
    let known = after.known();
    // A rewritten file may count its blank nodes anew; then the number of statements speaks for them.
    let kept = before.iter().filter(|t| !has_blank(t)).all(|t| known.has(t)) && after.len() >= before.len();
    if kept && fresh.iter().all(|statement| known.holds(statement)) {
        return Ok(());
    }
    Err(ReadError {
        kind: ReadErrorKind::Unsupported,
        message: format!("{name}: statements would be lost by writing it; nothing was written"),
    })
}

fn has_blank(triple: &super::Triple) -> bool {
    matches!(triple.subject, super::Node::Blank(_)) || matches!(triple.object, super::Node::Blank(_))
}
