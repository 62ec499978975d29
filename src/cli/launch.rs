//! Starts a run that is ready: lock, journal, executors, driver, watcher; and continues one from its journal.

use super::ready::{Refused, refuse};
use super::run::Format;
use super::watchdog::{self, Leash};
use super::{Status, complain, guard, leftovers, reserve, tidy};
use crate::base::digest_json;
use crate::check::plan::{self, Plan};
use crate::driver::{Driver, DriverError, Event, Heartbeat, Options, RunEnd, listen, past_events};
use crate::executor::{Effects, Models, ProjectFiles};
use crate::journal::{Durability, Header, Journal, Opened, Record, RunLock, run_folder};
use crate::machine::{Machine, Prepared};
use crate::provider::Providers;
use crate::provider::recording::Recording;
use crate::report::{Sheet, watch::Watch};
use crate::tool::{ProjectConfig, Registry};
use crate::world::{Clock, Root, SystemClock, git::Repo, support};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;

/// File of the run directory by which a person asks for a stop.
pub const STOP: &str = "STOP";
/// How long cancelled effects may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// A run about to be driven.
pub struct Launch {
    /// How the workflow was named.
    pub workflow: String,
    /// The sealed plan.
    pub plan: Arc<Plan>,
    /// Parameters, ids, seed.
    pub prepared: Prepared,
    /// Settings in force.
    pub settings: plan::Settings,
    /// The project's folder.
    pub root: PathBuf,
    /// Models.
    pub providers: Arc<Providers>,
    /// Globs of the workflow's own files inside the project.
    pub own_files: Vec<String>,
    /// Nothing runs where the kernel cannot confine programs.
    pub require_sandbox: bool,
    /// How progress is shown.
    pub format: Format,
    /// Branch to work on, where it is not the present one.
    pub branch: Option<String>,
    /// How it is watched over.
    pub supervision: Supervision,
    /// Digests of what the document consists of (see [`super::changes`]).
    pub parts: Map<String, Value>,
}

/// How a run is watched over.
#[derive(Clone, Debug, Default)]
pub struct Supervision {
    /// A watchdog is started.
    pub watched: bool,
    /// Deaths of the engine so far.
    pub deaths: u32,
    /// The run is to be ended instead of gone on with: why.
    pub abort: Option<String>,
    /// Arguments of `rsf resume` for whoever goes on after a death.
    pub again: Vec<String>,
}

/// Begins a run: from here on files are written.
pub fn begin(launch: &Launch) -> Result<Status, Refused> {
    let io = |message: String| refuse(Status::Code(1), &message);
    let dir = tidy::run_dir(launch.plan.workflow());
    let run = launch.prepared.run_id.clone();
    let _lock = RunLock::acquire(&launch.root.join(&dir), &run, SystemClock.now()).map_err(|e| io(e.to_string()))?;
    let root = leftovers::open(&launch.root, &dir).map_err(|fault| io(fault.to_string()))?;
    leftovers::clear(&root, &dir, &[]).iter().for_each(|note| complain(&format!("rsf: {note}")));
    // With the lock held: no run that is under way ever sees its branch changed.
    if let Some(branch) = &launch.branch {
        Repo::require(&launch.root).and_then(|repo| repo.switch_to(branch)).map_err(|fault| io(fault.to_string()))?;
    }
    keep_out_of_git(launch).map_err(io)?;
    tidy::put_away(&root, launch.plan.workflow(), &run).map_err(|fault| io(fault.to_string()))?;
    let folder = run_folder(&launch.root.join(&dir), &run).map_err(|e| io(e.to_string()))?;
    let journal = Journal::create(&folder, header(launch), SystemClock.now(), Durability::Full).map_err(|e| io(e.to_string()))?;
    drive(launch, journal, None)
}

/// Goes on with a run whose process ended; whoever opened its journal holds the project's lock.
pub fn go_on(launch: &Launch, opened: Opened, _lock: &RunLock) -> Result<Status, Refused> {
    if let Some(message) = guard::refusal(launch.require_sandbox, support()) {
        return Err(refuse(Status::Rejected, &message));
    }
    let dir = tidy::run_dir(launch.plan.workflow());
    let root = leftovers::open(&launch.root, &dir).map_err(|fault| refuse(Status::Code(1), &fault.to_string()))?;
    let left = leftovers::clear(&root, &dir, &opened.records);
    opened.notes.iter().chain(&left).for_each(|note| complain(&format!("rsf: {note}")));
    drive(launch, opened.journal, Some(opened.records))
}

