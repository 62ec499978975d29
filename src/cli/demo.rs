//! `rsf demo`: a sample project made ready in a new folder, so that a first run needs nothing but this program, git's format and Python.
//!
//! Which samples there are is data (`samples/index.json`). [`prepare`] makes folder, repository and interpreter; running is `rsf run`'s business,
//! with the arguments [`PreparedDemo::run_args`] gives.

use super::place::{PlaceError, place};
use super::run;
use super::settings::no_such;
use super::{Status, complain, print};
use crate::bundle::Bundle;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders tried before giving up, where none was named.
const FOLDERS: u32 = 100;
/// The list of samples among the built-in files.
const INDEX: &str = "samples/index.json";
/// File of the sample's project that names the Python packages it needs.
const REQUIREMENTS: &str = "requirements.txt";

/// Make a sample project in a new folder and run its workflow on it, without any key or network model.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The folder; a new one below the present folder unless given. Must be empty or not exist.
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// The sample.
    #[arg(long, value_name = "NAME")]
    pub sample: Option<String>,

    /// How progress is shown.
    #[arg(long, value_enum, default_value_t)]
    pub format: run::Format,
}

/// Makes the sample ready, runs its workflow on it, and says what to look at.
pub fn run(args: &Args) -> Status {
    let embedded = Bundle::embedded_bytes();
    let files: Vec<(&str, &[u8])> = embedded.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    let index = files.iter().find(|(path, _)| *path == INDEX).map(|(_, bytes)| String::from_utf8_lossy(bytes));
    let sample = choose(index.as_deref().unwrap_or("{}"), args.sample.as_deref());
    let below = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut say = |line: &str| complain(&format!("rsf: {line}"));
    let prepared = sample.and_then(|sample| prepare(args.dir.as_deref(), &below, sample, &files, &mut SystemPrograms, &mut say));
    match prepared {
        Err(error) => {
            complain(&format!("rsf: {error}"));
            Status::Usage
        }
        Ok(prepared) => {
            let status = run::run(&prepared.run_args(args.format));
            if args.format == run::Format::Text {
                print("\nlook at what happened:\n");
                prepared.look().iter().for_each(|line| print(&format!("  {line}\n")));
            }
            status
        }
    }
}

/// `samples/index.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// The sample that `rsf demo` takes.
    pub default: String,
    /// All samples by name.
    pub samples: BTreeMap<String, Sample>,
}

/// One sample.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Embedded folder whose files become the project.
    pub project: String,
    /// The workflow, as `rsf run` takes it.
    pub workflow: String,
    /// The goal.
    pub goal: String,
    /// Profile of the workflow.
    #[serde(default)]
    pub profile: Option<String>,
    /// Commands worth trying in the project afterwards.
    #[serde(default)]
    pub look: Vec<String>,
}

/// Why the demo could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The list of samples cannot be read, or has no such sample.
    #[error("{0}")]
    Samples(String),
    /// The folder is not empty, or none could be made.
    #[error("{0}")]
    Folder(String),
    /// Files could not be written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A program is missing or failed.
    #[error("{0}")]
    Program(String),
    /// The repository could not be made.
    #[error("the sample's repository cannot be made: {0}")]
    Git(#[from] git2::Error),
}

/// Starts a program and waits for it; `Err` is a sentence with what it said. A trait, so that tests need neither Python nor a network.
pub trait Programs {
    /// Runs `argv` in `folder`.
    ///
    /// # Errors
    /// The program is missing or gave a failure.
    fn run(&mut self, argv: &[OsString], folder: &Path) -> Result<(), String>;
}

/// The programs of this machine.
#[derive(Debug, Default)]
pub struct SystemPrograms;

impl Programs for SystemPrograms {
    fn run(&mut self, argv: &[OsString], folder: &Path) -> Result<(), String> {
        let [program, args @ ..] = argv else { return Err("no program was named".to_owned()) };
        let shown = program.to_string_lossy();
        let output = std::process::Command::new(program)
            .args(args)
            .current_dir(folder)
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|error| format!("`{shown}` cannot be started: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = said.lines().rev().take(5).collect();
        Err(format!("`{shown}` failed ({}): {}", output.status, tail.into_iter().rev().collect::<Vec<_>>().join(" / ")))
    }
}

/// A sample ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedDemo {
    /// The folder that was made.
    pub folder: PathBuf,
    /// The project in it: a repository with one commit.
    pub project: PathBuf,
    /// The interpreter the sample's packages are installed for, where it needs any.
    pub python: Option<PathBuf>,
    /// The sample.
    pub sample: Sample,
}

