//! `rsf hook`: serves coding agents' hooks, and registers them.
//!
//! Events come in through [`event`], before any other argument is looked at: whatever goes wrong there ends with status 0 and a line on standard
//! error, never with 2, which agents take for a veto.

use super::{Status, complain, print};
use crate::hook::{self, Agent, Call, Event, Scope};
use crate::report::text::one_line;
use crate::world::Root;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Count an agent's tool calls and speak when it stops; register that in the agent's settings.
///
/// Agents run `rsf hook post-tool-use`, `post-tool-use-failure`, `stop`, `subagent-stop`, `session-start` and `session-end` with a payload on
/// standard input. These end with status 0 whatever happens; `--strict` gives 1 instead, for tests. `--agent NAME` says whose payload it is,
/// `--table FILE` which decision table governs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Put the hooks into an agent's settings
    Install(Install),
    /// Take the hooks out of an agent's settings
    Uninstall(Place),
    /// Say where hooks are registered
    Status,
    /// Say what is wrong in existing settings
    Check(Check),
    /// Say what the table says at which turn
    Simulate(Simulate),
}

#[derive(Debug, clap::Args)]
struct Place {
    /// Whose settings
    #[arg(long, value_enum, default_value_t = Agent::Claude)]
    agent: Agent,
    /// The project's, the person's, or the person's for this project
    #[arg(long, value_enum, default_value_t = Scope::Project)]
    scope: Scope,
    /// The project's folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct Install {
    #[command(flatten)]
    place: Place,
    /// A decision table in place of the project's own or the built-in one
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Check {
    /// Settings files; those of all agents, where none are given
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Whose settings the files are, where their path does not tell
    #[arg(long, value_enum)]
    agent: Option<Agent>,
}

#[derive(Debug, clap::Args)]
struct Simulate {
    /// Range of turns, both ends included
    #[arg(long, value_name = "FROM..TO", default_value = "1..100", value_parser = range)]
    turns: RangeInclusive<u64>,
    /// Turns at which the model stops; every turn, where none are given
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    stops: Vec<u64>,
    /// Kind of task, as in RSF_TASK
    #[arg(long, default_value = "")]
    task: String,
    /// Name of the task, as in RSF_TASK_ID
    #[arg(long, default_value = "TASK")]
    task_id: String,
    /// A decision table in place of the project's own or the built-in one
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO")?;
    let number = |text: &str| text.trim_start_matches('=').parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let (from, to) = (number(from)?, number(to)?);
    if from > to { Err("the range is empty".to_owned()) } else { Ok(from..=to) }
}

/// Serves an event if the program's arguments ask for one; `None` leaves them to the command line's parser.
#[must_use]
pub fn event(args: &[OsString]) -> Option<Status> {
    let (first, rest) = args.split_first()?;
    if first != "hook" {
        return None;
    }
    let words: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let named = words.iter().find(|word| !word.starts_with('-'));
    let manages = |word: &String| ["install", "uninstall", "status", "check", "simulate", "help"].contains(&word.as_str());
    let help = words.iter().any(|word| matches!(word.as_str(), "-h" | "--help" | "-V" | "--version"));
    if named.is_some_and(manages) || help {
        return None;
    }
    let strict = words.iter().any(|word| word == "--strict");
    Some(guarded(strict, || serve(&words)))
}

/// Runs what serves an event; nothing that goes wrong in it leaves through another door.
fn guarded(strict: bool, serve: impl FnOnce() -> Result<(), String>) -> Status {
    std::panic::set_hook(Box::new(|_| {}));
    let done =
        catch_unwind(AssertUnwindSafe(serve)).unwrap_or_else(|_| Err("a fault in this program; nothing was counted or said".to_owned()));
    let _ = std::panic::take_hook();
    match done {
        Ok(()) => Status::Ok,
        Err(message) => {
            note(&message);
            if strict { Status::Rejected } else { Status::Ok }
        }
    }
}

fn note(message: &str) {
    complain(&format!("rsf hook: {}", one_line(message)));
}

fn serve(words: &[String]) -> Result<(), String> {
    let call = call(words)?;
    let input = std::io::stdin();
    if input.is_terminal() {
        return Err(format!("`{}` is run by an agent, which hands over JSON on standard input", call.event.name()));
    }
    let reply = hook::run(&call, input.lock(), &|name| std::env::var_os(name))?;
    if let Some(text) = reply.note {
        note(&text);
    }
    if let Some(answer) = reply.answer {
        print(&format!("{answer}\n"));
    }
    Ok(())
}

fn call(words: &[String]) -> Result<Call, String> {
    let mut call: Option<Call> = None;
    let (mut agent, mut table) = (None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || inline.clone().or_else(|| words.next().cloned()).ok_or_else(|| format!("`{name}` needs a value"));
        match name {
            "--strict" => {}
            "--agent" => {
                let given = value()?;
                agent = Some(Agent::named(&given).ok_or_else(|| format!("no agent is called `{given}`: claude, codex, gemini, cursor"))?);
            }
            "--table" => table = Some(PathBuf::from(value()?)),
            _ if call.is_none() && !name.starts_with('-') => {
                let event = Event::named(name).ok_or_else(|| format!("there is no event `{name}`; {}", known()))?;
                call = Some(Call { event, agent: None, table: None });
            }
            _ => return Err(format!("`{word}` is not understood")),
        }
    }
    let call = call.ok_or_else(|| format!("no event is named; {}", known()))?;
    Ok(Call { agent, table, ..call })
}

fn known() -> String {
    let events: Vec<&str> = Event::ALL.iter().map(|event| event.name()).collect();
    format!("events are {}; commands are install, uninstall, status, check, simulate", events.join(", "))
}

pub(super) fn run(args: &Args) -> Status {
    let done = match &args.command {
        Command::Install(args) => install(args),
        Command::Uninstall(place) => uninstall(place),
        Command::Status => status(),
        Command::Check(args) => check(args),
        Command::Simulate(args) => simulate(args),
    };
    done.unwrap_or_else(|message| {
        complain(&format!("rsf: {message}"));
        Status::Usage
    })
}

/// The settings file of an agent, `None` where it has no such scope.
fn settings(agent: Agent, scope: Scope, project: &Path) -> Option<PathBuf> {
    let path = agent.settings(scope)?;
    if scope != Scope::User {
        return Some(project.join(path));
    }
    let named = agent.home_variable().and_then(std::env::var_os).filter(|folder| !folder.is_empty());
    if let (Some(folder), Some((_, file))) = (named, path.split_once('/')) {
        return Some(PathBuf::from(folder).join(file));
    }
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(path))
}

