//! `rsf stop`: asks a run for its end after the present round.

use super::archive::{project, runs};
use super::launch::STOP;
use super::ready::{Refused, refuse};
use super::{Status, print};
use std::path::PathBuf;

/// Ask the run of a project to end after its present round.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
}

/// Leaves the request.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = project(&args.repo)?;
    let live = runs(&root).into_iter().rev().find(super::archive::Found::is_live);
    let Some(run) = live else { return Err(refuse(Status::Usage, &format!("no run is under way in {}", root.display()))) };
    let path = run.dir.join(STOP);
    std::fs::write(&path, b"").map_err(|e| refuse(Status::Code(1), &format!("{} cannot be written: {e}", path.display())))?;
    print(&format!("run {} ends after its present round; remove {} to let it go on\n", run.name, path.display()));
    Ok(Status::Ok)
}
