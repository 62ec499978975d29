//! A decision table in a file of its own: it compiles, what it covers, who wins, and what a governor asks of one.
//!
//! # RSF951 table that does not compile
//! A condition or result does not parse, uses what is no input of the table, two rows have one id, or the schema of an input is none.
//! # RSF952 gap (note)
//! There are inputs for which no row matches; the result is null there. That may be meant: a table that speaks now and then is silent else.
//! # RSF953 overlap
//! Several rows match the same inputs. Under `unique` that is an error, under `any` it is one where the results differ. Under `priority` and
//! `first` it is a note that says who wins, a warning where equal priorities leave it to the order of the rows.
//! # RSF954 row that never speaks (warning)
//! A row matches nothing that was tried, or another row always wins over it.
//! # RSF955 row that cannot be evaluated
//! For inputs that their schemas allow, a condition or a result gives an error. A condition that cannot be evaluated is never a row that does not match.
//! # RSF956 governor
//! A table with an input `turn` whose rows say `text` governs agents: its hit policy is `priority` or `first`, its inputs are among `turn`,
//! `task`, `task_id`, its rows are `{text, expect}`, its options are known, and the file it names as `constraint` is there.
//! # RSF957 table that was not tried (note)
//! For an input of this type no values can be made up, or there are too many combinations: what is said about gaps and overlaps is not all.

use super::{BundleFile, shown};
use crate::base::{FileId, Problem, Severity, Span};
use crate::governor::Governor;
use crate::model::{HitPolicy, Table};
use crate::rule::{CompiledTable, Cover, Engine, Limits, Overlap, TableError, Witness, cover};
use crate::syntax::{Node, Tree};
use serde_json::Value;
use std::collections::BTreeMap;

/// Notes about who wins, at most.
const SHOWN_OVERLAPS: usize = 12;
/// Steps of one evaluation while a table is tried.
const FUEL: u64 = 20_000;

/// Everything wrong with a decision table, and what it covers. `files` are the bundle's files by path.
#[must_use]
pub fn check_table(tree: &Tree, table: &Table, files: &BTreeMap<String, BundleFile>) -> Vec<Problem> {
    let Some(root) = &tree.root else { return Vec::new() };
    let mut report = Report { tree, root, file: tree.file, problems: Vec::new() };
    let mut engine = Engine::new(Limits { fuel: FUEL, ..Limits::default() });
    match CompiledTable::compile(table, &mut engine) {
        Ok(compiled) => {
            report.cover(table, &cover(&engine, table, &compiled));
            if governs(table) {
                report.governor(table, &mut engine, files);
            }
        }
        Err(faults) => faults.iter().for_each(|fault| report.fault("RSF951", fault)),
    }
    let mut problems = report.problems;
    problems.sort_by_key(|problem| problem.labels.first().map_or(0, |label| label.span.start));
    problems
}

/// A table with an input `turn` whose rows say `text`.
fn governs(table: &Table) -> bool {
    table.inputs.contains_key("turn") && table.rules.iter().any(|rule| rule.then.get("text").is_some())
}

struct Report<'a> {
    tree: &'a Tree,
    root: &'a Node,
    file: FileId,
    problems: Vec<Problem>,
}