fn place(place: &Place) -> Result<(PathBuf, Option<String>), String> {
    let project = place.project.canonicalize().map_err(|error| format!("{}: {error}", place.project.display()))?;
    let path = settings(place.agent, place.scope, &project)
        .ok_or_else(|| format!("{} has no settings of this scope; use --scope project or user", place.agent.name()))?;
    // A link is followed: what it points to is edited, and the link stays.
    let path = path.canonicalize().unwrap_or(path);
    let text = match std::fs::metadata(&path) {
        Ok(meta) if !meta.is_file() => return Err(format!("{} is no file", path.display())),
        Ok(_) => Some(std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    Ok((path, text))
}

fn install(args: &Install) -> Result<Status, String> {
    let (path, text) = place(&args.place)?;
    let program = std::env::current_exe().map_err(|error| format!("this program's own path is not known: {error}"))?;
    let program = program.to_str().ok_or("this program's own path is not UTF-8, which settings cannot hold")?.to_owned();
    let table = match &args.table {
        Some(table) => Some(table.canonicalize().map_err(|error| format!("{}: {error}", table.display()))?.display().to_string()),
        None => None,
    };
    // A table that cannot be used is found now, by the person who names it.
    hook::load(&args.place.project, table.as_deref().map(Path::new))?;
    let command = |event| hook::command_of(&program, event, args.place.agent, table.as_deref());
    let edit = hook::install(args.place.agent, text.as_deref(), &command).map_err(|error| format!("{}: {error}", path.display()))?;
    write(&args.place, &path, text.as_deref(), &edit)
}

fn uninstall(args: &Place) -> Result<Status, String> {
    let (path, text) = place(args)?;
    let Some(text) = text else {
        print(&format!("{}: there is no such file\n", path.display()));
        return Ok(Status::Ok);
    };
    let edit = hook::uninstall(args.agent, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    write(args, &path, Some(&text), &edit)
}

fn write(place: &Place, path: &Path, before: Option<&str>, edit: &hook::Edit) -> Result<Status, String> {
    let shown = path.display();
    if edit.changed == 0 {
        print(&format!("{shown}: nothing to change\n"));
        return Ok(Status::Ok);
    }
    if place.dry_run {
        let diff = similar::TextDiff::from_lines(before.unwrap_or_default(), &edit.text);
        let name = shown.to_string();
        let old = if before.is_some() { name.as_str() } else { "/dev/null" };
        print(&diff.unified_diff().header(old, &name).to_string());
        return Ok(Status::Ok);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("the settings file has no name")?;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Root::open(folder).and_then(|root| root.write_atomic(name, edit.text.as_bytes())).map_err(|fault| fault.to_string())?;
    let entries = if edit.changed == 1 { "entry" } else { "entries" };
    print(&format!("{shown}: {} {entries} changed\n", edit.changed));
    Ok(Status::Ok)
}

/// Every settings file that may hold hooks, with those that are there read.
fn everywhere() -> Result<Vec<(Agent, PathBuf, Option<String>)>, String> {
    let project = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let mut files = Vec::new();
    for agent in Agent::ALL {
        for scope in [Scope::Project, Scope::Local, Scope::User] {
            let Some(path) = settings(agent, scope, &project) else { continue };
            if !files.iter().any(|(known, there, _)| *known == agent && *there == path) {
                let text = path.is_file().then(|| std::fs::read_to_string(&path).unwrap_or_default());
                files.push((agent, path, text));
            }
        }
    }
    Ok(files)
}

fn status() -> Result<Status, String> {
    for (agent, path, text) in everywhere()? {
        let state = match text.map(|text| hook::registered(agent, &text)) {
            None => "no such file".to_owned(),
            Some(Err(error)) => error.to_string(),
            Some(Ok(commands)) => {
                let events: Vec<&str> =
                    commands.iter().filter(|(_, command)| hook::is_ours(command)).map(|(key, _)| key.as_str()).collect();
                if events.is_empty() { "not registered".to_owned() } else { format!("registered for {}", events.join(", ")) }
            }
        };
        print(&format!("{:<7} {}: {}\n", agent.name(), path.display(), one_line(&state)));
    }
    Ok(Status::Ok)
}

fn check(args: &Check) -> Result<Status, String> {
    let files = if args.files.is_empty() {
        everywhere()?.into_iter().filter_map(|(agent, path, text)| Some((agent, path, text?))).collect()
    } else {
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((args.agent.unwrap_or_else(|| guess(path)), path.clone(), text))
        };
        args.files.iter().map(read).collect::<Result<Vec<_>, String>>()?
    };
    let mut faults = 0;
    let mut holders: Vec<(Agent, String)> = Vec::new();
    for (agent, path, text) in &files {
        for finding in hook::findings(*agent, text, &|path| Path::new(path).is_file()) {
            faults += 1;
            print(&format!("{}{}: {}: {}\n", path.display(), at(&finding.at), finding.kind, one_line(&finding.message)));
        }
        if hook::registered(*agent, text).is_ok_and(|commands| commands.iter().any(|(_, command)| hook::is_ours(command))) {
            if let Some((_, other)) = holders.iter().find(|(known, _)| known == agent) {
                faults += 1;
                print(&format!("{}: double: {} has these hooks in {other} too; uninstall one\n", path.display(), agent.name()));
            }
            holders.push((*agent, path.display().to_string()));
        }
    }
    if faults == 0 {
        print(&format!(
            "{} looked at, nothing wrong\n",
            if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) }
        ));
    }
    Ok(if faults == 0 { Status::Ok } else { Status::Rejected })
}

fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!("#{pointer}") }
}