impl PreparedDemo {
    /// What to look at after the run: lines to paste into a shell.
    #[must_use]
    pub fn look(&self) -> Vec<String> {
        let enter = format!("cd '{}'", self.project.to_string_lossy().replace('\'', "'\\''"));
        std::iter::once(enter).chain(self.sample.look.iter().cloned()).collect()
    }

    /// The arguments of `rsf run` that run the sample.
    #[must_use]
    pub fn run_args(&self, format: run::Format) -> run::Args {
        let sets = self.python.iter().map(|python| format!("config.python={}", json_text(python))).collect();
        run::Args {
            workflow: self.sample.workflow.clone(),
            goal: Some(self.sample.goal.clone()),
            repo: self.project.clone(),
            overrides: run::Overrides { profile: self.sample.profile.clone(), sets, ..run::Overrides::default() },
            yes: true,
            format,
            ..run::Args::default()
        }
    }
}

/// A path as a JSON string, so that no path is ever taken for a number.
fn json_text(path: &Path) -> String {
    serde_json::Value::String(path.to_string_lossy().into_owned()).to_string()
}

/// The sample `name` (or the default one) of the text of `samples/index.json`.
///
/// # Errors
/// The text is no such list, or has no such sample.
pub fn choose(index: &str, name: Option<&str>) -> Result<Sample, DemoError> {
    let samples: Samples =
        serde_json::from_str(index).map_err(|error| DemoError::Samples(format!("the list of samples cannot be read: {error}")))?;
    let name = name.unwrap_or(&samples.default);
    let known = samples.samples.keys().map(String::as_str);
    samples.samples.get(name).cloned().ok_or_else(|| DemoError::Samples(no_such("sample", name, known)))
}

/// Makes folder, project, interpreter and repository. `embedded` are the built-in files; `say` is told each step.
///
/// The repository and the interpreter stand side by side in the folder, so that nothing but the project is in the project's tree.
///
/// # Errors
/// See [`DemoError`]. A folder that was made here is removed again; one that was named stays.
pub fn prepare(
    dir: Option<&Path>,
    below: &Path,
    sample: Sample,
    embedded: &[(&str, &[u8])],
    programs: &mut dyn Programs,
    say: &mut dyn FnMut(&str),
) -> Result<PreparedDemo, DemoError> {
    let files = project_files(&sample, embedded)?;
    let python = files.iter().any(|(path, _)| *path == REQUIREMENTS).then(|| interpreter(below, programs)).transpose()?;
    let (folder, made) = match dir {
        Some(dir) => named_folder(&below.join(dir))?,
        None => (new_folder(below)?, true),
    };
    let prepared = fill(&folder, sample, &files, python.as_ref(), programs, say);
    if prepared.is_err() && made {
        // Only what was made a moment ago by this very call; if it cannot be removed, the error at hand matters more.
        let _ = std::fs::remove_dir_all(&folder);
    }
    prepared
}

fn fill(
    folder: &Path,
    sample: Sample,
    files: &[(&str, &[u8])],
    python: Option<&OsString>,
    programs: &mut dyn Programs,
    say: &mut dyn FnMut(&str),
) -> Result<PreparedDemo, DemoError> {
    let project = folder.join("project");
    std::fs::create_dir(&project).map_err(|error| DemoError::Folder(format!("`{}` cannot be made: {error}", project.display())))?;
    let dir = Dir::open_ambient_dir(&project, ambient_authority())
        .map_err(|error| DemoError::Folder(format!("`{}` cannot be opened: {error}", project.display())))?;
    place(&dir, files, false)?;
    say(&format!("project in {}", project.display()));
    first_commit(&project)?;
    let python = match python {
        Some(python) => {
            say("installing the packages the project needs (a virtual environment beside it)");
            Some(environment(folder, &project, python, programs)?)
        }
        None => None,
    };
    Ok(PreparedDemo { folder: folder.to_owned(), project, python, sample })
}

