//! Checks of a decoded document: ordered passes, one per file, each file's doc being the manual of its findings. Nothing stops at the first fault.
//!
//! Pure: the files a document names come in as a map. Findings leave in document order.

mod annotations;
mod data;
mod emission;
mod execution;
mod files;
mod flows;
mod manual;
mod names;
mod net;
mod operations;
pub mod plan;
mod proof;
mod references;
mod rights;
mod sealing;
mod table;
mod tables;
mod texts;
mod typing;
mod worst;

use crate::base::{FileId, Problem, Severity, Span, closest, fold_hint};
use crate::model::{Cell, Workflow};
use crate::syntax::{Node, Tree};
use net::Net;
use std::cell::Cell as Mutable;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use execution::silent_cells;
pub use manual::{codes, explain};
pub use table::check_table;
pub use worst::{Worst, WorstCell, worst_case, worst_table};

/// A file that stands beside the document.
#[derive(Clone, Debug)]
pub struct BundleFile {
    /// Where findings point to.
    pub id: FileId,
    /// Its text.
    pub text: Arc<str>,
}

/// Everything wrong with a decoded document that one look at it decides. `files` are the bundle's files by path, `tools` the names of the tools.
#[must_use]
pub fn check(tree: &Tree, workflow: &Workflow, files: &BTreeMap<String, BundleFile>, tools: &[&str]) -> Vec<Problem> {
    let passes: [Pass; 12] = [
        names::check,
        references::check,
        typing::check,
        names::check_types,
        flows::check,
        annotations::check,
        data::check,
        execution::check,
        operations::check,
        files::check,
        sealing::check,
        tables::check,
    ];
    run(tree, workflow, files, tools, &[], &passes)
}

/// Everything wrong with what a document does (docs/proof.md). Only asked of a document in which nothing else is wrong; `found` are the
/// findings so far, so that nothing is said twice.
#[must_use]
pub fn prove(tree: &Tree, workflow: &Workflow, files: &BTreeMap<String, BundleFile>, tools: &[&str], found: &[Problem]) -> Vec<Problem> {
    if found.iter().any(|problem| problem.severity == Severity::Error) {
        return Vec::new();
    }
    run(tree, workflow, files, tools, found, &[proof::check, texts::check, emission::check, rights::check])
}

type Pass = fn(&mut Context<'_>);

fn run(
    tree: &Tree,
    workflow: &Workflow,
    files: &BTreeMap<String, BundleFile>,
    tools: &[&str],
    found: &[Problem],
    passes: &[Pass],
) -> Vec<Problem> {
    let Some(root) = &tree.root else { return Vec::new() };
    let net = Net::new(root, workflow);
    let budget = Mutable::new(200_000);
    let mut context = Context { root, file: tree.file, workflow, net, files, tools, budget, found, problems: Vec::new() };
    for pass in passes {
        pass(&mut context);
    }
    let mut problems = context.problems;
    problems.sort_by_key(|problem| problem.labels.first().map_or((FileId(0), 0), |label| (label.file, label.span.start)));
    problems
}

/// What every pass is given.
struct Context<'a> {
    root: &'a Node,
    file: FileId,
    workflow: &'a Workflow,
    net: Net<'a>,
    files: &'a BTreeMap<String, BundleFile>,
    tools: &'a [&'a str],
    /// Comparisons of names left for hints: hints must not make a large document slow.
    budget: Mutable<usize>,
    /// Findings of earlier looks.
    found: &'a [Problem],
    problems: Vec<Problem>,
}

impl<'a> Context<'a> {
    /// Reports a finding at `span`.
    fn report(&mut self, severity: Severity, code: &'static str, span: Span, message: String, help: impl Into<String>) {
        let help = help.into();
        let problem = Problem::of(code, severity, message).at(self.file, span, "");
        self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
    }

    fn error(&mut self, code: &'static str, span: Span, message: String, help: impl Into<String>) {
        self.report(Severity::Error, code, span, message, help);
    }

    fn warning(&mut self, code: &'static str, span: Span, message: String, help: impl Into<String>) {
        self.report(Severity::Warning, code, span, message, help);
    }

    fn note(&mut self, code: &'static str, span: Span, message: String, help: impl Into<String>) {
        self.report(Severity::Note, code, span, message, help);
    }

    /// The value at a pointer.
    fn node(&self, pointer: &str) -> Option<&'a Node> {
        let mut node = self.root;
        for segment in crate::syntax::pointer_segments(pointer) {
            node = match segment.parse::<usize>() {
                Ok(index) if !node.items().is_empty() => node.items().get(index)?,
                _ => node.get(&segment)?,
            };
        }
        Some(node)
    }

    /// A short place for the value at a pointer.
    fn place(&self, pointer: &str) -> Span {
        self.node(pointer).map_or_else(|| self.root.head_span(), Node::head_span)
    }

    /// A short place for `key` of the value at a pointer, else for the value.
    fn place_of(&self, pointer: &str, key: &str) -> Span {
        let node = self.node(pointer);
        node.and_then(|node| node.get(key)).or(node).map_or_else(|| self.root.head_span(), Node::head_span)
    }

    /// What the unknown `name` was probably meant to be: a look-alike with code points, else the nearest name.
    fn hint<'n>(&self, name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<String> {
        let left = self.budget.get();
        let candidates: Vec<&str> = candidates.into_iter().take(left.min(500)).collect();
        self.budget.set(left - candidates.len().min(left));
        let twin = candidates.iter().find_map(|candidate| fold_hint(name, candidate));
        twin.or_else(|| closest(name, candidates).map(|near| format!("did you mean `{}`?", shown(near))))
    }

    /// True when the document says what any of its cells does.
    fn runs(&self) -> bool {
        self.workflow.steps.iter().flat_map(|step| &step.cells).any(|cell| cell.run.is_some())
    }
}

/// `role@seq`.
fn cell_name(cell: &Cell) -> String {
    format!("{}@{}", shown(&cell.role), cell.seq)
}

/// A name for messages: short, escaped where a terminal would act on it.
fn shown(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(60) {
        let acts = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if acts {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
