//! `rsf runs`: which runs a project has had; `rsf runs prune` removes old ones.

use super::archive::{Found, Told, project, runs};
use super::ready::{Refused, refuse};
use super::{Status, print};
use crate::journal::RunLock;
use crate::report::text::{clip, one_line};
use crate::world::{Clock, SystemClock};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Columns given to the words of a goal.
const GOAL: usize = 60;

/// List the runs of a project, the newest first.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub repo: PathBuf,
    /// One JSON object per run.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    /// Remove the journals of old runs that have ended, and what crashed processes left in those of the others.
    Prune {
        /// How many of the newest runs stay whatever became of them.
        #[arg(long, value_name = "N", default_value_t = 10)]
        keep: usize,
        /// Say what would be removed, and remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Lists or prunes.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = project(&args.repo)?;
    match args.what {
        Some(What::Prune { keep, dry_run }) => prune(&root, keep, dry_run),
        None => {
            let lines: Vec<String> = runs(&root).iter().rev().map(|run| line(run, args.json)).collect();
            if lines.is_empty() && !args.json {
                print("no runs yet\n");
            }
            lines.iter().for_each(|line| print(line));
            Ok(Status::Ok)
        }
    }
}

/// One word for where a run stands.
pub fn state(run: &Found, told: &Told) -> String {
    match told.end() {
        Some((result, _)) => one_line(result),
        None if run.is_live() => "running".to_owned(),
        None => "unfinished".to_owned(),
    }
}

fn line(run: &Found, json: bool) -> String {
    let Ok(told) = run.told() else {
        return if json {
            format!("{}\n", json!({"run": run.name, "state": "damaged"}))
        } else {
            format!("{}  damaged\n", one_line(&run.name))
        };
    };
    let (state, (round, _)) = (state(run, &told), told.place());
    let since = told.records.first().map_or_else(String::new, |record| record.at.rfc3339());
    if json {
        let bytes = std::fs::metadata(run.folder.join("journal.jsonl")).map_or(0, |found| found.len());
        let line = json!({"run": run.name, "state": state, "round": round, "since": since, "workflow": told.header.workflow,
            "params": told.header.params, "journal_bytes": bytes});
        return format!("{line}\n");
    }
    let goal = clip(&one_line(&told.goal()), GOAL);
    format!("{}  {state}  round {round}  {since}  {}  {goal}\n", one_line(&run.name), one_line(&told.header.workflow))
}

fn prune(root: &Path, keep: usize, dry_run: bool) -> Result<Status, Refused> {
    let (verb, mut removed, mut freed) = (if dry_run { "would remove" } else { "removed" }, 0, 0);
    for run in runs(root).into_iter().rev() {
        // With the lock held no process can be working on it, nor begin to.
        let lock = RunLock::acquire(&run.dir, &run.name, SystemClock.now()).map_err(|error| refuse(Status::Code(1), &error.to_string()))?;
        let Ok(told) = run.told() else { continue };
        removed += 1;
        if removed > keep && told.end().is_some() {
            freed += size(&run.folder);
            print(&format!("{verb} {}\n", one_line(&run.name)));
            if !dry_run {
                remove(&run.folder)?;
            }
        } else {
            for blob in unnamed(&run.folder) {
                freed += size(&blob);
                if !dry_run {
                    std::fs::remove_file(&blob).map_err(|e| refuse(Status::Code(1), &format!("{}: {e}", blob.display())))?;
                }
            }
        }
        drop(lock);
    }
    print(&format!("{freed} bytes {}\n", if dry_run { "would be free" } else { "are free" }));
    Ok(Status::Ok)
}

fn remove(folder: &Path) -> Result<(), Refused> {
    // The journal first: a folder without one is no run, wherever this is interrupted. What else the workflow keeps there stays.
    let fault = |path: &Path, e: std::io::Error| refuse(Status::Code(1), &format!("{} cannot be removed: {e}", path.display()));
    for name in ["journal.jsonl", "ACCEPTED"] {
        let path = folder.join(name);
        if path.exists() {
            std::fs::remove_file(&path).map_err(|e| fault(&path, e))?;
        }
    }
    let blobs = folder.join("blobs");
    std::fs::remove_dir_all(&blobs).map_err(|e| fault(&blobs, e))?;
    // Not empty where the next run has put reports away in it.
    let _ = std::fs::remove_dir(folder);
    Ok(())
}

/// Blobs, whole or not, that no record names: written by a process that died before it wrote their line.
fn unnamed(folder: &Path) -> Vec<PathBuf> {
    let Ok(text) = std::fs::read_to_string(folder.join("journal.jsonl")) else { return Vec::new() };
    let mut named: BTreeSet<String> = BTreeSet::new();
    for line in text.lines() {
        // A line that does not read is no reason to take its blobs away.
        let Ok(line) = serde_json::from_str::<Value>(line.trim_matches('\0')) else {
            if line.trim_matches('\0').is_empty() {
                continue;
            }
            return Vec::new();
        };
        names(&line, folder, &mut named);
    }
    let blobs = std::fs::read_dir(folder.join("blobs")).into_iter().flatten().flatten().map(|entry| entry.path());
    blobs.filter(|path| path.file_name().is_some_and(|name| !named.contains(name.to_string_lossy().as_ref()))).collect()
}

fn names(value: &Value, folder: &Path, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(digest) = map.get("$blob").and_then(Value::as_str)
                && named.insert(digest.to_owned())
                && map.get("json").is_some()
            {
                // A tree in a blob names further ones.
                let text = std::fs::read_to_string(folder.join("blobs").join(digest)).unwrap_or_default();
                names(&serde_json::from_str(&text).unwrap_or_default(), folder, named);
            }
            map.values().for_each(|value| names(value, folder, named));
        }
        Value::Array(items) => items.iter().for_each(|value| names(value, folder, named)),
        _ => {}
    }
}

fn size(path: &Path) -> u64 {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum(),
        Ok(found) => found.len(),
        Err(_) => 0,
    }
}
