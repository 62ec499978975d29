//! `syntax.query`: a tree-sitter query over source files.
//!
//! Beside tree-sitter's own predicates (`#eq?`, `#match?`, `#any-of?` …) two ask about what lies within a captured node:
//! `(#has? @node "kind" "regex"?)` and `(#lacks? @node "kind" "regex"?)`: some descendant, or none, is of the kind and its text matches.
//! A predicate that nobody knows is an error, never skipped.

use super::Desk;
use super::given::{count, failed, globs, text, wrong};
use crate::knowledge::python;
use crate::model::tool::{ToolError, ToolErrorKind};
use regex::Regex;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use streaming_iterator::StreamingIterator;
use tree_sitter::{Language, Node, Query, QueryCursor, QueryCursorOptions, QueryMatch, QueryPredicateArg};

/// Longest query, in bytes.
const QUERY_BYTES: usize = 16 * 1024;
/// Most matches.
const MATCHES: usize = 1000;
/// Most files.
const FILES: usize = 5000;
/// Longest text of one capture, in characters.
const CAPTURE_CHARS: usize = 400;
/// Matches in progress that the engine may keep.
const IN_PROGRESS: u32 = 4096;
/// Calls of the engine's progress hook before a file is given up (it calls about every hundred steps).
const TICKS: u32 = 500_000;
/// Nodes that one predicate looks at.
const LOOKED: usize = 200_000;

