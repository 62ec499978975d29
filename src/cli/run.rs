//! `rsf run`: the arguments of a run.

use super::settings::{self, Layer, SettingsError};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: lines, and on a terminal a table of the cells.
    #[default]
    Text,
    /// For programs: one JSON object per line and event.
    Json,
}

/// Run a workflow on a project.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The workflow: a file, the name of a built-in one, or one of its trigger words.
    #[arg(value_name = "WORKFLOW")]
    pub workflow: String,

    /// What the run is for: fills the workflow's first required text parameter.
    #[arg(value_name = "GOAL")]
    pub goal: Option<String>,

    /// The project to work on.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,

    /// What the run is configured with.
    #[command(flatten)]
    pub overrides: Overrides,

    /// Answer every question with its proposed answer.
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Work on this branch; made from the present commit where it does not exist.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Check everything and say what would run, but start nothing and write nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// How progress is shown.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,

    /// A folder of further workflows whose names and trigger words may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}

/// Parameters and settings, as given on the command line.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// A parameter of the workflow; may be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// A profile of the workflow: a named set of settings.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    /// A JSON file with `config`, `limits` or `params` that is merged over the workflow's own.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// One setting, e.g. `limits.rounds=5` or `config.name=value`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
}

impl Overrides {
    /// The layers over the document's own settings, the weakest first. `read` gives the text of the file of `--config`.
    ///
    /// # Errors
    /// An unknown profile, an unreadable file, or an assignment that is none.
    pub fn layers(
        &self,
        profiles: &Map<String, Value>,
        read: impl FnOnce(&std::path::Path) -> Result<String, std::io::Error>,
    ) -> Result<Vec<Layer>, SettingsError> {
        let mut layers = Vec::new();
        if let Some(name) = &self.profile {
            layers.push(settings::profile(profiles, name)?);
        }
        if let Some(path) = &self.config {
            let shown = path.display().to_string();
            let text = read(path)
                .map_err(|error| SettingsError::new(&format!("--config {shown}"), format!("the file cannot be read: {error}")))?;
            layers.push(settings::file(&shown, &text)?);
        }
        for assignment in &self.sets {
            layers.push(settings::set(assignment)?);
        }
        Ok(layers)
    }
}