/// The embedded files below the sample's project folder, by their path in the project.
fn project_files<'a>(sample: &Sample, embedded: &[(&'a str, &'a [u8])]) -> Result<Vec<(&'a str, &'a [u8])>, DemoError> {
    let root = format!("{}/", sample.project.trim_end_matches('/'));
    let files: Vec<(&str, &[u8])> = embedded.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(root.as_str())?, *bytes))).collect();
    if files.is_empty() {
        return Err(DemoError::Samples(format!("the sample's project `{}` is not among the built-in files", sample.project)));
    }
    Ok(files)
}

/// A Python that answers, looked for before anything is written.
fn interpreter(folder: &Path, programs: &mut dyn Programs) -> Result<OsString, DemoError> {
    let mut said = String::new();
    for name in ["python3", "python"] {
        match programs.run(&[name.into(), "-c".into(), "import venv, ensurepip".into()], folder) {
            Ok(()) => return Ok(name.into()),
            Err(why) => said = why,
        }
    }
    Err(DemoError::Program(format!("the sample needs Python 3 with its venv module (Debian: apt install python3-venv): {said}")))
}

fn environment(folder: &Path, project: &Path, python: &OsString, programs: &mut dyn Programs) -> Result<PathBuf, DemoError> {
    let venv = folder.join("venv");
    programs.run(&[python.clone(), "-m".into(), "venv".into(), venv.clone().into()], folder).map_err(DemoError::Program)?;
    let inner = if cfg!(windows) { venv.join("Scripts").join("python.exe") } else { venv.join("bin").join("python") };
    let install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--timeout", "30", "-r"];
    let mut argv: Vec<OsString> = vec![inner.clone().into()];
    argv.extend(install.map(OsString::from));
    argv.push(project.join(REQUIREMENTS).into());
    programs.run(&argv, folder).map_err(|said| {
        DemoError::Program(format!(
            "the sample's packages ({REQUIREMENTS}) cannot be installed; pip needs a package index it can reach, or PIP_FIND_LINKS and PIP_NO_INDEX \
             in the environment for a folder of wheels: {said}"
        ))
    })?;
    Ok(inner)
}

/// A repository with everything in one commit, under an identity of its own: the user's configuration is neither needed nor changed.
fn first_commit(project: &Path) -> Result<(), DemoError> {
    let mut options = git2::RepositoryInitOptions::new();
    options.initial_head("main").external_template(false).no_reinit(true);
    let repository = git2::Repository::init_opts(project, &options)?;
    let mut config = repository.config()?.open_level(git2::ConfigLevel::Local)?;
    config.set_str("user.name", "rsf demo")?;
    config.set_str("user.email", "demo@rsf.invalid")?;
    // The sample's bytes are committed as they are, whatever the user's own setting says.
    config.set_bool("core.autocrlf", false)?;
    let mut index = repository.index()?;
    // Everything here was placed a moment ago; a user's global ignore file has no say in it.
    index.add_all(["*"], git2::IndexAddOption::FORCE, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = repository.signature()?;
    repository.commit(Some("HEAD"), &author, &author, "Sample project", &tree, &[])?;
    Ok(())
}

/// A named folder: made where it does not exist, taken where it is empty.
fn named_folder(folder: &Path) -> Result<(PathBuf, bool), DemoError> {
    let fault = |error: std::io::Error| DemoError::Folder(format!("`{}` cannot be used: {error}", folder.display()));
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(DemoError::Folder(format!("`{}` is not empty; name a new folder, or none", folder.display()))),
            None => Ok((folder.canonicalize().map_err(fault)?, false)),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).map_err(fault)?;
            Ok((folder.canonicalize().map_err(fault)?, true))
        }
        Err(error) => Err(fault(error)),
    }
}

/// A folder that did not exist: `rsf-demo`, `rsf-demo-2`, …
fn new_folder(below: &Path) -> Result<PathBuf, DemoError> {
    for number in 1..=FOLDERS {
        let name = if number == 1 { "rsf-demo".to_owned() } else { format!("rsf-demo-{number}") };
        let folder = below.join(name);
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                return folder.canonicalize().map_err(|error| DemoError::Folder(format!("`{}` cannot be used: {error}", folder.display())));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(DemoError::Folder(format!("`{}` cannot be made: {error}", folder.display()))),
        }
    }
    Err(DemoError::Folder(format!("there are {FOLDERS} folders of earlier demos here already; name one")))
}
