//! `rsf replay`: interprets the journal again without any effect and compares everything: the check that a run is a pure function.

use super::archive::{choose, project};
use super::ready::{Refused, refuse};
use super::resume::plan_of;
use super::{Status, print};
use crate::driver::verify;
use crate::machine::Machine;
use std::path::PathBuf;

/// Interpret a run's journal again, without any effect, and compare what follows with what is recorded.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run; the newest one unless named.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// A folder of further workflows whose names may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}

/// Replays and compares.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let found = choose(&project(&args.repo)?, args.run.as_deref())?;
    let told = found.told()?;
    let (plan, prepared) = plan_of(&told.header, args.workflows.as_deref())?;
    let machine = || Machine::new(std::sync::Arc::clone(&plan), prepared.clone());
    match verify(&machine, &told.records) {
        Ok(counts) => {
            let (inputs, requests, notes) = (counts.inputs, counts.requests, counts.notes);
            print(&format!("the same: {inputs} inputs, {requests} requests and {notes} notes of run {}\n", found.name));
            Ok(Status::Ok)
        }
        Err(error) => Err(refuse(Status::Code(1), &error.to_string())),
    }
}
