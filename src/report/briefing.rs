//! The screen before a run: what was understood, what bounds it, and what each role may do. A person says yes or no to it.

use super::text::{clip, lines, one_line, width, wrap};
use super::view::plain;
use crate::model::{Access, Exec, Policy, Workflow};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const DESCRIPTION_LINES: usize = 6;
/// What is to be confirmed is shown whole; this bounds a text that is none for people.
const CONFIRM_LINES: usize = 200;
const VALUE_COLUMNS: usize = 160;
/// What fits on any terminal.
const COLUMNS: usize = 80;

/// What is known when a run is about to start.
#[derive(Clone, Copy, Debug)]
pub struct Briefing<'a> {
    /// The document.
    pub workflow: &'a Workflow,
    /// Parameters as they will be in force.
    pub params: &'a Map<String, Value>,
    /// Limits as they will be in force.
    pub limits: &'a Map<String, Value>,
    /// What the document's `accept` program wants confirmed, if anything.
    pub confirm: Option<&'a Value>,
    /// Role → name of its model, where one could be told beforehand.
    pub models: &'a BTreeMap<String, String>,
    /// Anything worth reading before saying yes, e.g. notes of the layers of settings.
    pub notes: &'a [String],
}

impl Briefing<'_> {
    /// The screen.
    #[must_use]
    pub fn text(&self) -> String {
        let description = lines(&self.workflow.description, DESCRIPTION_LINES);
        let mut out: Vec<String> = description.iter().flat_map(|line| wrap(line, "", "", COLUMNS)).collect();
        named("parameters", self.params, &mut out);
        named("limits", self.limits, &mut out);
        match self.confirm {
            Some(Value::Object(fields)) => named("understood as", fields, &mut out),
            Some(Value::String(text)) => {
                out.push("understood as:".to_owned());
                out.extend(
                    lines(text, CONFIRM_LINES)
                        .iter()
                        .flat_map(|line| wrap(line, "  ", "  ", COLUMNS))
                        .map(|line| line.trim_end().to_owned()),
                );
            }
            Some(value) => out.push(format!("understood as: {}", clip(&plain(value), VALUE_COLUMNS))),
            None => {}
        }
        self.roles(&mut out);
        out.extend(self.notes.iter().flat_map(|note| wrap(&one_line(note), "note: ", "      ", COLUMNS)));
        out.push(String::new());
        out.join("\n")
    }

    /// What each role may do, and where a cell may do less.
    fn roles(&self, out: &mut Vec<String>) {
        out.push("what each role may do (kept by the program):".to_owned());
        let wide = self.workflow.roles.iter().map(|role| width(&one_line(&role.id))).max().unwrap_or(0);
        for role in &self.workflow.roles {
            let id = one_line(&role.id);
            let policy = role.agent.as_ref().and_then(|agent| agent.permissions.as_ref());
            let model = self.models.get(&role.id).map(|model| format!("model {}; ", one_line(model))).unwrap_or_default();
            let may = policy.map_or_else(|| "nothing but think".to_owned(), permissions);
            let (first, rest) = (format!("  {id}{}  ", " ".repeat(wide - width(&id))), " ".repeat(wide + 4));
            out.extend(wrap(&format!("{model}{may}"), &first, &rest, COLUMNS));
            for cell in self.workflow.steps.iter().flat_map(|step| &step.cells).filter(|cell| cell.role == role.id) {
                if let Some(policy) = &cell.permissions {
                    let said = format!("in step {}: {}", cell.seq, permissions(policy));
                    out.extend(wrap(&said, &rest, &format!("{rest}  "), COLUMNS));
                }
            }
        }
    }
}

fn named(heading: &str, fields: &Map<String, Value>, out: &mut Vec<String>) {
    if fields.is_empty() {
        return;
    }
    out.push(format!("{heading}:"));
    out.extend(fields.iter().map(|(name, value)| format!("  {}: {}", one_line(name), clip(&plain(value), VALUE_COLUMNS))));
}

/// A policy in words. What it does not mention is left out: for a role that means no, for a cell what the role may.
fn permissions(policy: &Policy) -> String {
    let globs = |word: &str, globs: &Option<Vec<String>>| {
        globs.as_ref().map(|globs| {
            let list = if globs.is_empty() { "nothing".to_owned() } else { one_line(&globs.join(", ")) };
            format!("{word} {list}")
        })
    };
    let exec = policy.exec.map(|exec| match exec {
        Exec::No => "start no program",
        Exec::Isolated => "start programs in a checkout only",
        Exec::Yes => "start programs",
    });
    let access = |word: &str, access: Option<Access>| {
        access.map(|access| match access {
            Access::No => format!("no {word}"),
            Access::Read => format!("{word} reading"),
            Access::Write => format!("{word} writing"),
        })
    };
    let network = policy.network.map(|network| if network { "network" } else { "no network" });
    let parts = [
        globs("read", &policy.read),
        globs("write", &policy.write),
        exec.map(str::to_owned),
        network.map(str::to_owned),
        access("git", policy.git),
        access("rdf", policy.rdf),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing named".to_owned() } else { parts.join("; ") }
}
