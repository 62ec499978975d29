//! `rsf init`: writes a built-in workflow with its prompts and schemas into a project, as a start of one's own.

use super::place::{PlaceError, Placed, place};
use super::settings::no_such;
use super::{Status, complain, print};
use crate::bundle::Bundle;
use crate::report::text::{one_line, plural};
use cap_std::fs::Dir;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Write a built-in workflow with its prompts and schemas into a project.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The built-in workflow.
    #[arg(value_name = "NAME")]
    pub workflow: String,

    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Overwrite files that are there with other content.
    #[arg(long)]
    pub force: bool,
}

/// Writes the files and says what was done.
pub fn run(args: &Args) -> Status {
    let failed = |message: String| {
        complain(&format!("rsf: {message}"));
        Status::Usage
    };
    if let Err(error) = std::fs::create_dir_all(&args.dir) {
        return failed(format!("{}: {error}", args.dir.display()));
    }
    let folder = match Dir::open_ambient_dir(&args.dir, cap_std::ambient_authority()) {
        Ok(folder) => folder,
        Err(error) => return failed(format!("{}: {error}", args.dir.display())),
    };
    let embedded = Bundle::embedded_bytes();
    let files: Vec<(&str, &[u8])> = embedded.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    match write(&folder, &args.workflow, &files, args.force) {
        Ok(said) => {
            said.iter().for_each(|line| print(&format!("{line}\n")));
            Status::Ok
        }
        Err(error) => failed(error.to_string()),
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is no such built-in workflow.
    #[error("{0}")]
    Unknown(String),
    /// The files could not be placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

/// The embedded files that belong to the workflow `name`: its document, the folders that bear its name, and whatever embedded file any of
/// these mentions by path.
///
/// # Errors
/// No such workflow; names those there are.
pub fn belonging<'a>(name: &str, embedded: &[(&'a str, &'a [u8])]) -> Result<Vec<(&'a str, &'a [u8])>, InitError> {
    let all: BTreeMap<&str, &[u8]> = embedded.iter().copied().collect();
    let document = format!("workflows/{name}.json");
    let Some((start, _)) = all.get_key_value(document.as_str()) else {
        let names = all.keys().filter_map(|path| path.strip_prefix("workflows/")?.strip_suffix(".json"));
        // A table in a folder of its own belongs to a workflow and is none.
        let known: Vec<&str> = names.filter(|name| !name.contains('/')).collect();
        return Err(InitError::Unknown(no_such("built-in workflow", name, known)));
    };
    let folders = ["workflows", "prompts", "schemas"].map(|room| format!("{room}/{name}/"));
    let mut chosen: BTreeSet<&str> = all.keys().copied().filter(|path| folders.iter().any(|folder| path.starts_with(folder))).collect();
    chosen.insert(start);
    let mut open: Vec<&str> = chosen.iter().copied().collect();
    while let Some(path) = open.pop() {
        let text = String::from_utf8_lossy(all.get(path).copied().unwrap_or_default());
        for other in all.keys().copied() {
            if !chosen.contains(other) && text.contains(other) {
                chosen.insert(other);
                open.push(other);
            }
        }
    }
    Ok(chosen.into_iter().filter_map(|path| Some((path, *all.get(path)?))).collect())
}

/// Writes the workflow's files into `folder` and says what was done, one line per file.
///
/// # Errors
/// See [`InitError`].
pub fn write(folder: &Dir, name: &str, embedded: &[(&str, &[u8])], force: bool) -> Result<Vec<String>, InitError> {
    let files = belonging(name, embedded)?;
    let placed = place(folder, &files, force)?;
    let mut said: Vec<String> = placed
        .iter()
        .map(|(path, placed)| {
            let word = match placed {
                Placed::Written => "wrote",
                Placed::Replaced => "replaced",
                Placed::Same => "kept",
            };
            format!("{word} {}", one_line(path))
        })
        .collect();
    said.push(format!("{}; check them with: rsf validate workflows/{name}.json", plural(placed.len() as u64, "file")));
    Ok(said)
}