impl Report<'_> {
    fn say(&mut self, severity: Severity, code: &'static str, span: Span, message: String, help: &str) {
        let problem = Problem::of(code, severity, message).at(self.file, span, "");
        self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
    }

    /// A short place for the value at a pointer, else for the nearest value around it.
    fn place(&self, pointer: &str) -> Span {
        let mut pointer = pointer;
        loop {
            if let Some(node) = self.tree.get(pointer) {
                return node.head_span();
            }
            match pointer.rfind('/') {
                Some(cut) => pointer = &pointer[..cut],
                None => return self.root.head_span(),
            }
        }
    }

    /// Where a row's part stands.
    fn row(&self, table: &Table, id: &str, part: &str) -> Span {
        let row = table.rules.iter().find(|rule| rule.id == id);
        row.map_or_else(|| self.root.head_span(), |rule| self.place(&format!("{}/{part}", rule.at)))
    }

    fn fault(&mut self, code: &'static str, fault: &TableError) {
        let help = fault.cause.as_ref().map_or(String::new(), |cause| format!("it is written: {}", shown(&cause.source)));
        self.say(Severity::Error, code, self.place(&fault.at), fault.message.clone(), &help);
    }

    fn cover(&mut self, table: &Table, cover: &Cover) {
        if !cover.untried.is_empty() {
            let names: Vec<String> = cover.untried.iter().map(|name| format!("`{}`", shown(name))).collect();
            let message = format!("gaps and overlaps were not looked for: no values can be made up for {}", names.join(", "));
            return self.say(Severity::Note, "RSF957", self.place("/inputs"), message, "give it a `type` of single values, or an `enum`");
        }
        for (error, at) in &cover.errors {
            let id = error.row.clone().unwrap_or_default();
            let span = self.row(table, &id, if error.message.starts_with("the result") { "then" } else { "when" });
            let message = format!("{}: {}", with(at), error.message);
            self.say(
                Severity::Error,
                "RSF955",
                span,
                message,
                "rule such inputs out in the schema, or ask for them in the condition first",
            );
        }
        if let (gaps, Some(at)) = &cover.gaps {
            let message = format!("no row matches {} ({gaps} of {} combinations tried)", with(at), cover.points);
            self.say(
                Severity::Note,
                "RSF952",
                self.place("/rules"),
                message,
                "the result is null there; a last row without `when` catches it",
            );
        }
        self.overlaps(table, cover);
        for id in &cover.silent {
            let message = format!("row `{}` matches none of {} combinations tried", shown(id), cover.points);
            self.say(Severity::Warning, "RSF954", self.row(table, id, "when"), message, "mend its condition, or remove the row");
        }
        for (id, winner, at) in &cover.beaten {
            let message = format!("row `{}` never wins: `{}` outranks it, for instance {}", shown(id), shown(winner), with(at));
            self.say(Severity::Warning, "RSF954", self.row(table, id, "when"), message, "raise its priority, or narrow the other row");
        }
        if !cover.complete {
            let message = format!("there are more combinations of inputs than the {} that were tried", cover.points);
            self.say(Severity::Note, "RSF957", self.place("/inputs"), message, "");
        }
    }

    fn overlaps(&mut self, table: &Table, cover: &Cover) {
        let mut told = 0;
        for overlap in &cover.overlaps {
            let [first, second, ..] = overlap.rows.as_slice() else { continue };
            let span = self.row(table, first, "when");
            let names = |rows: &[String]| rows.iter().map(|id| format!("`{}`", shown(id))).collect::<Vec<_>>().join(", ");
            let at = with(&overlap.at);
            match table.hit_policy {
                HitPolicy::Unique => {
                    let message = format!("rows {} match {at}, but the table is `unique`", names(&overlap.rows));
                    self.say(
                        Severity::Error,
                        "RSF953",
                        span,
                        message,
                        "make the conditions exclude each other, or choose another `hit_policy`",
                    );
                }
                HitPolicy::Any if !overlap.agree => {
                    let message = format!("rows {} match {at} with different results, but the table is `any`", names(&overlap.rows));
                    self.say(Severity::Error, "RSF953", span, message, "make the results agree, or the conditions exclude each other");
                }
                HitPolicy::Priority if tied(table, overlap) => {
                    let message = format!("rows `{}` and `{}` match {at} and have the same priority", shown(first), shown(second));
                    self.say(Severity::Warning, "RSF953", span, message, "the earlier row wins; give them different priorities");
                }
                HitPolicy::Priority | HitPolicy::First if told < SHOWN_OVERLAPS => {
                    told += 1;
                    let message = format!("`{}` wins over {} {at}", shown(first), names(overlap.rows.get(1..).unwrap_or_default()));
                    self.say(Severity::Note, "RSF953", span, message, "");
                }
                _ => {}
            }
        }
    }

    fn governor(&mut self, table: &Table, engine: &mut Engine, files: &BTreeMap<String, BundleFile>) {
        match Governor::compile(table, engine) {
            Ok(governor) => {
                let Some(path) = &governor.options.constraint else { return };
                if !(path.starts_with("prompts/") && (files.is_empty() || files.contains_key(path))) {
                    let message = format!("`constraint` names `{}`, which is no file under `prompts/` of the bundle", shown(path));
                    self.say(Severity::Error, "RSF956", self.place("/options/constraint"), message, "write the file, or remove the option");
                }
            }
            Err(faults) => faults.iter().for_each(|fault| self.fault("RSF956", fault)),
        }
    }
}

/// Whether the row that wins does so only because it stands first.
fn tied(table: &Table, overlap: &Overlap) -> bool {
    let priority = |id: &String| table.rules.iter().find(|rule| rule.id == *id).map(|rule| rule.priority);
    let [first, second, ..] = overlap.rows.as_slice() else { return false };
    priority(first) == priority(second)
}

/// `at turn = 70, task = "plan"`.
fn with(at: &Witness) -> String {
    let parts: Vec<String> = at.iter().map(|(name, value)| format!("{} = {}", shown(name), compact(value))).collect();
    if parts.is_empty() { "whatever the inputs".to_owned() } else { format!("at {}", parts.join(", ")) }
}

fn compact(value: &Value) -> String {
    shown(&value.to_string())
}
