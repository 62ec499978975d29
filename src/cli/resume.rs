//! `rsf resume`: the arguments of continuing a run whose process ended.

use super::run::Format;
use std::path::PathBuf;

/// Continue a run at its first unfinished effect.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The run; the newest unfinished one unless given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// The project the run works on.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,

    /// Start from the last stored snapshot instead of the journal, where the journal is lost or damaged.
    #[arg(long)]
    pub from_snapshot: bool,

    /// Answer every question with its proposed answer.
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// How progress is shown.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,

    /// A folder of further workflows whose names may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}