/// What a resume needs to set the run up again.
fn header(launch: &Launch) -> Header {
    let settings = &launch.settings;
    Header {
        format: crate::journal::FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        run: launch.prepared.run_id.clone(),
        workflow: launch.workflow.clone(),
        document: launch.plan.digest().to_owned(),
        config: digest_json(&settings.config),
        params: Value::Object(launch.prepared.params.clone()),
        seed: 0,
        settings: json!({
            "config": settings.config, "limits": settings.limits, "params": settings.params, "prepared": launch.prepared,
            "own_files": launch.own_files, "parts": launch.parts, "require_sandbox": launch.require_sandbox,
        }),
    }
}

fn keep_out_of_git(launch: &Launch) -> Result<(), String> {
    let Some(repo) = Repo::open(&launch.root).map_err(|fault| fault.to_string())? else { return Ok(()) };
    let folders = tidy::untracked(launch.plan.workflow());
    let patterns: Vec<&str> = folders.iter().map(String::as_str).collect();
    repo.ensure_excluded(&patterns).map_err(|fault| fault.to_string())
}

fn drive(launch: &Launch, journal: Journal, records: Option<Vec<Record>>) -> Result<Status, Refused> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|e| refuse(Status::Code(1), &format!("no runtime: {e}")))?;
    let dir = tidy::run_dir(launch.plan.workflow());
    let root = leftovers::open(&launch.root, &dir).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    root.clear_drafts();
    let scratch = leftovers::scratch(&root, &dir).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let executor = Arc::new(effects(launch, root, scratch.path())?);
    let machine = Machine::new(Arc::clone(&launch.plan), launch.prepared.clone());
    let (sender, mut events) = unbounded_channel::<Event>();
    let asked = Arc::new(AtomicBool::new(false));
    let mut options = options(launch, journal.path(), &asked);
    let mut journal = journal;
    let reserve = reserve::make(&launch.root.join(&dir));
    let relief = reserve.clone();
    journal.relieve_with(move || relief.give_up());
    let room = reserve.clone();
    options.disk_full = Some(Arc::new(move || {
        room.give_up();
    }));
    let leash = leash(launch, &dir);
    options.heartbeat = Some(heartbeat(launch, &dir, leash.clone())?);
    let mut watch = watcher(launch);
    let places = places(launch);
    if let Some(records) = &records {
        watch.remember(&past_events(records, &options.journal, |result| exit_code(&launch.plan, result)));
    }
    let shown = std::thread::spawn(move || {
        while let Some(event) = events.blocking_recv() {
            watch.event(&event);
        }
        let places: Vec<(&str, &str)> = places.iter().map(|(caption, path)| (caption.as_str(), path.as_str())).collect();
        watch.finish(&places);
    });
    let end = runtime.block_on(async {
        let driver = Driver::new(machine, journal, executor, options, sender);
        if let Err(error) = listen(driver.handle()) {
            complain(&format!("rsf: signals cannot be heard: {error}"));
        }
        match &records {
            None => driver.run().await,
            Some(records) => driver.resume(records).await,
        }
    });
    // The sender went with the driver, so the watcher ends; a watcher that died has shown its own fault.
    let _ = shown.join();
    if matches!(end, Ok(RunEnd::Ended { .. })) && asked.load(Ordering::SeqCst) {
        // The request is answered; the next run is another matter.
        let _ = std::fs::remove_file(launch.root.join(&dir).join(STOP));
    }
    reserve.give_up();
    if let Some(leash) = leash {
        leash.end();
    }
    let faults = launch.providers.recording().map(Recording::faults).unwrap_or_default();
    faults.iter().for_each(|fault| complain(&format!("rsf: {fault}")));
    let status = status(launch, end);
    // A run that was answered otherwise than it asked shows nothing, whatever it ended as.
    Ok(if faults.is_empty() { status } else { Status::Code(1) })
}

fn effects(launch: &Launch, root: Root, scratch: &Path) -> Result<Effects, Refused> {
    let failed = |message: String| refuse(Status::Code(1), &message);
    let home = std::env::home_dir();
    let further = guard::further(launch.plan.config(), home.as_deref()).map_err(failed)?;
    let config = ProjectConfig {
        root: launch.root.clone(),
        run_dir: tidy::run_dir(launch.plan.workflow()),
        scratch_root: scratch.to_path_buf(),
        protected: launch.own_files.clone(),
        output_bytes: launch.plan.limits().output_bytes,
        further_read: further.read,
        further_write: further.write,
    };
    let tools = Registry::new(config).map_err(|e| failed(e.to_string()))?;
    Ok(Effects {
        tools: Arc::new(tools),
        models: Arc::new(Models(Arc::clone(&launch.providers))),
        files: Arc::new(ProjectFiles::new(root)),
    })
}

