//! `rsf run`: checks, asks, and starts a run; or says what it would do.

use super::launch::{Launch, Supervision, begin};
use super::ready::{Ready, Refused, project, ready, refuse};
use super::settings::{self, Layer, SettingsError};
use super::{Status, archive, complain, dry_run, guard, print, spending, tidy, watchdog};
use crate::journal::RunLock;
use crate::provider::recording::Recording;
use crate::report::briefing::Briefing;
use crate::report::text::one_line;
use crate::world::{Clock, SystemClock, git::Repo, project::preflight, support};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, IsTerminal, Write};
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

const HELP: &str = "\
Examples:
  rsf run writer-editor \"why rivers bend\" --profile demo     with a scripted model: no key, no cost
  rsf run FILE \"…\" --dry-run                     what would run, with which prompts; nothing is touched
  rsf run FILE \"…\" --branch try-it --yes          on a branch of its own, without a question
  rsf run writer-editor \"…\" --set config.models.writer=my-model \\
      --set 'config.providers.mine={\"wire\":\"chat\",\"models\":[\"my-*\"],\"base_url\":\"https://host/v1\",\"key_env\":\"MY_KEY\"}'

Built-in workflows, their parameters and their settings: `rsf init NAME` writes one into a folder, to be read.

Settings are layers, each merged over the one before: the document, --profile, --config, --set in the order given.
Stop a run with Ctrl-C (the round is finished first; a second Ctrl-C ends at once) or by making the file STOP in the
run directory (.rsf, or what the document's `dir` says). `rsf resume` goes on with a run that was cut off.

Exit status: what the document's `results` gives the run's result (COMPLETED is 0, anything else 1, unless it says
otherwise); 1 when the run is refused before it starts, 2 for wrong usage, 130 when it was interrupted.";

/// Run a workflow on a project: checks it, asks, runs it, and says where the files are.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
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

    /// Start without asking; needed where there is no terminal.
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Work on this branch; made from the present commit where it does not exist.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Check everything and say what would run, with the first prompts and the cost; start nothing, write nothing.
    ///
    /// Exits with 1 where the run would be refused.
    #[arg(long)]
    pub dry_run: bool,

    /// Keep every exchange with a model in this folder, which must be empty or new.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,

    /// Answer models from this folder of recorded exchanges, without network or keys; a question that was not recorded is an error.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,

    /// Refuse to run where the kernel cannot confine the programs that roles start.
    #[arg(long)]
    pub require_sandbox: bool,

    /// How progress is shown.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,

    /// Start no watchdog, the process that goes on with the run when this one hangs or dies.
    #[arg(long)]
    pub no_watchdog: bool,

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

    /// What the run may cost, e.g. `¥20`: sets `limits.cost`.
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Option<String>,
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
        if let Some(budget) = &self.budget {
            layers.push(spending::layer(budget)?);
        }
        Ok(layers)
    }
}

/// Runs a workflow, from its checks to its last screen.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let now = SystemClock.now();
    let mut ready = ready(args, now, &seed(args)?)?;
    let mut unmet = unmet(args, &ready);
    unmet.extend(money(args, &mut ready));
    unmet.extend(guard::refusal(args.require_sandbox, support()));
    let briefing = briefing(&ready);
    if args.dry_run {
        print(&briefing);
        print(&dry_run::text(&ready, now, &project(&ready.root)));
        unmet.iter().for_each(|line| print(&format!("would be refused: {}\n", one_line(line))));
        return Ok(if unmet.is_empty() { Status::Ok } else { Status::Rejected });
    }
    if !unmet.is_empty() {
        archive::mention_unfinished(&ready.root);
        for line in &unmet {
            complain(&format!("rsf: {}", one_line(line)));
        }
        return Err(refuse(Status::Rejected, "nothing was written; mend this and run again"));
    }
    archive::mention_unfinished(&ready.root);
    confirm(args, &briefing)?;
    begin(&Launch {
        workflow: ready.workflow,
        plan: ready.plan,
        prepared: ready.prepared,
        settings: ready.settings,
        root: ready.root,
        providers: ready.providers,
        own_files: ready.own_files,
        require_sandbox: args.require_sandbox,
        format: args.format,
        branch: args.branch.clone(),
        supervision: Supervision {
            watched: watchdog::wanted(args.no_watchdog),
            again: watchdog::again(args.format, args.workflows.as_deref()),
            ..Supervision::default()
        },
        parts: ready.parts,
    })
}

