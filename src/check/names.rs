//! Names that become file names, log lines and terminal output.
//!
//! # RSF801 empty name
//! A role, flow or type has an empty name.
//! # RSF802 control or direction character in a name
//! A name holds a control character, or one that turns the direction of text, so that it shows as something else than it is.
//! # RSF803 path separator in a name
//! A name holds `/` or `\`, or is `.` or `..`; it would lead out of the folder its files belong into.
//! # RSF804 look-alike names (warning)
//! Two names are equal but for the case of letters or for Unicode normalisation. They are two names here, but one file on many systems.
//! # RSF805 device name (warning)
//! A name such as `CON` or `nul` cannot be a file on Windows.

use super::{Context, shown};
use crate::base::{Problem, Severity, Span, fold_hint};
use crate::syntax::Node;
use std::collections::{BTreeMap, BTreeSet};
use unicode_normalization::UnicodeNormalization;

/// Names of devices on Windows, which no file may have, whatever its ending.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2", "lpt3", "lpt4",
    "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

pub(super) fn check(context: &mut Context<'_>) {
    let workflow = context.workflow;
    let roles: Vec<(&str, Span)> =
        workflow.roles.iter().map(|role| (role.id.as_str(), context.place(&format!("{}/id", role.at)))).collect();
    let flows: Vec<(&str, Span)> =
        workflow.flows.iter().map(|flow| (flow.id.as_str(), context.place(&format!("{}/id", flow.at)))).collect();
    for (what, names) in [("role", &roles), ("flow", &flows)] {
        for (name, span) in names {
            one(context, what, name, *span);
        }
        twins(context, what, names, false);
    }
    let mut seen = BTreeSet::new();
    for (name, span) in type_names(context) {
        if !name.is_empty() && seen.insert(name) {
            one(context, "type", name, span);
        }
    }
}

/// Twins among type names, as they are written. Spellings that differ in case usually are one ill-typed flow, which has been reported then.
pub(super) fn check_types(context: &mut Context<'_>) {
    let ill_typed = context.problems.iter().any(|problem| matches!(problem.code, "RSF403" | "RSF404"));
    let names = type_names(context);
    twins(context, "type", &names, ill_typed);
}

fn one(context: &mut Context<'_>, what: &str, name: &str, span: Span) {
    let bad = name
        .chars()
        .find(|c| c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    let shown_name = shown(name);
    if name.trim().is_empty() {
        context.error("RSF801", span, format!("the {what} has an empty name"), "give it a name");
    } else if let Some(bad) = bad {
        let message = format!("the {what} name `{shown_name}` holds the invisible character U+{:04X}", bad as u32);
        context.error("RSF802", span, message, "remove it");
    } else if name.contains(['/', '\\']) || name == "." || name == ".." {
        let message = format!("the {what} name `{shown_name}` is a path");
        context.error("RSF803", span, message, "names become parts of file names: use letters, digits, `-` and `_`");
    } else if DEVICES.contains(&name.split('.').next().unwrap_or_default().to_lowercase().as_str()) {
        let message = format!("the {what} name `{shown_name}` is the name of a device on Windows");
        context.warning("RSF805", span, message, "choose another name if files named after it are to be carried there");
    }
}

fn twins(context: &mut Context<'_>, what: &str, names: &[(&str, Span)], only_normal: bool) {
    let mut first: BTreeMap<String, (&str, Span)> = BTreeMap::new();
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for (name, span) in names {
        let normal: String = name.nfc().collect();
        let folded = if only_normal { normal.clone() } else { normal.to_lowercase() };
        let Some((other, place)) = first.get(&folded).copied() else {
            first.insert(folded, (name, *span));
            continue;
        };
        if other == *name || !reported.insert(name) {
            continue;
        }
        let how = if other.nfc().eq(name.nfc()) { "Unicode normalisation" } else { "the case of letters" };
        let message = format!("the {what} names `{}` and `{}` differ only in {how}", shown(other), shown(name));
        let problem = Problem::of("RSF804", Severity::Warning, message)
            .at(context.file, *span, "this one")
            .at(context.file, place, "and this one")
            .help(match fold_hint(name, other) {
                Some(hint) => format!("{hint}; they would share a file on many systems"),
                None => "they would share a file on many systems".to_owned(),
            });
        context.problems.push(problem);
    }
}

/// The type names of all entries of `in` and `out`, as they are written, without counts and variants.
fn type_names<'a>(context: &Context<'a>) -> Vec<(&'a str, Span)> {
    let mut names = Vec::new();
    for member in context.net.cells.iter().filter_map(|info| info.member) {
        for list in ["in", "out"].iter().filter_map(|key| member.value.get(key)) {
            for (entry, text) in list.items().iter().filter_map(|entry| Some((entry, entry.as_str()?))) {
                parts(entry, text, &mut names);
            }
        }
    }
    names
}

fn parts<'a>(entry: &Node, text: &'a str, names: &mut Vec<(&'a str, Span)>) {
    let mut at = 0;
    for part in text.split(['|', '｜']) {
        let name = part.split(['(', '（']).next().unwrap_or_default();
        let start = at + (name.len() - name.trim_start().len());
        names.push((name.trim(), entry.inner_span(start, start + name.trim().len())));
        let separator = text.get(at + part.len()..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        at += part.len() + separator;
    }
}
