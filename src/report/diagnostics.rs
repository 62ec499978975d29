//! Findings as text for people (with the place in the source) and as JSON for tools. Never prints; never shows a character a terminal would act on.

use crate::base::{FileId, Label, Problem, Severity, SourceFile, Sources, limits};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Bytes of a line shown on each side of a place.
const WINDOW: usize = 90;
/// Longest piece that is underlined, in bytes.
const UNDERLINED: usize = 70;

/// Numbers of findings by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

impl Tally {
    /// Counts.
    #[must_use]
    pub fn of(problems: &[Problem]) -> Self {
        let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
        Self { errors: count(Severity::Error), warnings: count(Severity::Warning), notes: count(Severity::Note) }
    }

    /// True when a document with these findings is refused.
    #[must_use]
    pub fn rejects(self, strict: bool) -> bool {
        self.errors > 0 || (strict && self.warnings > 0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (count, name) in [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")] {
            if count > 0 {
                parts.push(format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
            }
        }
        f.write_str(&if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") })
    }
}

/// The findings as text: each with its place, at most [`limits::PRINTED_PROBLEMS`] of them, the weightiest ones if there are more.
#[must_use]
pub fn text(problems: &[Problem], sources: &Sources, colour: bool) -> String {
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_width(110).with_context_lines(1).with_links(false).without_syntax_highlighting();
    let screens = Screens::new(problems, sources);
    let mut out = String::new();
    for problem in printed(problems) {
        let rendered = handler.render_report(&mut out, &Finding::new(problem, &screens));
        if rendered.is_err() {
            // The frame could not be drawn; the words must not be lost.
            let _ = writeln!(out, "{}: {}", problem.code, problem.message);
        }
        out.push('\n');
    }
    let hidden = problems.len().saturating_sub(limits::PRINTED_PROBLEMS);
    if hidden > 0 {
        let _ = writeln!(out, "… and {hidden} more findings that are not printed\n");
    }
    out
}

fn printed(problems: &[Problem]) -> Vec<&Problem> {
    let mut order: Vec<(Severity, usize)> = problems.iter().enumerate().map(|(index, problem)| (problem.severity, index)).collect();
    order.sort_unstable();
    let mut chosen: Vec<usize> = order.into_iter().take(limits::PRINTED_PROBLEMS).map(|(_, index)| index).collect();
    chosen.sort_unstable();
    chosen.into_iter().filter_map(|index| problems.get(index)).collect()
}

/// The findings as JSON values; `pointer` gives the JSON pointer of a place, where it has one.
#[must_use]
pub fn json(problems: &[Problem], sources: &Sources, pointer: &dyn Fn(&Label) -> Option<String>) -> Vec<Value> {
    problems.iter().map(|problem| one_json(problem, sources, pointer)).collect()
}

fn one_json(problem: &Problem, sources: &Sources, pointer: &dyn Fn(&Label) -> Option<String>) -> Value {
    let mut value = json!({ "code": problem.code, "severity": severity_name(problem.severity), "message": problem.message });
    let related: Vec<Value> = problem.labels.iter().skip(1).map(|label| place_json(label, sources)).collect();
    if let (Some(object), Some(label)) = (value.as_object_mut(), problem.labels.first()) {
        if let Value::Object(place) = place_json(label, sources) {
            object.extend(place.into_iter().filter(|(key, _)| key != "message"));
        }
        if let Some(pointer) = pointer(label) {
            object.insert("pointer".to_owned(), Value::String(pointer));
        }
        object.insert("help".to_owned(), problem.help.clone().map_or(Value::Null, Value::String));
        object.insert("related".to_owned(), Value::Array(related));
    }
    value
}

fn place_json(label: &Label, sources: &Sources) -> Value {
    let Some(file) = sources.file(label.file) else { return json!({ "message": label.text }) };
    let (line, column) = file.position(label.span.start);
    let (end_line, end_column) = file.position(label.span.end);
    json!({ "file": file.name, "line": line, "column": column, "endLine": end_line, "endColumn": end_column, "message": label.text })
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The sources as they may be shown: what a terminal acts on is replaced byte for byte, so that offsets stay.
struct Screens<'a> {
    sources: &'a Sources,
    texts: BTreeMap<FileId, Cow<'a, str>>,
}

impl<'a> Screens<'a> {
    fn new(problems: &[Problem], sources: &'a Sources) -> Self {
        let files = problems.iter().flat_map(|problem| &problem.labels).map(|label| label.file);
        let mut texts = BTreeMap::new();
        for id in files {
            if let Some(file) = sources.file(id) {
                texts.entry(id).or_insert_with(|| harmless(&file.text));
            }
        }
        Self { sources, texts }
    }
}

fn harmless(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (acts(c), c.len_utf8()) {
            (false, _) => out.push(c),
            (true, 3) => out.push('\u{fffd}'),
            (true, len) => out.extend(std::iter::repeat_n('?', len)),
        }
    }
    Cow::Owned(out)
}

/// A finding (or its part in one file) as miette wants it.
struct Finding<'a> {
    code: Option<&'a str>,
    severity: miette::Severity,
    message: Cow<'a, str>,
    help: Option<&'a str>,
    screen: Option<Screen<'a>>,
    labels: Vec<LabeledSpan>,
    elsewhere: Vec<Finding<'a>>,
}

impl<'a> Finding<'a> {
    fn new(problem: &'a Problem, screens: &'a Screens<'a>) -> Self {
        let severity = match problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        };
        let home = problem.labels.first().map(|label| label.file);
        let mut elsewhere: Vec<Finding<'a>> = Vec::new();
        for label in problem.labels.iter().filter(|label| Some(label.file) != home) {
            let message = Cow::Borrowed(if label.text.is_empty() { "here" } else { label.text.as_str() });
            let screen = Screen::new(label.file, screens);
            let labels = label_spans(std::iter::once(label), screens);
            let severity = miette::Severity::Advice;
            elsewhere.push(Finding { code: None, severity, message, help: None, screen, labels, elsewhere: Vec::new() });
        }
        let labels = label_spans(problem.labels.iter().filter(|label| Some(label.file) == home), screens);
        let screen = home.and_then(|id| Screen::new(id, screens));
        let message = Cow::Borrowed(problem.message.as_str());
        Finding { code: Some(problem.code), severity, message, help: problem.help.as_deref(), screen, labels, elsewhere }
    }
}