/// Whose settings a path holds.
fn guess(path: &Path) -> Agent {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let within = |name: &str| path.components().any(|part| part.as_os_str() == name);
    [(".cursor", Agent::Cursor), (".gemini", Agent::Gemini), (".codex", Agent::Codex)]
        .into_iter()
        .find_map(|(folder, agent)| within(folder).then_some(agent))
        .unwrap_or(Agent::Claude)
}

fn simulate(args: &Simulate) -> Result<Status, String> {
    let project = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let rules = hook::load(&project, args.table.as_deref())?;
    let messages = hook::simulate(&rules, &args.turns, &args.stops, &args.task, &args.task_id)?;
    for message in &messages {
        let due = if message.due == message.turn { String::new() } else { format!(", due at {}", message.due) };
        print(&format!("{:>4}  {}{due}\n", message.turn, message.row));
        message.text.lines().for_each(|line| print(&format!("      {}\n", one_line(line))));
    }
    if messages.is_empty() {
        print("nothing is said\n");
    }
    Ok(Status::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_a_panic_ends_quietly() {
        assert_eq!(guarded(false, || panic!("no way")), Status::Ok);
        assert_eq!(guarded(true, || panic!("no way")), Status::Rejected);
        assert_eq!(guarded(true, || Ok(())), Status::Ok);
    }
}