/// Runs the tool.
///
/// # Errors
/// A language that is not known, a query that does not compile, globs that do not parse.
pub fn run(desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let language = language(text(args, "language")?)?;
    let compiled = Compiled::new(&language, text(args, "query")?)?;
    let globs = globs(args, "files")?.ok_or_else(|| wrong("`files` is missing: give a list of globs"))?;
    let max = count(args, "max", 200, MATCHES)?;
    let mut found = Found { matches: Vec::new(), max, truncated: false, notes: Vec::new() };
    let files = desk.files(&globs)?;
    if files.len() > FILES {
        return Err(failed(format!("{} files match; at most {FILES} are searched: narrow `files`", files.len())));
    }
    for path in files {
        if found.truncated {
            break;
        }
        match desk.read(&path) {
            Ok(Some(bytes)) => found.search(&path, &String::from_utf8_lossy(&bytes), &compiled),
            Ok(None) => {}
            Err(fault) if fault.kind == ToolErrorKind::Failed => {
                found.notes.push(format!("{} is left out: {}", path.escape_debug(), fault.message))
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(json!({ "matches": found.matches, "truncated": found.truncated, "notes": found.notes }))
}

fn language(name: &str) -> Result<Language, ToolError> {
    match name.to_lowercase().as_str() {
        "python" | "py" => Ok(tree_sitter_python::LANGUAGE.into()),
        _ => Err(wrong(format!("no language `{}` is known; known: python", name.escape_debug()))),
    }
}

/// A `#has?` or `#lacks?`.
struct Within {
    capture: u32,
    kind: String,
    regex: Option<Regex>,
    wanted: bool,
}

struct Compiled {
    query: Query,
    within: Vec<Vec<Within>>,
}

impl Compiled {
    fn new(language: &Language, source: &str) -> Result<Self, ToolError> {
        if source.len() > QUERY_BYTES {
            return Err(wrong(format!("the query has {} bytes; at most {QUERY_BYTES} are read", source.len())));
        }
        let query = Query::new(language, source).map_err(|fault| {
            let kind = format!("{:?}", fault.kind).to_lowercase();
            let message: String = fault.message.lines().next().unwrap_or_default().chars().take(200).collect();
            wrong(format!("the query is wrong at {}:{}: {kind}: {}", fault.row + 1, fault.column + 1, message.trim()))
        })?;
        let within = (0..query.pattern_count())
            .map(|pattern| {
                if let Some(property) = query.property_settings(pattern).first() {
                    return Err(wrong(format!("`#set!` ({}) has no meaning here", property.key.escape_debug())));
                }
                query.general_predicates(pattern).iter().map(|p| within(&p.operator, &p.args, language)).collect()
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { query, within })
    }
}

fn within(operator: &str, args: &[QueryPredicateArg], language: &Language) -> Result<Within, ToolError> {
    let wanted = match operator {
        "has?" => true,
        "lacks?" => false,
        other => {
            return Err(wrong(format!(
                "the predicate `#{}` is not known; known beside tree-sitter's own: #has?, #lacks?",
                other.escape_debug()
            )));
        }
    };
    let (capture, kind, regex) = match args {
        [QueryPredicateArg::Capture(capture), QueryPredicateArg::String(kind)] => (*capture, kind, None),
        [QueryPredicateArg::Capture(capture), QueryPredicateArg::String(kind), QueryPredicateArg::String(regex)] => {
            (*capture, kind, Some(regex))
        }
        _ => return Err(wrong(format!("`#{operator}` takes a capture, a kind of node, and perhaps a regex"))),
    };
    if language.id_for_node_kind(kind, true) == 0 {
        return Err(wrong(format!("`#{operator}`: no node is of the kind `{}`", kind.escape_debug())));
    }
    let regex = regex.map(|r| Regex::new(r).map_err(|fault| wrong(format!("`#{operator}`: {fault}")))).transpose()?;
    Ok(Within { capture, kind: kind.to_string(), regex, wanted })
}

struct Found {
    matches: Vec<Value>,
    max: usize,
    truncated: bool,
    notes: Vec<String>,
}

impl Found {
    fn search(&mut self, path: &str, text: &str, compiled: &Compiled) {
        let Some(tree) = python::parse(text) else {
            self.notes.push(format!("{} is too large to be parsed", path.escape_debug()));
            return;
        };
        if tree.root_node().has_error() {
            self.notes.push(format!("{} has faults of syntax", path.escape_debug()));
        }
        let mut ticks = 0;
        let mut progress = |_: &tree_sitter::QueryCursorState| {
            ticks += 1;
            if ticks > TICKS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(IN_PROGRESS);
        let mut matches = cursor.matches_with_options(&compiled.query, tree.root_node(), text.as_bytes(), options);
        while let Some(one) = matches.next() {
            let demands = compiled.within.get(one.pattern_index).map(Vec::as_slice).unwrap_or_default();
            if !demands.iter().all(|demand| demand.holds(one, text)) {
                continue;
            }
            if self.matches.len() >= self.max {
                self.truncated = true;
                break;
            }
            self.matches.push(shown(path, one, &compiled.query, text));
        }
        drop(matches);
        if cursor.did_exceed_match_limit() || ticks > TICKS {
            self.notes.push(format!("{} was not searched to its end: make the query narrower", path.escape_debug()));
        }
    }
}

impl Within {
    fn holds(&self, one: &QueryMatch<'_, '_>, text: &str) -> bool {
        one.nodes_for_capture_index(self.capture).all(|node| self.found(node, text) == self.wanted)
    }

    fn found(&self, node: Node<'_>, text: &str) -> bool {
        let mut cursor = node.walk();
        let mut open: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut looked = 0;
        while let Some(next) = open.pop() {
            looked += 1;
            let matches = |regex: &Regex| regex.is_match(text.get(next.byte_range()).unwrap_or_default());
            if next.kind() == self.kind && self.regex.as_ref().is_none_or(matches) {
                return true;
            }
            if looked > LOOKED {
                return false;
            }
            open.extend(next.children(&mut cursor));
        }
        false
    }
}

fn shown(path: &str, one: &QueryMatch<'_, '_>, query: &Query, text: &str) -> Value {
    let mut captures = Map::new();
    let (mut first, mut last) = (usize::MAX, 0);
    for capture in one.captures() {
        let node = capture.node;
        first = first.min(node.start_position().row + 1);
        last = last.max(node.end_position().row + 1);
        let name = usize::try_from(capture.index).ok().and_then(|at| query.capture_names().get(at).copied()).unwrap_or_default();
        let words: String = text.get(node.byte_range()).unwrap_or_default().chars().take(CAPTURE_CHARS).collect();
        captures.entry(name.to_owned()).or_insert(Value::String(words));
    }
    if first == usize::MAX {
        (first, last) = (0, 0);
    }
    json!({ "path": path, "line": first, "end_line": last, "captures": captures })
}
