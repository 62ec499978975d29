//! `rsf validate`: says what is wrong with documents, and where.

use super::load::{self, Loaded};
use super::{Status, complain, print};
use crate::report::diagnostics::{self, Tally};
use serde_json::{Value, json};
use std::io::IsTerminal;

/// Check documents: syntax, shape, references, typing, rules of flows, data, the execution part.
///
/// Exits with 0 when every document is accepted, 1 when one is rejected, 2 when one cannot be read.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Documents; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Reject documents with warnings too
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people: each finding with its place in the source
    Text,
    /// For tools: one array of all findings
    Json,
}

pub(super) fn run(args: &Args) -> Status {
    let mut status = Status::Ok;
    let mut findings: Vec<Value> = Vec::new();
    for path in &args.files {
        match load::load(path) {
            Ok(loaded) => {
                let tally = Tally::of(&loaded.problems);
                status = status.max(if tally.rejects(args.strict) { Status::Rejected } else { Status::Ok });
                match args.format {
                    Format::Text => print(&text(&loaded, tally, args.strict)),
                    Format::Json => findings.extend(diagnostics::json(&loaded.problems, &loaded.sources, &|label| loaded.pointer(label))),
                }
            }
            Err(error) => {
                complain(&format!("rsf: {error}"));
                status = Status::Usage;
            }
        }
    }
    if args.format == Format::Json {
        print(&format!("{:#}\n", json!(findings)));
    }
    status
}

/// Shows the findings of a document that another command was given, on standard error.
pub(super) fn show(loaded: &Loaded) {
    complain(text(loaded, Tally::of(&loaded.problems), false).trim_end());
}

fn text(loaded: &Loaded, tally: Tally, strict: bool) -> String {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let outcome = if tally.rejects(strict) { "rejected" } else { "accepted" };
    let findings = diagnostics::text(&loaded.problems, &loaded.sources, colour);
    format!("{findings}{}: {outcome}, {tally}\n", loaded.bundle.document_path.escape_debug())
}
