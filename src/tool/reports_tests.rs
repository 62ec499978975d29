//! `reports.tests`: a JUnit XML report → counts and names. The counts come from the test cases, never from what the report says about itself.
//!
//! No report, an empty one or a torn one is a fact about the test run (`readable: false`), not a failure of this tool.

use super::Desk;
use super::given::{optional_text, wrong};
use crate::model::tool::ToolError;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

/// Largest report, in bytes.
const TEXT_BYTES: usize = 16 * 1024 * 1024;
/// Tests listed; all are counted. Those that did not pass are listed first when there are more.
const LISTED: usize = 5000;
/// Longest message, in characters.
const MESSAGE_CHARS: usize = 2000;
/// Longest name, in characters.
const NAME_CHARS: usize = 500;

/// Runs the tool.
///
/// # Errors
/// `text` is neither a text nor null, or far too large.
pub fn run(_desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let text = optional_text(args, "text")?.unwrap_or_default();
    if text.len() > TEXT_BYTES {
        return Err(wrong(format!("the report has {} bytes; at most {TEXT_BYTES} are read", text.len())));
    }
    if text.trim().is_empty() {
        return Ok(result(&Report::default(), Some("there is no report")));
    }
    match parse(text) {
        Ok(report) => Ok(result(&report, None)),
        Err(reason) => Ok(result(&Report::default(), Some(&reason))),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    #[default]
    Passed,
    Skipped,
    Error,
    Failed,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::Error => "error",
            Self::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Case {
    name: String,
    outcome: Outcome,
    message: Option<String>,
}

#[derive(Default)]
struct Report {
    cases: Vec<Case>,
    nameless: usize,
}

impl Report {
    /// A test that fails and whose clean-up breaks as well is reported twice in a row; it is one test.
    fn add(&mut self, case: Case) {
        if case.name.is_empty() {
            self.nameless += 1;
            return;
        }
        match self.cases.last_mut() {
            Some(last) if last.name == case.name && case.outcome == Outcome::Error => {
                if case.outcome > last.outcome {
                    *last = case;
                }
            }
            _ => self.cases.push(case),
        }
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

fn result(report: &Report, reason: Option<&str>) -> Value {
    let mut listed: Vec<&Case> = report.cases.iter().collect();
    if listed.len() > LISTED {
        listed.sort_by_key(|case| case.outcome == Outcome::Passed);
        listed.truncate(LISTED);
    }
    let tests: Vec<Value> =
        listed.iter().map(|case| json!({ "name": case.name, "outcome": case.outcome.word(), "message": case.message })).collect();
    let mut notes = Vec::new();
    if report.nameless > 0 {
        notes.push(format!("{} test cases without a name are not counted: the test run may have been cut short", report.nameless));
    }
    json!({
        "readable": reason.is_none(), "reason": reason,
        "total": report.cases.len(), "passed": report.count(Outcome::Passed), "failed": report.count(Outcome::Failed),
        "errors": report.count(Outcome::Error), "skipped": report.count(Outcome::Skipped),
        "tests": tests, "truncated": report.cases.len() > LISTED, "notes": notes,
    })
}

/// One document; only the elements that say how a test ended are looked at, whatever lies around them.
fn parse(text: &str) -> Result<Report, String> {
    let mut reader = Reader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut report = Report::default();
    let mut case: Option<Case> = None;
    let mut open = 0_usize;
    let mut roots = 0_usize;
    loop {
        let at = reader.buffer_position();
        let event = reader.read_event().map_err(|fault| format!("the report is not well-formed near byte {at}: {fault}"))?;
        match event {
            Event::Start(start) => {
                root(open, &mut roots, &start)?;
                open += 1;
                enter(&start, &mut case)?;
            }
            Event::Empty(start) => {
                root(open, &mut roots, &start)?;
                enter(&start, &mut case)?;
                if start.local_name().as_ref() == "testcase" {
                    case.take().into_iter().for_each(|done| report.add(done));
                }
            }
            Event::End(end) => {
                open = open.saturating_sub(1);
                if end.local_name().as_ref() == "testcase" {
                    case.take().into_iter().for_each(|done| report.add(done));
                }
            }
            Event::Eof if open > 0 => return Err("the report ends in the middle: the test run was cut off".to_owned()),
            Event::Eof if roots == 0 => return Err("the report holds no element".to_owned()),
            Event::Eof => return Ok(report),
            _ => {}
        }
    }
}

fn root(open: usize, roots: &mut usize, start: &BytesStart<'_>) -> Result<(), String> {
    if open > 0 {
        return Ok(());
    }
    *roots += 1;
    let name = start.local_name();
    if *roots > 1 || !matches!(name.as_ref(), "testsuites" | "testsuite") {
        return Err(format!("the report is no JUnit XML: its root is <{}>", clip(name.as_ref(), 40)));
    }
    Ok(())
}

fn enter(start: &BytesStart<'_>, case: &mut Option<Case>) -> Result<(), String> {
    let outcome = match start.local_name().as_ref() {
        "testcase" => {
            let (class, name) = (attribute(start, "classname")?, attribute(start, "name")?);
            let name = match (class.as_deref(), name.as_deref()) {
                (_, None | Some("")) => String::new(),
                (None | Some(""), Some(name)) => name.to_owned(),
                (Some(class), Some(name)) => format!("{class}::{name}"),
            };
            *case = Some(Case { name: clip(&name, NAME_CHARS), ..Case::default() });
            return Ok(());
        }
        "failure" => Outcome::Failed,
        "error" => Outcome::Error,
        "skipped" => Outcome::Skipped,
        _ => return Ok(()),
    };
    if let Some(case) = case.as_mut().filter(|case| outcome > case.outcome) {
        case.outcome = outcome;
        case.message = attribute(start, "message")?.map(|message| clip(&message, MESSAGE_CHARS));
    }
    Ok(())
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|fault| format!("the report is not well-formed: {fault}"))?;
        if attribute.key.local_name().as_ref() == name {
            // An entity nobody declared is kept as it is written: only the text for people suffers.
            let value = attribute
                .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                .map_or_else(|_| attribute.value.to_string(), |value| value.into_owned());
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn clip(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
