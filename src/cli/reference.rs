//! `rsf reference`: the words of the language, printed from the program itself: operations, filters, functions, tools.

use crate::model::OpKind;
use crate::model::tool::{Descriptor, EffectClass, Permission};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Print the operations, filters, functions and tools that documents may use.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Only what has this word in its name.
    #[arg(value_name = "WORD")]
    pub word: Option<String>,

    /// How it is printed.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How the reference is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one array of all words.
    Json,
}

/// One word of the language: how it is written and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The heading it stands under, e.g. `filters`.
    pub kind: String,
    /// How it is written, e.g. `items|where(field=value)`.
    pub form: String,
    /// What it gives or does.
    pub gives: String,
}

impl Word {
    /// A word under a heading.
    #[must_use]
    pub fn new(kind: impl Into<String>, form: impl Into<String>, gives: impl Into<String>) -> Self {
        Self { kind: kind.into(), form: form.into(), gives: gives.into() }
    }
}

/// Prints the words.
pub fn run(args: &Args) -> super::Status {
    let words = crate::rule::reference().iter().map(|entry| {
        let kind = match entry.kind {
            crate::rule::EntryKind::Function => "functions",
            crate::rule::EntryKind::Filter => "filters",
        };
        Word::new(kind, entry.form, entry.gives)
    });
    super::print(&render(&collect(words, crate::model::tools::descriptors()), args));
    super::Status::Ok
}

/// The operations with what each does (docs/language.md, section 4).
const OPERATIONS: [(&str, &str, &str); 15] = [
    ("let", "{\"let\": {\"name\": …}}", "binds local names, in order; strings are expressions"),
    ("set", "{\"set\": {\"name\": …}}", "changes workflow state; strings are templates"),
    ("rules", "{\"rules\": \"name\", \"with\": {…}}", "evaluates a decision table; strings of `with` are expressions"),
    ("call", "{\"call\": \"tool\", \"with\": {…}}", "calls a tool; strings are templates"),
    ("agent", "{\"agent\": {\"prompt\": …}}", "a session of a language model; gives the checked output and binds `session`"),
    ("ask", "{\"ask\": {\"question\": …, \"choices\": […], \"unattended\": …}}", "puts a question to a person and waits durably"),
    ("workflow", "{\"workflow\": \"path\", \"with\": {…}}", "runs another document in the same journal"),
    ("for", "{\"for\": \"expression\", \"do\": […]}", "repeats with `item` and `index`; `as` collects the results"),
    ("do", "{\"do\": […], \"else\": […]}", "a group under one `when`, and the other way"),
    ("store", "{\"store\": {\"Type\": …}}", "writes a document declared in `types`, at its place"),
    ("emit", "{\"emit\": {\"Type\": …}}", "hands over values; `\"Type(variant)\"` names a variant"),
    ("stop", "{\"stop\": \"RESULT\", \"reason\": \"…\"}", "requests the end of the run; following operations still run"),
    ("return", "{\"return\": true}", "ends the cell's list"),
    ("fail", "{\"fail\": \"message\"}", "fails the attempt"),
    ("log", "{\"log\": {…}}", "writes a log record"),
];

/// The key an operation is written with. Exhaustive, so that a new operation cannot be added without being listed here.
#[must_use]
pub fn operation_key(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Let(_) => "let",
        OpKind::Set(_) => "set",
        OpKind::Rules { .. } => "rules",
        OpKind::Call { .. } => "call",
        OpKind::Agent(_) => "agent",
        OpKind::Ask { .. } => "ask",
        OpKind::Workflow { .. } => "workflow",
        OpKind::For { .. } => "for",
        OpKind::Do { .. } => "do",
        OpKind::Store(_) => "store",
        OpKind::Emit(_) => "emit",
        OpKind::Stop { .. } => "stop",
        OpKind::Return => "return",
        OpKind::Fail(_) => "fail",
        OpKind::Log(_) => "log",
    }
}

/// All words: the operations, then `words` (filters and functions), then the tools.
#[must_use]
pub fn collect(words: impl IntoIterator<Item = Word>, tools: &[Descriptor]) -> Vec<Word> {
    let operations = OPERATIONS.iter().map(|(_, form, gives)| Word::new("operations", *form, *gives));
    operations.chain(words).chain(tools.iter().map(tool)).collect()
}

/// The words that match `args`, printed as it asks.
#[must_use]
pub fn render(words: &[Word], args: &Args) -> String {
    let wanted = |word: &&Word| args.word.as_deref().is_none_or(|part| word.form.contains(part));
    let words: Vec<&Word> = words.iter().filter(wanted).collect();
    match args.format {
        Format::Json => {
            let rows: Vec<Value> = words.iter().map(|word| json!({ "kind": word.kind, "form": word.form, "gives": word.gives })).collect();
            format!("{:#}\n", Value::Array(rows))
        }
        Format::Text => text(&words),
    }
}

fn text(words: &[&Word]) -> String {
    let mut out = String::new();
    let mut heading = "";
    for word in words {
        if word.kind != heading {
            let gap = if heading.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{}", word.kind);
            heading = &word.kind;
        }
        let _ = writeln!(out, "  {}\n      {}", word.form, word.gives);
    }
    if out.is_empty() {
        out.push_str("no word of the language matches\n");
    }
    out
}

fn tool(tool: &Descriptor) -> Word {
    let form = format!("{}({})", tool.name, arguments(&tool.arguments).join(", "));
    let needs = match tool.permission {
        Permission::Nothing => "nothing",
        Permission::Read => "read",
        Permission::Write => "write",
        Permission::Exec => "exec",
        Permission::GitRead => "git: read",
        Permission::GitWrite => "git: write",
        Permission::RdfRead => "rdf: read",
        Permission::RdfWrite => "rdf: write",
    };
    let effect = match tool.effect {
        EffectClass::Pure => "touches nothing",
        EffectClass::Reads => "reads",
        EffectClass::Writes => "writes files",
        EffectClass::Executes => "starts programs",
        EffectClass::Git => "changes the repository",
        EffectClass::Network => "talks to another machine",
    };
    Word::new("tools", form, format!("{} [{effect}; needs {needs}]", tool.description))
}

/// Names of a tool's arguments, optional ones with `?`.
fn arguments(schema: &Value) -> Vec<String> {
    let required: Vec<&str> = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
    names.map(|name| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_operation_is_one_of_the_model_and_written_with_its_key() {
        for (key, form, _) in OPERATIONS {
            assert!(form.starts_with(&format!("{{\"{key}\": ")), "{form}");
        }
        let some = [OpKind::Return, OpKind::Stop { result: String::new(), reason: None }, OpKind::Fail(String::new())];
        assert!(some.iter().all(|kind| OPERATIONS.iter().any(|(key, ..)| *key == operation_key(kind))));
    }
}
