//! Commands: one file each, with its arguments and its function. Prints and ends with an exit status; decides nothing about documents.

mod archive;
mod changes;
mod crash_log;
pub mod demo;
mod dry_run;
mod explain;
mod find;
pub mod graph;
pub mod guard;
pub mod hook;
pub mod init;
mod launch;
mod leftovers;
pub mod load;
mod logs;
pub mod params;
pub mod place;
mod ready;
pub mod reference;
mod replay;
mod reserve;
pub mod resume;
mod rewind;
pub mod run;
mod runs;
mod schema;
pub mod settings;
mod simulate;
pub mod spending;
mod status;
mod stop;
mod tidy;
mod undo;
mod validate;
mod watchdog;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::{ExitCode, Termination};

const EXAMPLES: &str = "\
Examples:
  rsf demo                                     a whole run on a sample project: no key, no cost
  rsf run writer-editor \"why rivers bend\"       run a built-in workflow on the project in this folder
  rsf WORD \"…\"                                 run the workflow that has this trigger word
  rsf init writer-editor && rsf run workflows/writer-editor.json \"a topic\"
  rsf resume                                   go on with the run that was cut off here

Exit status: 0 success, 1 rejected, refused or failed, 2 wrong usage or an unreadable file; a run ends with the
code its document gives its result; 130 when it was interrupted and can be resumed.";

/// Runs roles-steps-flows workflows: proved before they run, durable while they run.
#[derive(Debug, Parser)]
#[command(name = "rsf", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Resume(resume::Args),
    Runs(runs::Args),
    Status(status::Args),
    Logs(logs::Args),
    Stop(stop::Args),
    Replay(replay::Args),
    Fork(rewind::Args),
    Undo(undo::Args),
    Demo(demo::Args),
    Init(init::Args),
    Validate(validate::Args),
    Simulate(simulate::Args),
    Graph(graph::Args),
    Reference(reference::Args),
    Schema(schema::Args),
    Explain(explain::Args),
    /// Watches over a run; started by the program itself.
    #[command(hide = true)]
    Watchdog(watchdog::Args),
    Hook(hook::Args),
    /// A trigger word of a workflow: `rsf WORD "goal" …` means `rsf run WORD "goal" …`
    #[command(external_subcommand)]
    Trigger(Vec<String>),
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
            Command::Run(args) => run::run(&args),
            Command::Resume(args) => resume::run(&args),
            Command::Runs(args) => runs::run(&args),
            Command::Status(args) => status::run(&args),
            Command::Logs(args) => logs::run(&args),
            Command::Stop(args) => stop::run(&args),
            Command::Replay(args) => replay::run(&args),
            Command::Fork(args) => rewind::run(&args),
            Command::Undo(args) => undo::run(&args),
            Command::Demo(args) => demo::run(&args),
            Command::Init(args) => init::run(&args),
            Command::Graph(args) => graph::run(&args),
            Command::Reference(args) => reference::run(&args),
            Command::Watchdog(args) => watchdog::run(&args),
            Command::Trigger(words) => trigger(words),
            Command::Validate(args) => validate::run(&args),
            Command::Simulate(args) => simulate::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Hook(args) => hook::run(&args),
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

/// `rsf WORD …`, where the word names a workflow.
fn trigger(words: Vec<String>) -> Status {
    match run::Args::of_words(words) {
        Ok(args) => run::run(&args),
        Err(error) => {
            let _ = error.print();
            Status::Usage
        }
    }
}
