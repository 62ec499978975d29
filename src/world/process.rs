//! Running a command: own process group, chosen environment, bounded time and output, nothing left behind.
//!
//! The pipes are drained all the time, so a chatty child never blocks; after the child has ended they are waited for only shortly, because
//! a grandchild may hold them open. Then the whole group, and whatever left it but carries the call's mark, is ended. No shell is
//! involved unless the command is one. Keys and tokens of the engine's own environment never reach a child: only listed names do.

use super::capture::{Capture, Captured};
use super::survivors::{MARK, end_marked};
use super::{Cancel, Confinement, Fault, FaultKind, crash_point};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// From the polite signal to the one that cannot be refused.
const GRACE: Duration = Duration::from_secs(5);
/// How long the pipes are waited for once the child has ended, and once more after its survivors were ended.
const DRAIN: Duration = Duration::from_secs(1);

/// Most searches for processes that left the group.
const SWEEPS: u32 = 5;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// A command to run.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working folder.
    pub cwd: PathBuf,
    /// The whole environment (see [`inherited_env`]).
    pub env: BTreeMap<String, String>,
    /// What is written to standard input; `None` closes it.
    pub stdin: Option<String>,
    /// Wall time before the group is ended.
    pub timeout: Duration,
    /// Bytes kept per stream.
    pub keep_bytes: usize,
    /// What the kernel lets it reach; `None` leaves it as free as the engine is.
    pub confinement: Option<Confinement>,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Exit status, if it exited by itself.
    pub exit: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Its time was up.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Wall time in milliseconds.
    pub ms: u64,
}

/// The part of the engine's own environment that children get.
#[must_use]
pub fn inherited_env() -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        matches!(name, "PATH" | "HOME" | "LANG" | "TZ" | "TMPDIR")
            || name.starts_with("LC_")
            || (cfg!(windows)
                && matches!(name, "SystemRoot" | "TEMP" | "TMP" | "PATHEXT" | "ComSpec" | "USERPROFILE" | "APPDATA" | "LOCALAPPDATA"))
    };
    let mut env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| wanted(name))
        .collect();
    env.insert("TERM".to_owned(), "dumb".to_owned());
    env
}

/// Runs a command to its end, its time-out or its cancellation.
///
/// # Errors
/// The program cannot be started, or the call was cancelled. Any way of ending is a result.
pub async fn run_process(spec: ProcessSpec, cancel: &Cancel) -> Result<Finished, Fault> {
    let started = Instant::now();
    let mark = mark();
    crash_point("process.before");
    let mut child = start(&spec, &mark).await?;
    crash_point("process.spawned");
    let group = Group { id: child.id(), mark, ended: AtomicBool::new(false) };
    let streams = [Drain::start(child.stdout().take(), spec.keep_bytes), Drain::start(child.stderr().take(), spec.keep_bytes)];
    let writer = feed(child.as_mut(), spec.stdin);
    let ended = tokio::select! {
        status = wait(child.as_mut()) => Ended::Itself(status),
        () = tokio::time::sleep(spec.timeout) => Ended::TimedOut,
        () = cancel.cancelled() => Ended::Cancelled,
    };
    let status = match &ended {
        Ended::Itself(status) => status.as_ref().ok().copied(),
        Ended::TimedOut | Ended::Cancelled => group.end(child.as_mut()).await,
    };
    writer.abort();
    settle(&streams, &group).await;
    if let Ended::Cancelled = ended {
        return Err(Fault::new(FaultKind::Cancelled, format!("`{}` was ended because the call was cancelled", shown(&spec.argv))));
    }
    if let Ended::Itself(Err(error)) = ended {
        return Err(Fault::io(&format!("waiting for `{}`", shown(&spec.argv)), &error));
    }
    crash_point("process.after");
    let [stdout, stderr] = streams.map(|stream| stream.captured());
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let timed_out = matches!(ended, Ended::TimedOut);
    Ok(Finished { exit: status.and_then(|s| s.code()), signal: status.and_then(signal_of), timed_out, stdout, stderr, ms })
}

/// Unlike that of any other call, also of a process that has the same number in another container.
fn mark() -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{nanos}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed))
}

enum Ended {
    Itself(std::io::Result<ExitStatus>),
    TimedOut,
    Cancelled,
}

fn shown(argv: &[String]) -> String {
    argv.first().map(|program| program.escape_debug().to_string()).unwrap_or_default()
}

/// Starts the command, confined where that was asked for.
#[cfg(target_os = "linux")]
async fn start(spec: &ProcessSpec, mark: &str) -> Result<Box<dyn ChildWrapper>, Fault> {
    let Some(confinement) = spec.confinement.clone() else { return spawn(spec, mark) };
    let argv = super::sandbox::limited(located(spec)?);
    let spec = ProcessSpec { argv, ..spec.clone() };
    let (mark, runtime) = (mark.to_owned(), tokio::runtime::Handle::current());
    let (answer, started) = tokio::sync::oneshot::channel();
    // A thread of its own, because what is laid on it never comes off.
    let thread = std::thread::Builder::new().name("confined start".to_owned()).spawn(move || {
        let _runtime = runtime.enter();
        let confined = super::sandbox::restrict_this_thread(&confinement);
        let child = confined.map_err(|error| Fault::io("confining the program", &error)).and_then(|()| spawn(&spec, &mark));
        let _ = answer.send(child);
    });
    thread.map_err(|error| Fault::io("starting a thread", &error))?;
    started.await.map_err(|_| Fault::failed("the thread that starts the program ended without an answer"))?
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unused_async, reason = "elsewhere a thread is waited for")]
async fn start(spec: &ProcessSpec, mark: &str) -> Result<Box<dyn ChildWrapper>, Fault> {
    spawn(spec, mark)
}

