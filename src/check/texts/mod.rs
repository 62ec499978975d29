//! Every expression and template of the document and of its prompt files against what is in scope where it is evaluated.
//!
//! # RSF930 name that is not in scope
//! The text uses a name that does not exist at that place: a slip, a local name that no earlier operation binds, or one that only other places have (`error` in `recover`, `value` in a flow's `when`, `item` in `for` and `each`). Evaluating it
//! would fail. A name tested with `is defined` or given a `default` may be missing.
//! # RSF931 field that does not exist
//! A value has no such field: its schema, its decision table, its tool or its literal lists all there are, or one that differs by a single letter.
//! # RSF932 operation that does not fit
//! Values of these types have no order, or cannot be reckoned with together: a text with a number, a list with a text.
//! # RSF933 comparison that is never true (warning)
//! Values of different types are never equal.
//! # RSF935 rendered file that does not exist
//! `render` names a file that is not among the bundle's prompts.

mod infer;
mod places;
mod programs;
mod ty;

use super::{BundleFile, Context, shown};
use crate::base::{FileId, Problem, Severity, Span};
use crate::rule::grammar::{parse_expression, parse_template};
use infer::{Infer, Names, Reading};
use serde_json::Value;
use std::collections::BTreeSet;
use ty::Ty;

/// Files rendered by files are followed so deep.
const RENDERS: usize = 6;

pub(super) fn check(context: &mut Context<'_>) {
    let before = places::before(context);
    let common = places::common(context, &before);
    let mut texts = Texts { context, before, common, problems: Vec::new(), said: BTreeSet::new() };
    places::check(&mut texts);
    let problems = texts.problems;
    context.problems.extend(problems);
}

/// What all parts of this look share.
struct Texts<'c, 'a> {
    context: &'c Context<'a>,
    /// What stands before a run exists.
    before: Names,
    /// What every cell and program sees.
    common: Names,
    problems: Vec<Problem>,
    /// A prompt file that is used by many is told of once per place in it.
    said: BTreeSet<(FileId, u32, String)>,
}

/// Where a text stands.
enum Place<'p> {
    /// JSON pointer into the document.
    At(&'p str),
    /// A file of the bundle.
    File(&'p BundleFile),
}

impl<'a> Texts<'_, 'a> {
    fn span(&self, place: &Place<'_>, at: Option<(usize, usize)>) -> (FileId, Span) {
        match place {
            Place::File(file) => (file.id, at.map_or(Span::new(0, 0), |(start, end)| Span::new(start, end))),
            Place::At(pointer) => {
                let node = self.context.node(pointer);
                let span = node.map_or_else(
                    || self.context.place(pointer),
                    |node| match at {
                        Some((start, end)) if node.as_str().is_some() => node.inner_span(start, end),
                        _ => node.head_span(),
                    },
                );
                (self.context.file, span)
            }
        }
    }

    fn say(
        &mut self,
        place: &Place<'_>,
        at: Option<(usize, usize)>,
        code: &'static str,
        severity: Severity,
        message: String,
        help: String,
    ) {
        let (file, span) = self.span(place, at);
        if self.said.insert((file, span.start, message.clone())) {
            let problem = Problem::of(code, severity, message).at(file, span, "");
            self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
        }
    }

    fn read(&mut self, place: &Place<'_>, reading: Reading, names: &Names, depth: usize) {
        for fault in reading.faults {
            self.say(place, Some(fault.at), fault.code, fault.severity, fault.message, fault.help);
        }
        for (path, at) in reading.renders {
            match self.context.files.get(&path) {
                Some(file) if path.starts_with("prompts/") => self.file(file, names, depth + 1),
                _ => {
                    let help = self.context.hint(&path, self.context.files.keys().map(String::as_str)).unwrap_or_default();
                    self.say(
                        place,
                        Some(at),
                        "RSF935",
                        Severity::Error,
                        format!("there is no file `{}` among the prompts", shown(&path)),
                        help,
                    );
                }
            }
        }
    }

    /// A bare expression of the document; gives its type.
    fn expression(&mut self, pointer: &str, source: &str, names: &Names) -> Ty {
        let place = Place::At(pointer);
        // What does not compile has a finding of its own (sealing).
        let Ok(tree) = parse_expression(source) else { return Ty::Any };
        let mut infer = Infer::new(names);
        let ty = infer.expression(&tree);
        let reading = infer.reading;
        self.read(&place, reading, names, 0);
        ty
    }

    /// A condition of the document.
    fn condition(&mut self, pointer: &str, source: &str, names: &Names) {
        let ty = self.expression(pointer, source, names);
        if ty.kinds().is_some_and(|kinds| kinds & 2 == 0) {
            let message = format!("a condition gives true or false, but this one gives {}", ty.name());
            self.say(&Place::At(pointer), None, "RSF932", Severity::Error, message, "compare it with something".to_owned());
        }
    }

    /// A template of the document.
    fn text(&mut self, pointer: &str, source: &str, names: &Names) {
        if !["{{", "{%", "{#"].iter().any(|start| source.contains(start)) {
            return;
        }
        let place = Place::At(pointer);
        let Ok(tree) = parse_template(source) else { return };
        let mut infer = Infer::new(names);
        infer.template(&tree);
        let reading = infer.reading;
        self.read(&place, reading, names, 0);
    }

    /// A prompt file as it is rendered with `names`.
    fn file(&mut self, file: &BundleFile, names: &Names, depth: usize) {
        let Ok(tree) = parse_template(&file.text) else { return };
        if depth > RENDERS {
            return;
        }
        let mut infer = Infer::new(names);
        infer.template(&tree);
        let reading = infer.reading;
        self.read(&Place::File(file), reading, names, depth);
    }

    /// Every leaf text of a JSON value; gives the value's type where it is one of expressions.
    fn tree(&mut self, pointer: &str, value: &Value, names: &Names, expressions: bool) -> Ty {
        match value {
            Value::String(source) if expressions => self.expression(pointer, source, names),
            Value::String(source) => {
                self.text(pointer, source, names);
                if source.contains("{{") || source.contains("{%") { Ty::Any } else { Ty::Text }
            }
            Value::Array(items) => {
                let types: Vec<Ty> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.tree(&format!("{pointer}/{index}"), item, names, expressions))
                    .collect();
                Ty::list(Ty::either(types))
            }
            Value::Object(map) => {
                let mut fields = Vec::new();
                for (key, item) in map {
                    let mut inner = pointer.to_owned();
                    crate::syntax::push_segment(&mut inner, key);
                    fields.push((key.clone(), self.tree(&inner, item, names, expressions)));
                }
                Ty::closed(fields)
            }
            other => Ty::of_value(other, 0),
        }
    }
}
