//! Commands: one file each, with its arguments and its function. Prints and ends with an exit status; decides nothing about documents.

mod explain;
pub mod load;
mod schema;
mod validate;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::{ExitCode, Termination};

/// Runs roles-steps-flows workflows: proved before they run, durable while they run.
#[derive(Debug, Parser)]
#[command(name = "rsf", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::Args),
    Schema(schema::Args),
    Explain(explain::Args),
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// All is well.
    Ok,
    /// A document was rejected.
    Rejected,
    /// Wrong usage, or a file that cannot be read.
    Usage,
    /// A run ended with this code.
    Code(u8),
}

impl Termination for Status {
    fn report(self) -> ExitCode {
        match self {
            Self::Ok => ExitCode::SUCCESS,
            Self::Rejected => ExitCode::from(1),
            Self::Usage => ExitCode::from(2),
            Self::Code(code) => ExitCode::from(code),
        }
    }
}

impl Cli {
    /// Does what the arguments ask for.
    #[must_use]
    pub fn run(self) -> Status {
        match self.command {
            Command::Validate(args) => validate::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::Explain(args) => explain::run(&args),
        }
    }
}

/// Writes to standard output; a reader that went away is no fault of ours.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Writes a line to standard error; names of files may hold what a terminal would act on.
fn complain(text: &str) {
    let harmless: String = text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect();
    let _ = writeln!(std::io::stderr().lock(), "{harmless}");
}
