//! `rsf resume`: goes on with a run whose process ended, at its first unfinished effect.

use super::find::find;
use super::launch::{Launch, Supervision, go_on};
use super::ready::{Refused, parts, refuse, seal};
use super::run::Format;
use super::{Status, archive, changes, complain, rewind, settings, watchdog};
use crate::base::digest_json;
use crate::check::plan;
use crate::journal::{Durability, Entry, Header, Journal, Reader, Record, RunLock};
use crate::machine::{Input, Prepared, prepare};
use crate::provider::Providers;
use crate::report::text::one_line;
use crate::world::{Clock, SystemClock};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File in a run's folder: digests of changed documents that a person accepted.
const ACCEPTED: &str = "ACCEPTED";

const HELP: &str = "\
What is recorded is never done again; what was under way when the process ended is done again. The workflow and its
files must be as they were; settings and parameters are those the run was started with. Keys come from the
environment, as for `rsf run`. Without RUN the newest unfinished run of the project is continued.";

/// Continue a run that was cut off, at its first unfinished effect.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The run, by its name (the folder below `runs/`); the newest unfinished one unless given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// The project the run works on.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,

    /// How progress is shown.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,

    /// Change a setting of a run that has ended or was interrupted, e.g. `limits.rounds=20`, and go on with it; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,

    /// Go on although the workflow or one of its files changed, where nothing that was done already is touched by it.
    #[arg(long)]
    pub accept_changes: bool,

    /// Start no watchdog, the process that goes on with the run when this one hangs or dies.
    #[arg(long)]
    pub no_watchdog: bool,

    /// Deaths that a watchdog has seen.
    #[arg(long, hide = true)]
    pub deaths: Option<u32>,

    /// End the run for this reason.
    #[arg(long, hide = true)]
    pub abort: Option<String>,

    /// A folder of further workflows whose names may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}

/// Continues the run.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = args.repo.canonicalize().map_err(|e| refuse(Status::Usage, &format!("--repo {}: {e}", args.repo.display())))?;
    let folder = match &args.run {
        // Other settings are mostly for a run that has ended.
        None if !args.sets.is_empty() => archive::choose(&root, None)?.folder,
        name => choose(&root, name.as_deref())?,
    };
    if args.sets.is_empty()
        && let Some(ended) = ended(&folder)
    {
        return over(args, &folder, &ended);
    }
    // Before the journal is opened: opening cuts what a crash left half written, which a living process may just be writing.
    let dir = folder.parent().and_then(Path::parent).unwrap_or(&root);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let lock = RunLock::acquire(dir, &name, SystemClock.now()).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    if !args.sets.is_empty() {
        let found = archive::choose(&root, Some(&name))?;
        rewind::with_settings(&found, &found.told()?, &args.sets, args.workflows.as_deref())?;
    }
    let opened = Journal::open(&folder, Durability::Full).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let launch = again(args, root, &opened.header, &opened.records, &folder)?;
    go_on(&launch, opened, &lock)
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
    let chosen = if name.is_some() {
        found.pop().map(|(_, run)| run)
    } else {
        found.into_iter().rev().map(|(_, run)| run).find(|run| ended(run).is_none())
    };
    chosen.ok_or_else(|| {
        let what = name.map_or_else(|| "no unfinished run".to_owned(), |name| format!("no run `{}`", name.escape_debug()));
        refuse(Status::Usage, &format!("{what} in {}", root.display()))
    })
}

/// The records of a run that is over. A journal that cannot be read is not over: opening it says what is wrong with it.
fn ended(run: &Path) -> Option<Vec<Record>> {
    let records = Reader::open(run).and_then(|mut reader| reader.poll()).ok()?;
    records.iter().any(|record| matches!(record.entry, Entry::End { .. })).then_some(records)
}

/// Says that a run is over and how it ended; its exit code is given again.
fn over(args: &Args, folder: &Path, records: &[Record]) -> Result<Status, Refused> {
    let header = records.iter().find_map(|record| match &record.entry {
        Entry::Header(header) => Some(header),
        _ => None,
    });
    let end = records.iter().find_map(|record| match &record.entry {
        Entry::End { result, reason } => Some((result.as_str(), reason.as_deref())),
        _ => None,
    });
    let (Some(header), Some((result, reason))) = (header, end) else { return Err(refuse(Status::Code(1), "the journal has no header")) };
    // The document may have changed or gone since: then only the default codes are known.
    let results = find(&header.workflow, args.workflows.as_deref()).map(|loaded| loaded.workflow.execution.results).unwrap_or_default();
    let reason = reason.map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    complain(&format!("rsf: run {} has ended with {}{reason}; there is nothing to go on with", header.run, one_line(result)));
    complain(&format!("rsf: its journal is {}", folder.join("journal.jsonl").display()));
    Ok(Status::Code(results.get(result).copied().unwrap_or_else(|| u8::from(result != "COMPLETED"))))
}

/// The plan and the parameters a header tells of; whether the document is still the same is asked by whoever goes on with the run.
pub fn plan_of(header: &Header, workflows: Option<&Path>) -> Result<(Arc<plan::Plan>, Prepared), Refused> {
    let loaded = find(&header.workflow, workflows).map_err(|message| refuse(Status::Usage, &message))?;
    let prepared: Prepared = serde_json::from_value(header.settings["prepared"].clone())
        .map_err(|e| refuse(Status::Code(1), &format!("the journal's header cannot be read: {e}")))?;
    Ok((Arc::new(seal(loaded, &settings_of(header))?), prepared))
}

