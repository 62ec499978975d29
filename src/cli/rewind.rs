//! Going on from an earlier point: `rsf fork` (a new run that shares the past of another) and the settings of `rsf resume --set`.
//!
//! Both write a new journal: the inputs of the old one that still hold, with what a machine of the new settings or name asks for. So what is
//! recorded keeps its answers, matched by identity, although a question would now read differently (another limit in a prompt).

use super::archive::{Found, Told, choose, project};
use super::ready::{Refused, refuse};
use super::resume::{self, plan_of};
use super::{Status, complain, print};
use crate::driver::{compatible, retell, round_begins};
use crate::journal::{Durability, Entry, Header, Journal, JournalError, Record, RunLock, run_folder};
use crate::machine::{Input, Machine};
use crate::world::git::Repo;
use crate::world::{Clock, SystemClock};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Begin a new run with the past of another one, up to the beginning of a round.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The round that is the first to be run anew.
    #[arg(long, value_name = "ROUND")]
    pub at: u32,
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// A folder of further workflows whose names may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}

/// Makes the fork; `rsf resume` runs it.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = project(&args.repo)?;
    let found = choose(&root, Some(&args.run))?;
    let _lock = RunLock::acquire(&found.dir, &found.name, SystemClock.now()).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let told = found.told()?;
    let Some(end) = round_begins(&told.records, args.at) else {
        return Err(refuse(Status::Usage, &format!("run {} did not begin a round {}", found.name, args.at)));
    };
    let records = &told.records[..end];
    let name = new_name(&found)?;
    let mut header = told.header.clone();
    header.run.clone_from(&name);
    header.settings["prepared"]["run_id"] = Value::from(name.clone());
    let suffix = name.strip_prefix(&found.name).unwrap_or_default();
    // Names of its own: files, tags and numbers of the two runs must not meet.
    for id in header.settings["prepared"]["ids"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
        if let Some(text) = id.as_str() {
            *id = Value::from(format!("{text}{suffix}"));
        }
    }
    let (plan, prepared) = plan_of(&header, args.workflows.as_deref())?;
    let machine = || Machine::new(Arc::clone(&plan), prepared.clone());
    if compatible(&mut machine(), records) != Some(records.len()) {
        return Err(refuse(Status::Rejected, "what is recorded does not hold for a run with another name: an answer holds the old one"));
    }
    header.settings["forked"] = json!({"run": found.name, "round": args.at});
    let branch = branch(&root, &name, records)?;
    let folder = run_folder(&found.dir, &name).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    write(&folder, header, machine(), records)?;
    print(&format!("run {name} begins with round {} of {}{branch}; `rsf resume {name}` runs it\n", args.at, found.name));
    Ok(Status::Ok)
}

fn new_name(found: &Found) -> Result<String, Refused> {
    let free = (1..1000).map(|number| format!("{}-fork-{number}", found.name)).find(|name| !found.dir.join("runs").join(name).exists());
    free.ok_or_else(|| refuse(Status::Code(1), "there are a thousand forks of this run already"))
}

/// The project as it was then, on a branch of its own; the present branch stays as it is.
fn branch(root: &Path, name: &str, records: &[Record]) -> Result<String, Refused> {
    let failed = |message: String| refuse(Status::Rejected, &message);
    let Some(repo) = Repo::open(root).map_err(|fault| failed(fault.to_string()))? else { return Ok(String::new()) };
    let Some(sha) = last_commit(records) else { return Ok(String::new()) };
    let branch = format!("rsf/{name}");
    repo.branch_at(&branch, &sha).and_then(|()| repo.switch_to(&branch)).map_err(|fault| failed(fault.to_string()))?;
    Ok(format!(", on the branch {branch}"))
}

/// The commit HEAD was at: the last answer of a git call that names it.
fn last_commit(records: &[Record]) -> Option<String> {
    records.iter().rev().find_map(|record| match &record.entry {
        Entry::Input(input) => match input.as_ref() {
            Input::Effect { outcome: crate::machine::Outcome::Tool(answer), .. } => {
                let text = |name: &str| answer[name].as_str().filter(|sha| sha.len() == 40).map(str::to_owned);
                let commits = answer.get("files_changed").is_some() || answer.get("conflict").is_some();
                text("head").or_else(|| commits.then(|| text("sha")).flatten())
            }
            _ => None,
        },
        _ => None,
    })
}

/// Gives a run new settings: the longest part of its record that still holds becomes its journal, the old one is kept beside it.
pub fn with_settings(found: &Found, told: &Told, sets: &[String], workflows: Option<&Path>) -> Result<(), Refused> {
    let header = resume::changed_settings(&told.header, sets, workflows)?;
    let (plan, prepared) = plan_of(&header, workflows)?;
    // What a person or the disk had asked for then is no reason to end now.
    let asked = |record: &&Record| !matches!(&record.entry, Entry::Input(input) if matches!(input.as_ref(), Input::Stop { .. } | Input::Abort { .. }));
    let records: Vec<Record> = told.records.iter().filter(asked).cloned().collect();
    let machine = || Machine::new(Arc::clone(&plan), prepared.clone());
    let end = compatible(&mut machine(), &records);
    let Some(end) = end else {
        return Err(refuse(Status::Rejected, "with these settings the run would end in the same place; there is nothing to go on with"));
    };
    let dropped = records.len() - end;
    let kept = (1..1000).map(|number| found.folder.join(format!("journal-before-{number}.jsonl"))).find(|path| !path.exists());
    let kept = kept.ok_or_else(|| refuse(Status::Code(1), "the settings of this run were changed a thousand times"))?;
    let journal = found.folder.join("journal.jsonl");
    let failed = |e: std::io::Error| refuse(Status::Code(1), &format!("{} cannot be put aside: {e}", journal.display()));
    std::fs::rename(&journal, &kept).map_err(failed)?;
    if let Err(refused) = write(&found.folder, header, machine(), &records[..end]) {
        // As it was before.
        let _ = std::fs::rename(&kept, &journal);
        return Err(refused);
    }
    complain(&format!("rsf: {dropped} records that led to the end do not hold any more; the journal as it was is {}", kept.display()));
    Ok(())
}

/// Writes a journal in which `machine` is told what `records` tell.
fn write(folder: &Path, header: Header, mut machine: Machine, records: &[Record]) -> Result<(), Refused> {
    let failed = |e: JournalError| refuse(Status::Code(1), &e.to_string());
    let at = records.first().map_or_else(|| SystemClock.now(), |record| record.at);
    let mut journal = Journal::create(folder, header, at, Durability::Full).map_err(failed)?;
    retell(&mut machine, records, &mut journal).and_then(|()| journal.close()).map_err(failed)
}
