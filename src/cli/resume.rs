//! `rsf resume`: goes on with a run whose process ended, at its first unfinished effect.

use super::Status;
use super::find::find;
use super::launch::{Launch, go_on};
use super::ready::{Refused, refuse, seal};
use super::run::Format;
use crate::check::plan;
use crate::journal::{Durability, Entry, Header, Journal, Reader};
use crate::machine::Prepared;
use crate::provider::Providers;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Continues the run.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    if args.from_snapshot {
        return Err(refuse(Status::Usage, "this version resumes from the journal only; leave --from-snapshot out"));
    }
    let root = args.repo.canonicalize().map_err(|e| refuse(Status::Usage, &format!("--repo {}: {e}", args.repo.display())))?;
    let folder = choose(&root, args.run.as_deref())?;
    let opened = Journal::open(&folder, Durability::Full).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let launch = again(args, root, &opened.header)?;
    go_on(&launch, opened)
}

/// The run's folder: the one named, or the newest one that has not ended.
fn choose(root: &Path, name: Option<&str>) -> Result<PathBuf, Refused> {
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    let entries = std::fs::read_dir(root).map_err(|e| refuse(Status::Usage, &format!("{}: {e}", root.display())))?;
    for dir in entries.filter_map(Result::ok).map(|entry| entry.path().join("runs")) {
        for run in std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()) {
            let Ok(meta) = std::fs::metadata(run.join("journal.jsonl")) else { continue };
            if name.is_none_or(|name| run.file_name().is_some_and(|n| n == name)) {
                found.push((meta.modified().unwrap_or(std::time::UNIX_EPOCH), run));
            }
        }
    }
    found.sort();
    let open = |run: &PathBuf| {
        Reader::open(run)
            .and_then(|mut reader| reader.poll())
            .is_ok_and(|records| !records.iter().any(|r| matches!(r.entry, Entry::End { .. })))
    };
    let chosen = if name.is_some() { found.pop().map(|(_, run)| run) } else { found.into_iter().rev().map(|(_, run)| run).find(open) };
    chosen.ok_or_else(|| {
        let what = name.map_or_else(|| "no unfinished run".to_owned(), |name| format!("no run `{}`", name.escape_debug()));
        refuse(Status::Usage, &format!("{what} in {}", root.display()))
    })
}

/// Sets the run up as its header says; a document that changed since is refused.
fn again(args: &Args, root: PathBuf, header: &Header) -> Result<Launch, Refused> {
    let loaded = find(&header.workflow, args.workflows.as_deref()).map_err(|message| refuse(Status::Usage, &message))?;
    let bundle = loaded.bundle.files.clone();
    let object = |name: &str| header.settings[name].as_object().cloned().unwrap_or_default();
    let settings = plan::Settings { config: header.settings["config"].clone(), limits: object("limits"), params: object("params") };
    let prepared: Prepared = serde_json::from_value(header.settings["prepared"].clone())
        .map_err(|e| refuse(Status::Code(1), &format!("the journal's header cannot be read: {e}")))?;
    let plan = Arc::new(seal(loaded, &settings)?);
    if plan.digest() != header.document {
        let message = format!("`{}` or one of its files changed since run {} began: put it back to go on", header.workflow, header.run);
        return Err(refuse(Status::Rejected, &message));
    }
    let script = |path: &str| bundle.get(path).map(|text| text.to_string());
    let env = |name: &str| std::env::var(name).ok();
    let providers = Providers::from_config(plan.config(), &script, &env).map_err(|faults| refuse(Status::Rejected, &faults.join("\n")))?;
    let own = header.settings["own_files"].as_array().map(|files| files.iter().filter_map(|f| f.as_str().map(str::to_owned)).collect());
    Ok(Launch {
        workflow: header.workflow.clone(),
        plan,
        prepared,
        settings,
        root,
        providers: Arc::new(providers),
        own_files: own.unwrap_or_default(),
        require_sandbox: header.settings["require_sandbox"] == true,
        format: args.format,
    })
}