/// A watchdog for this process, where one is wanted. A run without one is better than none.
fn leash(launch: &Launch, dir: &str) -> Option<Leash> {
    let supervision = &launch.supervision;
    if !supervision.watched {
        return None;
    }
    let rules = watchdog::Rules::of(launch.plan.config());
    let args = watchdog::Args {
        run: launch.prepared.run_id.clone(),
        repo: launch.root.clone(),
        dir: dir.to_owned(),
        pid: std::process::id(),
        timeout: rules.timeout.as_secs_f64(),
        deaths: supervision.deaths,
        restarts: rules.restarts,
        again: supervision.again.clone(),
    };
    Leash::start(&args).map_err(|error| complain(&format!("rsf: the run is not watched over: {error}"))).ok()
}

/// The sign of life: a word to the watchdog, and the file `HEARTBEAT` for everybody else.
fn heartbeat(launch: &Launch, dir: &str, leash: Option<Leash>) -> Result<(Duration, Heartbeat), Refused> {
    let root = leftovers::open(&launch.root, dir).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let (path, run) = (format!("{dir}/HEARTBEAT"), launch.prepared.run_id.clone());
    let sign = move || {
        leash.iter().for_each(Leash::beat);
        let text = json!({"run": run, "pid": std::process::id(), "at": SystemClock.now().rfc3339()});
        // On a full disk the watchdog hears of it all the same.
        let _ = root.write_atomic(&path, format!("{text}\n").as_bytes());
    };
    Ok((watchdog::Rules::of(launch.plan.config()).every, Arc::new(sign)))
}

fn options(launch: &Launch, journal: &Path, asked: &Arc<AtomicBool>) -> Options {
    let stop = launch.root.join(tidy::run_dir(launch.plan.workflow())).join(STOP);
    let asked = Arc::clone(asked);
    let deaths = launch.supervision.deaths;
    let plan = Arc::clone(&launch.plan);
    Options {
        run: launch.prepared.run_id.clone(),
        journal: journal.strip_prefix(&launch.root).unwrap_or(journal).to_string_lossy().into_owned(),
        project: super::ready::project(&launch.root),
        stop_requested: Arc::new(move || {
            let there = stop.exists();
            asked.fetch_or(there, Ordering::SeqCst);
            there
        }),
        facts: (deaths > 0).then(|| ("watchdog_deaths".to_owned(), Value::from(deaths))).into_iter().collect(),
        abort: launch.supervision.abort.clone(),
        heartbeat: None,
        disk_full: None,
        clock: Arc::new(SystemClock),
        exit: Arc::new(move |result| exit_code(&plan, result)),
        grace: GRACE,
    }
}

/// The document's `results`; unless it says otherwise only `COMPLETED` is a success.
pub fn exit_code(plan: &Plan, result: &str) -> u8 {
    plan.workflow().execution.results.get(result).copied().unwrap_or_else(|| u8::from(result != "COMPLETED"))
}

fn watcher(launch: &Launch) -> Watch {
    match launch.format {
        Format::Json => Watch::Programs,
        Format::Text => Watch::people(Sheet::of(launch.plan.workflow()), false),
    }
}

/// The journal is named by the last screen itself.
fn places(launch: &Launch) -> Vec<(String, String)> {
    let dir = launch.root.join(tidy::run_dir(launch.plan.workflow()));
    vec![
        ("project".to_owned(), launch.root.display().to_string()),
        ("run directory".to_owned(), dir.display().to_string()),
        ("sandbox".to_owned(), support().in_words()),
    ]
}

fn status(launch: &Launch, end: Result<RunEnd, DriverError>) -> Status {
    match end {
        Ok(RunEnd::Ended { result, .. }) => Status::Code(exit_code(&launch.plan, &result)),
        Ok(RunEnd::Interrupted) => {
            complain(&format!("rsf: interrupted; `rsf resume {}` goes on", launch.prepared.run_id));
            Status::Code(130)
        }
        Err(error) => {
            complain(&format!("rsf: {error}"));
            Status::Code(1)
        }
    }
}