fn settings_of(header: &Header) -> plan::Settings {
    let object = |name: &str| header.settings[name].as_object().cloned().unwrap_or_default();
    plan::Settings { config: header.settings["config"].clone(), limits: object("limits"), params: object("params") }
}

/// The header with settings changed; parameters that follow from settings are computed again, names and seed stay.
pub fn changed_settings(header: &Header, sets: &[String], workflows: Option<&Path>) -> Result<Header, Refused> {
    let usage = |e: settings::SettingsError| refuse(Status::Usage, &e.to_string());
    let before = settings_of(header);
    let layers = sets.iter().map(|set| settings::set(set)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let open = settings::Settings { config: before.config, limits: before.limits, params: None };
    let (after, notes) = settings::resolve(open, &layers).map_err(usage)?;
    notes.iter().for_each(|note| complain(&format!("rsf: {note}")));
    let mut header = header.clone();
    header.settings["config"] = after.config;
    header.settings["limits"] = Value::Object(after.limits);
    header.settings["resettled"] = Value::from(sets.to_vec());
    header.config = digest_json(&header.settings["config"]);
    let (plan, old) = plan_of(&header, workflows)?;
    let now = SystemClock.now();
    let fresh = prepare(&plan, now, &old.seed, &Value::Null).map_err(|refusal| refuse(Status::Rejected, &refusal.to_string()))?;
    let prepared = Prepared { params: fresh.params, ..old };
    header.settings["prepared"] = serde_json::to_value(prepared).unwrap_or_default();
    Ok(header)
}

/// How the run is watched over from now on; deaths that the journal tells of count.
fn supervision(args: &Args, records: &[Record]) -> Supervision {
    let told = records.iter().rev().find_map(|record| match &record.entry {
        Entry::Input(input) => match input.as_ref() {
            Input::Fact { name, value, .. } if name == "watchdog_deaths" => value.as_u64().and_then(|n| u32::try_from(n).ok()),
            _ => None,
        },
        _ => None,
    });
    Supervision {
        watched: args.abort.is_none() && watchdog::wanted(args.no_watchdog),
        deaths: args.deaths.or(told).unwrap_or(0),
        abort: args.abort.clone(),
        again: watchdog::again(args.format, args.workflows.as_deref()),
    }
}

/// A document that is not the one the run began with: refused with what changed, unless the changes were accepted now or before. What was
/// done already is compared request by request when the journal is replayed; a change that touches it stops the resume there.
fn changed(args: &Args, header: &Header, digest: &str, parts: &Map<String, Value>, folder: &Path) -> Result<(), Refused> {
    let accepted = folder.join(ACCEPTED);
    let before = std::fs::read_to_string(&accepted).unwrap_or_default();
    if before.lines().any(|line| line == digest) {
        return Ok(());
    }
    let what = changes::differences(&header.settings["parts"], parts).filter(|what| !what.is_empty());
    let what = what.map_or_else(String::new, |what| format!(" ({})", one_line(&what)));
    if args.accept_changes {
        complain(&format!("rsf: going on with the changed `{}`{what}", header.workflow));
        return std::fs::write(&accepted, format!("{before}{digest}\n"))
            .map_err(|e| refuse(Status::Code(1), &format!("{} cannot be written: {e}", accepted.display())));
    }
    let message = format!(
        "`{}` or one of its files changed since run {} began{what}: put it back, or give --accept-changes to go on where nothing that was done is touched",
        header.workflow, header.run
    );
    Err(refuse(Status::Rejected, &message))
}

/// A document that does not even seal any more.
fn broken(header: &Header, parts: &Map<String, Value>) -> String {
    let what = changes::differences(&header.settings["parts"], parts).unwrap_or_default();
    format!("`{}` or one of its files changed since run {} began ({}): put it back to go on", header.workflow, header.run, one_line(&what))
}

/// Sets the run up as its header says; a document that changed since is refused.
fn again(args: &Args, root: PathBuf, header: &Header, records: &[Record], folder: &Path) -> Result<Launch, Refused> {
    let loaded = find(&header.workflow, args.workflows.as_deref()).map_err(|message| refuse(Status::Usage, &message))?;
    let (bundle, parts) = (loaded.bundle.files.clone(), parts(&loaded));
    let object = |name: &str| header.settings[name].as_object().cloned().unwrap_or_default();
    let settings = plan::Settings { config: header.settings["config"].clone(), limits: object("limits"), params: object("params") };
    let prepared: Prepared = serde_json::from_value(header.settings["prepared"].clone())
        .map_err(|e| refuse(Status::Code(1), &format!("the journal's header cannot be read: {e}")))?;
    let plan = match seal(loaded, &settings) {
        Ok(plan) => Arc::new(plan),
        // What ran once was sound, so it changed.
        Err(_) => return Err(refuse(Status::Rejected, &broken(header, &parts))),
    };
    if plan.digest() != header.document {
        changed(args, header, plan.digest(), &parts, folder)?;
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
        branch: None,
        supervision: supervision(args, records),
        parts,
    })
}
