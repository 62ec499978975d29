//! The watchdog: a process of its own that learns from the engine's loop, by a pipe, that it turns. Where the loop hangs or its process dies
//! the watchdog writes `CRASH.log` and becomes the program that goes on with the run; after too many deaths, the one that ends it.
//!
//! The pipe holds a line `beat` now and then and the line `end` when the engine leaves in order. Its end without that line is a death, so no
//! process id has to be trusted for that. Time in which this process itself did not run (a suspended machine) or in which somebody
//! has stopped the engine (`kill -STOP`, Ctrl-Z) is not counted, and the clock of the wall is not asked.

use super::run::Format;
use super::{Status, complain, crash_log};
use serde_json::Value;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Names a variable that, when it is set, leaves the watchdog out, as `--no-watchdog` does.
const OFF: &str = "RSF_NO_WATCHDOG";
/// How often time is taken while nothing is heard.
const TICK: Duration = Duration::from_secs(1);
/// How long the project's lock is waited for after a death.
const LOCK: Duration = Duration::from_secs(20);

/// What a run's watchdog needs; passed on its command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run.
    pub run: String,
    /// The project.
    #[arg(long)]
    pub repo: PathBuf,
    /// The run directory inside it.
    #[arg(long)]
    pub dir: String,
    /// Process that is watched.
    #[arg(long)]
    pub pid: u32,
    /// Seconds without a sign of life that count as a hang.
    #[arg(long)]
    pub timeout: f64,
    /// Deaths before this process.
    #[arg(long)]
    pub deaths: u32,
    /// Restarts allowed.
    #[arg(long)]
    pub restarts: u32,
    /// Arguments for the program that goes on.
    #[arg(last = true)]
    pub again: Vec<String>,
}

/// How a run is watched, from `config.watchdog`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Between two signs of life.
    pub every: Duration,
    /// Without any that counts as a hang.
    pub timeout: Duration,
    /// Restarts allowed.
    pub restarts: u32,
}

impl Rules {
    /// `{heartbeat_interval_s, timeout_s, restarts}` of `config.watchdog`; 30, 60 and 3 where nothing (sensible) is said.
    #[must_use]
    pub fn of(config: &Value) -> Self {
        let seconds = |name: &str, default: f64| {
            let said = config.pointer(&format!("/watchdog/{name}")).and_then(Value::as_f64).filter(|s| (0.05..=86_400.0).contains(s));
            Duration::try_from_secs_f64(said.unwrap_or(default)).unwrap_or(TICK)
        };
        let restarts = config.pointer("/watchdog/restarts").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let every = seconds("heartbeat_interval_s", 30.0);
        Self { every, timeout: seconds("timeout_s", 60.0).max(every), restarts: restarts.unwrap_or(3) }
    }
}

/// What `rsf resume` needs to be told to go on with a run as it was begun.
#[must_use]
pub fn again(format: Format, workflows: Option<&Path>) -> Vec<String> {
    let format = if format == Format::Json { "json" } else { "text" };
    let mut again = vec!["--format".to_owned(), format.to_owned()];
    if let Some(folder) = workflows.and_then(|folder| folder.canonicalize().ok()) {
        again.extend(["--workflows".to_owned(), folder.to_string_lossy().into_owned()]);
    }
    again
}

/// True where nobody forbids a watchdog.
#[must_use]
pub fn wanted(no_watchdog: bool) -> bool {
    !no_watchdog && std::env::var_os(OFF).is_none()
}

/// The engine's end of the pipe.
#[derive(Clone)]
pub struct Leash {
    inner: Arc<Mutex<Option<(Child, ChildStdin)>>>,
}

impl Leash {
    /// Starts a watchdog for this process.
    ///
    /// # Errors
    /// The program cannot be started a second time.
    pub fn start(args: &Args) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["watchdog", &args.run, "--dir", &args.dir, "--repo"]).arg(&args.repo);
        command.arg("--pid").arg(args.pid.to_string()).arg("--timeout").arg(args.timeout.to_string());
        command.arg("--deaths").arg(args.deaths.to_string()).arg("--restarts").arg(args.restarts.to_string());
        command.arg("--").args(&args.again).stdin(Stdio::piped());
        #[cfg(unix)]
        // Its own group: the interrupt key of the terminal is for the engine.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
        Ok(Self { inner: Arc::new(Mutex::new(Some((child, pipe)))) })
    }

    /// A sign of life. A watchdog that is gone is not missed.
    pub fn beat(&self) {
        self.say("beat\n");
    }

    /// The engine leaves in order; the watchdog ends before this returns.
    pub fn end(&self) {
        self.say("end\n");
        let taken = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut child, pipe)) = taken {
            drop(pipe);
            let _ = child.wait();
        }
    }

    fn say(&self, word: &str) {
        if let Some((_, pipe)) = self.inner.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            let _ = pipe.write_all(word.as_bytes()).and_then(|()| pipe.flush());
        }
    }
}