/// What the run's random text comes from: a replay takes the recorded one, else it is drawn from the seeds the standard library draws for its hash maps.
fn seed(args: &Args) -> Result<String, Refused> {
    if let Some(folder) = &args.replay {
        return Recording::seed(folder).map_err(|fault| refuse(Status::Usage, &format!("--replay: {fault}")));
    }
    let word = || RandomState::new().hash_one(std::process::id());
    Ok(format!("{:016x}{:016x}", word(), word()))
}

/// Everything that keeps the run from starting: another run, the branch, what the document's `requires` finds missing, models nobody serves.
fn unmet(args: &Args, ready: &Ready) -> Vec<String> {
    let mut lines = Vec::new();
    match RunLock::holder(&ready.root.join(tidy::run_dir(ready.plan.workflow()))) {
        Ok(None) => {}
        Ok(Some(holder)) => lines.push(format!("another run works on this project ({holder}): wait until it has ended, or stop it")),
        Err(error) => lines.push(error.to_string()),
    }
    if let Some(branch) = &args.branch {
        lines.extend(Repo::require(&ready.root).and_then(|repo| repo.may_switch_to(branch)).err().map(|fault| fault.to_string()));
    }
    lines.extend(ready.unmet.iter().cloned());
    let requires = ready.plan.workflow().execution.requires.clone();
    let python = ready.plan.config().get("python").and_then(Value::as_str).unwrap_or("python3").to_owned();
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let found = runtime.block_on(preflight(&ready.root, &requires, &python));
            lines.extend(found.into_iter().map(|unmet| format!("{}: {}", unmet.requirement, unmet.message)));
            // Asked last, and only where nothing else is in the way: a rehearsal touches nothing, the network included.
            if lines.is_empty() && !args.dry_run {
                let models = ready.models.values().map(String::as_str);
                lines.extend(runtime.block_on(ready.providers.reachable(models)).err().into_iter().flatten());
            }
        }
        Err(error) => lines.push(format!("requirements cannot be looked at: {error}")),
    }
    lines
}

/// Looks at accounts and prices: notes what to know, gives what keeps the run from starting. A dry run asks nobody.
fn money(args: &Args, ready: &mut Ready) -> Vec<String> {
    let models: Vec<String> = ready.models.values().collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let runtime = (!args.dry_run).then(|| tokio::runtime::Builder::new_current_thread().enable_all().build());
    let accounts = match runtime {
        None => Vec::new(),
        Some(Ok(runtime)) => runtime.block_on(ready.providers.accounts(&models)),
        Some(Err(error)) => vec![Err(format!("accounts cannot be asked: {error}"))],
    };
    let priced = ready.plan.workflow().execution.price.is_some();
    ready.notes.extend(spending::notes(&ready.providers, &models, priced, &accounts));
    ready.prepared.balance = spending::balance(&accounts);
    spending::refusals(args.overrides.budget.as_deref(), &ready.providers, &models, &accounts)
}

fn briefing(ready: &Ready) -> String {
    let confirm = ready.prepared.confirm.clone().map(Value::String);
    let briefing = Briefing {
        workflow: &ready.shown,
        params: &ready.prepared.params,
        limits: &ready.settings.limits,
        confirm: confirm.as_ref(),
        models: &ready.models,
        notes: &ready.notes,
    };
    format!("{}\n", briefing.text())
}

/// A person says yes before anything is written; without a person it takes `--yes`.
fn confirm(args: &Args, briefing: &str) -> Result<(), Refused> {
    if args.yes {
        if args.format == Format::Text {
            complain(briefing.trim_end());
        }
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(refuse(Status::Usage, "nobody is there to say yes: give --yes to start without asking"));
    }
    complain(briefing.trim_end());
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "Start? [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是") {
        return Ok(());
    }
    Err(refuse(Status::Rejected, "not started"))
}

impl Args {
    /// The arguments of a trigger word: `rsf WORD "…" …` means `rsf run WORD "…" …`.
    ///
    /// # Errors
    /// What clap says of them.
    pub fn of_words(words: Vec<String>) -> Result<Self, clap::Error> {
        #[derive(clap::Parser)]
        #[command(name = "rsf run")]
        struct Run {
            #[command(flatten)]
            args: Args,
        }
        let argv = std::iter::once("rsf run".to_owned()).chain(words);
        <Run as clap::Parser>::try_parse_from(argv).map(|run| run.args)
    }
}