/// The command with its program's place: it is started by a shell, which would answer a missing program with a status.
#[cfg(target_os = "linux")]
fn located(spec: &ProcessSpec) -> Result<Vec<String>, Fault> {
    let Some((program, arguments)) = spec.argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(Fault::invalid("the command is empty; give a program and its arguments"));
    };
    let places = find_program(program, &spec.cwd, &spec.env);
    let path = match places.iter().find(|path| is_executable(path)) {
        Some(path) => path,
        None if places.is_empty() => {
            let message = format!("there is no program `{}`; install it or correct PATH", shown(&spec.argv));
            return Err(Fault::new(FaultKind::Missing, message));
        }
        None => return Err(Fault::failed(format!("`{}` is not executable", shown(&spec.argv)))),
    };
    let path = path.to_str().ok_or_else(|| Fault::failed(format!("the place of `{}` is not UTF-8", shown(&spec.argv))))?;
    Ok([path.to_owned()].into_iter().chain(arguments.iter().cloned()).collect())
}

/// Files a program's name may mean, the first one first.
#[must_use]
pub fn find_program(program: &str, cwd: &Path, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|path| path.is_file()).into_iter().collect();
    }
    let folders = env.get("PATH").map(String::as_str).unwrap_or_default().split(':');
    folders.map(|folder| cwd.join(folder).join(program)).filter(|path| path.is_file()).collect()
}

#[cfg(target_os = "linux")]
fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn spawn(spec: &ProcessSpec, mark: &str) -> Result<Box<dyn ChildWrapper>, Fault> {
    let Some((program, arguments)) = spec.argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(Fault::invalid("the command is empty; give a program and its arguments"));
    };
    let mut wrap = CommandWrap::with_new(program, |command| {
        command.args(arguments).current_dir(&spec.cwd).env_clear().envs(&spec.env).env(MARK, mark);
        command.stdin(if spec.stdin.is_some() { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    wrap.wrap(KillOnDrop);
    #[cfg(unix)]
    wrap.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    wrap.wrap(process_wrap::tokio::JobObject);
    wrap.spawn().map_err(|error| {
        let name = shown(&spec.argv);
        match error.kind() {
            std::io::ErrorKind::NotFound if spec.cwd.is_dir() => {
                Fault::new(FaultKind::Missing, format!("there is no program `{name}`; install it or correct PATH"))
            }
            std::io::ErrorKind::PermissionDenied => Fault::failed(format!("`{name}` is not executable")),
            _ => Fault::io(&format!("starting `{name}`"), &error),
        }
    })
}

/// Waits for the child itself. Its group is not waited for (on Unix): a daemon in it may live for ever.
async fn wait(child: &mut dyn ChildWrapper) -> std::io::Result<ExitStatus> {
    if cfg!(unix) { child.inner_mut().wait().await } else { child.wait().await }
}

/// Writes the text and closes the pipe; a child that does not read it is no fault.
fn feed(child: &mut dyn ChildWrapper, text: Option<String>) -> JoinHandle<()> {
    let pipe = child.stdin().take();
    tokio::spawn(async move {
        if let (Some(mut pipe), Some(text)) = (pipe, text) {
            let _ = pipe.write_all(text.as_bytes()).await;
        }
    })
}

/// Waits for the pipes to close, ends whoever still holds them, and stops reading in any case.
async fn settle(streams: &[Drain; 2], group: &Group) {
    let closed = tokio::time::timeout(DRAIN, closed(streams)).await.is_ok();
    group.kill_all();
    if !closed {
        let _ = tokio::time::timeout(DRAIN, self::closed(streams)).await;
    }
    for stream in streams {
        stream.task.abort();
    }
}

async fn closed(streams: &[Drain; 2]) {
    for stream in streams {
        stream.done.cancelled().await;
    }
}

/// A pipe being read.
struct Drain {
    capture: Arc<Mutex<Capture>>,
    done: Cancel,
    task: JoinHandle<()>,
}

impl Drain {
    fn start<R: AsyncRead + Unpin + Send + 'static>(pipe: Option<R>, keep: usize) -> Self {
        let capture = Arc::new(Mutex::new(Capture::new(keep)));
        let done = Cancel::new();
        let (into, finished) = (Arc::clone(&capture), done.clone());
        let task = tokio::spawn(async move {
            if let Some(mut pipe) = pipe {
                let mut buffer = vec![0_u8; 64 * 1024];
                while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
                    into.lock().unwrap_or_else(PoisonError::into_inner).push(buffer.get(..count).unwrap_or_default());
                }
            }
            finished.cancel();
        });
        Self { capture, done, task }
    }

    fn captured(&self) -> Captured {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

/// The child's process group. Dropping it ends the group, so that a dropped future leaves nothing running.
struct Group {
    id: Option<u32>,
    mark: String,
    ended: AtomicBool,
}

impl Group {
    /// TERM, a while, KILL. Gives the child's status.
    async fn end(&self, child: &mut dyn ChildWrapper) -> Option<ExitStatus> {
        self.signal(false);
        if let Ok(status) = tokio::time::timeout(GRACE, wait(child)).await {
            return status.ok();
        }
        self.signal(true);
        let _ = child.start_kill();
        tokio::time::timeout(GRACE, wait(child)).await.ok()?.ok()
    }

    /// Once only: afterwards the group's number may belong to somebody else.
    fn kill_all(&self) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.signal(true);
            // Again while some are found: one may have been starting another.
            (0..SWEEPS).find(|_| end_marked(&self.mark) == 0);
        }
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        if let Some(group) = self.id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
            // No such group means that all of it has ended, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }

    /// The job object ends with its handle.
    #[cfg(not(unix))]
    fn signal(&self, _kill: bool) {
        let _ = self.id;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_all();
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}