/// Labels clipped to one line and a bearable length.
fn label_spans<'l>(labels: impl Iterator<Item = &'l Label>, screens: &Screens<'_>) -> Vec<LabeledSpan> {
    let mut spans = Vec::new();
    for (index, label) in labels.enumerate() {
        let text = screens.texts.get(&label.file).map(AsRef::as_ref).unwrap_or_default();
        let start = floor(text, label.span.start as usize);
        let wanted = floor(text, (label.span.end as usize).min(start + UNDERLINED)).max(start);
        let line = text.get(start..wanted).and_then(|piece| piece.find('\n')).map_or(wanted, |at| start + at);
        let caption = if label.text.is_empty() { "here".to_owned() } else { label.text.clone() };
        let span = SourceSpan::new(start.into(), line.max(start) - start);
        spans.push(if index == 0 {
            LabeledSpan::new_primary_with_span(Some(caption), span)
        } else {
            LabeledSpan::new_with_span(Some(caption), span)
        });
    }
    spans
}

impl fmt::Debug for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Finding<'_> {}

impl Diagnostic for Finding<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.code.map(|code| Box::new(code) as Box<dyn fmt::Display + 'b>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.help.map(|help| Box::new(help) as Box<dyn fmt::Display + 'b>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.screen.as_ref().map(|screen| screen as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }

    fn related<'b>(&'b self) -> Option<Box<dyn Iterator<Item = &'b dyn Diagnostic> + 'b>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(self.elsewhere.iter().map(|finding| finding as &dyn Diagnostic)))
    }
}

/// One file as miette reads it: a window around each place, so that a line of many megabytes is not printed.
struct Screen<'a> {
    file: &'a SourceFile,
    text: &'a str,
}

impl<'a> Screen<'a> {
    fn new(id: FileId, screens: &'a Screens<'a>) -> Option<Self> {
        Some(Self { file: screens.sources.file(id)?, text: screens.texts.get(&id)? })
    }
}

impl SourceCode for Screen<'_> {
    fn read_span<'b>(
        &'b self,
        span: &SourceSpan,
        context_before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'b> + 'b>, MietteError> {
        let (from, to) = (floor(self.text, span.offset()), floor(self.text, span.offset() + span.len()));
        if to - from > 4 * WINDOW {
            // Two places far apart: miette then shows them in two pieces.
            return Err(MietteError::OutOfBounds);
        }
        if context_before == 0 {
            // Asked for the place itself: its line and column stand in the heading.
            return Ok(self.contents(from, to));
        }
        let before = self.text.get(..from).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
        let after = self.text.get(to..).and_then(|text| text.find('\n')).map_or(self.text.len(), |at| to + at);
        let start = floor(self.text, before.max(from.saturating_sub(WINDOW)));
        let end = floor(self.text, after.min(to + WINDOW)).max(to);
        Ok(self.contents(start, end))
    }
}

impl Screen<'_> {
    fn contents<'b>(&'b self, start: usize, end: usize) -> Box<dyn SpanContents<'b> + 'b> {
        let data = self.text.get(start..end).unwrap_or_default();
        let offset = u32::try_from(start).unwrap_or(u32::MAX);
        let (line, column) = self.file.position(offset);
        let lines = data.matches('\n').count() + 1;
        let span = SourceSpan::new(start.into(), data.len());
        let name = self.file.name.escape_debug().to_string();
        Box::new(MietteSpanContents::new_named(name, data.as_bytes(), span, line - 1, column - 1, lines))
    }
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
