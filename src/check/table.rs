//! A decision table in a file of its own, looked at by itself: who wins where several rows match, and what a governor asks of its table.
//!
//! # RSF958 who wins (note)
//! Under `priority` and `first` several rows match the inputs shown; the one named first speaks. That is what these policies are for; it is said for a
//! table that is validated by itself, so that its author sees it.
//! # RSF959 governor
//! A table that an agent names as `governor`, or that has an input `turn` and rows that say `text`: its hit policy is `priority` or `first`, its inputs
//! are among `turn`, `task`, `task_id`, its rows are `{text, expect}`, its options are known, and the file it names as `constraint` is there.

use super::tables::{Place, examine};
use super::{BundleFile, shown};
use crate::base::{Problem, Severity};
use crate::governor::Governor;
use crate::model::{HitPolicy, Table};
use crate::rule::{CompiledTable, Engine, Limits, winners};
use crate::syntax::Tree;
use std::collections::BTreeMap;

/// Notes about who wins, at most.
const SHOWN: usize = 12;
/// Steps of one evaluation while a table is tried.
const FUEL: u64 = 20_000;

/// Everything wrong with a decision table, and who wins in it. `files` are the bundle's files by path, where they are known.
#[must_use]
pub fn check_table(tree: &Tree, table: &Table, files: Option<&BTreeMap<String, BundleFile>>) -> Vec<Problem> {
    let Some(root) = &tree.root else { return Vec::new() };
    let place = Place { root, file: tree.file };
    let mut problems = examine(&place, table);
    let mut engine = Engine::new(Limits { fuel: FUEL, ..Limits::default() });
    if let Ok(compiled) = CompiledTable::compile(table, &mut engine) {
        if matches!(table.hit_policy, HitPolicy::Priority | HitPolicy::First) {
            for meeting in winners(&engine, table, &compiled, SHOWN) {
                let names: Vec<String> = meeting.rows.iter().map(|id| format!("`{}`", shown(id))).collect();
                let Some((first, others)) = names.split_first() else { continue };
                let row = table.rules.iter().position(|rule| meeting.rows.first() == Some(&rule.id)).unwrap_or_default();
                let message = format!("{first} wins over {} at {}", others.join(", "), super::tables::example(&meeting.at));
                problems.push(Problem::of("RSF958", Severity::Note, message).at(place.file, place.row(row, "when"), ""));
            }
        }
        if table.inputs.contains_key("turn") && table.rules.iter().any(|rule| rule.then.get("text").is_some()) {
            problems.extend(governor(&place, table, files));
        }
    }
    problems.sort_by_key(|problem| problem.labels.first().map_or(0, |label| label.span.start));
    problems
}

/// What a governor asks of a table that compiles.
pub(super) fn governor(place: &Place<'_>, table: &Table, files: Option<&BTreeMap<String, BundleFile>>) -> Vec<Problem> {
    let error = |pointer: &str, message: String, help: &str| {
        Problem::error("RSF959", message).at(place.file, place.node(pointer).head_span(), "").help(help)
    };
    match Governor::compile(table, &mut Engine::new(Limits::default())) {
        Ok(governor) => {
            let missing = |path: &&String| !path.starts_with("prompts/") || files.is_some_and(|files| !files.contains_key(*path));
            let path = governor.options.constraint.as_ref().filter(missing);
            let message = |path: &String| format!("`constraint` names `{}`, which is no file under `prompts/` of the bundle", shown(path));
            path.map(|path| error("/options/constraint", message(path), "write the file, or remove the option")).into_iter().collect()
        }
        Err(faults) => {
            let help = "docs/turn-cadence.md has the form of such a table";
            faults.into_iter().map(|fault| error(&fault.at, fault.message, help)).collect()
        }
    }
}
