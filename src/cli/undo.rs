//! `rsf undo`: reverts the commits a run made, newest first, after showing them.

use super::archive::{Told, choose, project};
use super::ready::{Refused, refuse};
use super::{Status, complain, print};
use crate::journal::{Entry, RunLock};
use crate::machine::{EffectId, Input, Outcome};
use crate::report::text::one_line;
use crate::world::{Clock, SystemClock, git::Repo};
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// Revert the commits a run made, newest first, after showing them.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run; the newest one unless named.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Shows, asks, reverts.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = project(&args.repo)?;
    let found = choose(&root, args.run.as_deref())?;
    let _lock = RunLock::acquire(&found.dir, &found.name, SystemClock.now()).map_err(|e| refuse(Status::Code(1), &e.to_string()))?;
    let told = found.told()?;
    let repo = Repo::require(&root).map_err(|fault| refuse(Status::Code(1), &fault.to_string()))?;
    let shas = standing(&repo, commits(&told));
    if shas.is_empty() {
        print(&format!("run {} made no commit that still stands\n", one_line(&found.name)));
        return Ok(Status::Ok);
    }
    for sha in &shas {
        let subject = repo.commit_info(sha).map_or_else(|fault| fault.message, |info| info.message);
        complain(&format!("  {} {}", sha.get(..10).unwrap_or(sha), one_line(subject.lines().next().unwrap_or_default())));
    }
    confirm(args, shas.len())?;
    for sha in &shas {
        let done = repo.revert(sha, None, &|_| Ok(())).map_err(|fault| refuse(Status::Code(1), &fault.to_string()))?;
        if done.conflict {
            let message = format!("{sha} cannot be reverted: later commits changed {}; nothing older was touched", done.files.join(", "));
            return Err(refuse(Status::Code(1), &message));
        }
        let what = done.sha.map_or_else(|| "is undone already".to_owned(), |new| format!("reverted by {}", new.get(..10).unwrap_or(&new)));
        print(&format!("{} {what}\n", sha.get(..10).unwrap_or(sha)));
    }
    Ok(Status::Ok)
}

/// Commits and reverts that the run's record tells of, the newest first.
fn commits(told: &Told) -> Vec<String> {
    let mut git: BTreeSet<&EffectId> = BTreeSet::new();
    let mut shas: Vec<String> = Vec::new();
    for record in &told.records {
        match &record.entry {
            Entry::Request(request) => {
                let tool = request.request.pointer("/tool/tool").and_then(|tool| tool.as_str());
                if matches!(tool, Some("git.commit" | "git.revert" | "git_commit" | "git_revert")) {
                    git.insert(&request.id);
                }
            }
            Entry::Input(input) => {
                if let Input::Effect { id, outcome: Outcome::Tool(answer), .. } = input.as_ref()
                    && git.contains(id)
                    && let Some(sha) = answer["sha"].as_str()
                    && !shas.iter().any(|known| known == sha)
                {
                    shas.push(sha.to_owned());
                }
            }
            _ => {}
        }
    }
    shas.reverse();
    shas
}

/// Without the pairs of a commit and its revert: they undo each other.
fn standing(repo: &Repo, shas: Vec<String>) -> Vec<String> {
    let mut gone: BTreeSet<String> = BTreeSet::new();
    for sha in &shas {
        if gone.contains(sha) {
            continue;
        }
        let Ok(info) = repo.commit_info(sha) else { continue };
        let reverted = info.message.rsplit_once("This reverts commit ").and_then(|(_, rest)| rest.split('.').next());
        if let Some(reverted) = reverted.filter(|reverted| shas.iter().any(|sha| sha == reverted)) {
            gone.insert(reverted.to_owned());
            gone.insert(sha.clone());
        }
    }
    shas.into_iter().filter(|sha| !gone.contains(sha)).collect()
}

fn confirm(args: &Args, count: usize) -> Result<(), Refused> {
    if args.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(refuse(Status::Usage, "nobody is there to say yes: give --yes to revert without asking"));
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "Revert {count} commits? [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        Ok(())
    } else {
        Err(refuse(Status::Rejected, "nothing was reverted"))
    }
}