/// Watches until the engine ends or dies.
pub fn run(args: &Args) -> Status {
    let engine = Engine::new(args.pid);
    let (sender, words) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    match watch(&words, Duration::try_from_secs_f64(args.timeout).unwrap_or(TICK), &|| engine.is_stopped()) {
        Ended::InOrder => Status::Ok,
        Ended::Died => after_death(args, "its process ended"),
        Ended::Hung => {
            engine.kill();
            after_death(args, "its loop gave no sign of life")
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    InOrder,
    Died,
    Hung,
}

fn watch(words: &Receiver<String>, timeout: Duration, stopped: &dyn Fn() -> bool) -> Ended {
    let tick = TICK.min(timeout / 4);
    let mut silent = Duration::ZERO;
    loop {
        let before = Instant::now();
        match words.recv_timeout(tick) {
            Ok(word) if word == "end" => return Ended::InOrder,
            Ok(_) => silent = Duration::ZERO,
            Err(RecvTimeoutError::Disconnected) => return Ended::Died,
            Err(RecvTimeoutError::Timeout) if stopped() => {}
            // Of a wait that took much longer than it should this process was not running either.
            Err(RecvTimeoutError::Timeout) => silent += before.elapsed().min(tick * 2),
        }
        if silent >= timeout {
            return Ended::Hung;
        }
    }
}

/// Writes down what happened and becomes the program that goes on.
fn after_death(args: &Args, what: &str) -> Status {
    let deaths = args.deaths.saturating_add(1);
    wait_for_lock(&args.repo.join(&args.dir));
    let last = deaths > args.restarts;
    let then = if last { "the run is ended" } else { "the run is gone on with" };
    let story = format!("the engine of run {} died ({what}): death {deaths}, {} restarts are allowed; {then}", args.run, args.restarts);
    complain(&format!("rsf: {story}"));
    if let Err(error) = crash_log::write(&args.repo, &args.dir, &args.run, &story) {
        complain(&format!("rsf: CRASH.log cannot be written: {error}"));
    }
    if deaths > args.restarts.saturating_add(1) {
        // The program that was to end the run died as well.
        complain(&format!("rsf: `rsf resume {}` goes on with it", args.run));
        return Status::Code(1);
    }
    let mut command = match std::env::current_exe() {
        Ok(program) => Command::new(program),
        Err(error) => return given_up(args, &error),
    };
    command.args(["resume", &args.run, "--repo"]).arg(&args.repo).args(&args.again);
    command.arg("--deaths").arg(deaths.to_string()).stdin(Stdio::null());
    if last {
        command.args(["--abort", &story]);
    }
    given_up(args, &become_it(command))
}

/// Only returns where that failed.
#[cfg(unix)]
fn become_it(mut command: Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> std::io::Error {
    match command.spawn() {
        Ok(_) => std::process::exit(0),
        Err(error) => error,
    }
}

fn given_up(args: &Args, error: &std::io::Error) -> Status {
    complain(&format!("rsf: the run cannot be gone on with ({error}); `rsf resume {}` does", args.run));
    Status::Code(1)
}

fn wait_for_lock(dir: &Path) {
    let until = Instant::now() + LOCK;
    while Instant::now() < until && matches!(crate::journal::RunLock::holder(dir), Ok(Some(_))) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The process that is watched, by a handle that no other process can slip under.
struct Engine {
    pid: u32,
    #[cfg(target_os = "linux")]
    handle: Option<std::os::fd::OwnedFd>,
}

#[cfg(unix)]
fn numbered(pid: u32) -> Option<rustix::process::Pid> {
    i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(target_os = "linux")]
impl Engine {
    fn new(pid: u32) -> Self {
        // As long as it is this process's parent, the number is its own.
        let is_parent = rustix::process::getppid() == numbered(pid);
        let handle = numbered(pid).filter(|_| is_parent);
        let handle = handle.and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
        Self { pid, handle }
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
    }

    fn kill(&self) {
        if let Some(handle) = &self.handle {
            // It may have ended by itself by now.
            let _ = rustix::process::pidfd_send_signal(handle, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Engine {
    fn new(pid: u32) -> Self {
        Self { pid }
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn kill(&self) {
        #[cfg(unix)]
        if let Some(pid) = numbered(self.pid).filter(|pid| rustix::process::getppid() == Some(*pid)) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.pid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_come_from_the_configuration_and_nonsense_is_not_taken() {
        let rules = Rules::of(&json!({"watchdog": {"heartbeat_interval_s": 5, "timeout_s": 2, "restarts": 1}}));
        assert_eq!(rules, Rules { every: Duration::from_secs(5), timeout: Duration::from_secs(5), restarts: 1 });
        let rules = Rules::of(&json!({"watchdog": {"heartbeat_interval_s": -1, "timeout_s": "soon"}}));
        assert_eq!(rules, Rules { every: Duration::from_secs(30), timeout: Duration::from_secs(60), restarts: 3 });
    }

    #[test]
    fn an_end_in_order_a_death_and_a_hang_are_told_apart() {
        let short = Duration::from_millis(40);
        let (sender, words) = channel();
        sender.send("beat".to_owned()).unwrap();
        sender.send("end".to_owned()).unwrap();
        assert_eq!(watch(&words, short, &|| false), Ended::InOrder);
        assert_eq!(watch(&words, short, &|| false), Ended::Hung);
        drop(sender);
        assert_eq!(watch(&words, short, &|| false), Ended::Died);
    }

    #[test]
    fn time_in_which_somebody_stopped_the_engine_is_no_hang() {
        let (sender, words) = channel();
        let asked = std::cell::Cell::new(0);
        let stopped = || {
            asked.set(asked.get() + 1);
            if asked.get() == 50 {
                sender.send("end".to_owned()).unwrap();
            }
            true
        };
        assert_eq!(watch(&words, Duration::from_millis(4), &stopped), Ended::InOrder);
    }
}
