//! `rsf validate`: says what is wrong with documents, and where.

use super::load::{self, Loaded};
use super::{Status, complain, print};
use crate::base::{Money, Problem};
use crate::check;
use crate::report::diagnostics::{self, Tally};
use crate::report::formats;
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
    /// Show the worst case: attempts, sessions, model turns, time, cost, and which limit binds
    #[arg(long)]
    explain_cost: bool,
    /// Reject documents whose worst case costs more than this, or has no bound
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    budget: Option<Money>,
}

fn amount(text: &str) -> Result<Money, String> {
    Money::parse(text).filter(|amount| amount.0 >= 0).ok_or_else(|| "an amount such as 20 or 0.5 is expected".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people: each finding with its place in the source
    Text,
    /// For tools: one array of all findings
    Json,
    /// For code scanning: SARIF 2.1.0
    Sarif,
    /// For GitHub Actions: one workflow command per finding
    Github,
}

pub(super) fn run(args: &Args) -> Status {
    let mut status = Status::Ok;
    let mut findings: Vec<Value> = Vec::new();
    for path in &args.files {
        match load::load(path) {
            Ok(mut loaded) => {
                let asked = args.explain_cost || args.budget.is_some();
                let worst = asked.then(|| check::worst_case(&loaded.workflow)).flatten();
                loaded.problems.extend(args.budget.and_then(|budget| over_budget(&loaded, worst.as_ref(), budget)));
                let tally = Tally::of(&loaded.problems);
                status = status.max(if tally.rejects(args.strict) { Status::Rejected } else { Status::Ok });
                match args.format {
                    Format::Text => print(&text(&loaded, tally, args.strict)),
                    Format::Github => print(&formats::github(&loaded.problems, &loaded.sources)),
                    Format::Json | Format::Sarif => {
                        findings.extend(diagnostics::json(&loaded.problems, &loaded.sources, &|label| loaded.pointer(label)));
                    }
                }
                if let (true, Format::Text, Some(worst)) = (args.explain_cost, args.format, &worst) {
                    print(&check::worst_table(worst));
                }
            }
            Err(error) => {
                complain(&format!("rsf: {error}"));
                status = Status::Usage;
            }
        }
    }
    match args.format {
        Format::Json => print(&format!("{:#}\n", json!(findings))),
        Format::Sarif => print(&format!("{:#}\n", formats::sarif(&findings, &check::codes()))),
        Format::Text | Format::Github => {}
    }
    status
}

/// A finding when the worst case costs more than the budget, or nothing bounds it. A document that cannot be judged has errors anyway.
fn over_budget(loaded: &Loaded, worst: Option<&check::Worst>, budget: Money) -> Option<Problem> {
    let worst = worst?;
    let message = match worst.cost {
        Some(cost) if cost <= budget.0 => return None,
        Some(cost) => format!(
            "the worst case costs {} (bound by {}), more than the budget of {}",
            Money(cost).two_decimals(),
            worst.cost_by,
            budget.two_decimals()
        ),
        None => format!("the worst case has no bound of cost ({}), so it does not keep within {}", worst.cost_by, budget.two_decimals()),
    };
    let place = loaded.tree.root.as_ref()?;
    let place = place.get("limits").unwrap_or(place).head_span();
    Some(Problem::error("RSF720", message).at(loaded.tree.file, place, "").help("set `limits.cost`, and `limits.rounds` for its loops"))
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
