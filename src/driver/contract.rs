//! What the driver needs of the machine and of whoever starts it, and what it gives back.

use crate::base::Timestamp;
use crate::journal::JournalError;
use crate::machine::{Command, EffectId, Input, TimerId};
use crate::world::Clock;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// The pure machine, as far as the driver sees it. The same inputs in the same order must give the same commands.
pub trait Core {
    /// Applies one input and gives everything that follows from it.
    fn apply(&mut self, input: Input) -> Vec<Command>;
    /// Effects that were asked for, not cancelled, and have no outcome yet.
    fn pending(&self) -> Vec<EffectId>;
    /// Timers that were set, not cancelled, and have not rung yet, with their full delay in milliseconds.
    fn pending_timers(&self) -> Vec<(TimerId, u64)>;
}

impl Core for crate::machine::Machine {
    fn apply(&mut self, input: Input) -> Vec<Command> {
        Self::apply(self, input)
    }

    fn pending(&self) -> Vec<EffectId> {
        Self::pending(self)
    }

    fn pending_timers(&self) -> Vec<(TimerId, u64)> {
        Self::pending_timers(self)
    }
}

/// Something to be done at a time the driver knows.
pub type Heartbeat = Arc<dyn Fn() + Send + Sync>;

/// What a run is started with.
#[derive(Clone)]
pub struct Options {
    /// Run id, for watchers.
    pub run: String,
    /// Path of the journal inside the project, for watchers.
    pub journal: String,
    /// `project` of the machine's first input.
    pub project: Value,
    /// True once a person asked to stop in a way that cannot wake the driver (a stop file). Looked at whenever something arrives and once a second.
    pub stop_requested: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Exit code of a result.
    pub exit: Arc<dyn Fn(&str) -> u8 + Send + Sync>,
    /// Told the machine at the beginning: name and value.
    pub facts: Vec<(String, Value)>,
    /// Where a run that goes on is given up instead: why.
    pub abort: Option<String>,
    /// Called by the loop itself, in the first turn and then this often: whoever watches the process sees by it that the loop turns.
    pub heartbeat: Option<(Duration, Heartbeat)>,
    /// Called once, when the disk is full: what gives room for the last words.
    pub disk_full: Option<Heartbeat>,
    /// How long cancelled effects may take to end before they are abandoned.
    pub grace: Duration,
}

/// How a run left the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It is over.
    Ended {
        /// Result name.
        result: String,
        /// Why, for people.
        reason: Option<String>,
    },
    /// It was interrupted and can be resumed.
    Interrupted,
}

/// What ended the driver before the run was over. The journal is intact up to the last commit.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The journal failed, or a request is no longer the recorded one.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine waits for nothing and has not ended.
    #[error("the run waits for nothing and has not ended: {0}; this is a fault of the engine, please report it with the journal")]
    Stuck(String),
    /// The recorded inputs lead to something else than the record says.
    #[error("the journal does not replay behind record {seq}: {what}; the document or the program changed since the run began")]
    Diverged {
        /// Number of the input's record.
        seq: u64,
        /// What differs.
        what: String,
    },
}

/// What reaches the driver from outside.
#[derive(Debug)]
pub(super) enum Nudge {
    Stop,
    Interrupt,
    Fact { name: String, value: Value },
}

/// A hand on a running driver; clones share it. Everything is silently without effect once the run is over.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) nudges: UnboundedSender<Nudge>,
    pub(super) signalled: Arc<AtomicBool>,
}

impl Handle {
    /// Asks for the end of the run after its present round.
    pub fn stop(&self) {
        let _ = self.nudges.send(Nudge::Stop);
    }

    /// Cancels all effects and ends the driver; the run can be resumed.
    pub fn interrupt(&self) {
        let _ = self.nudges.send(Nudge::Interrupt);
    }

    /// The first time as [`Handle::stop`], from then on as [`Handle::interrupt`].
    pub fn signal(&self) {
        if self.signalled.swap(true, Ordering::SeqCst) { self.interrupt() } else { self.stop() }
    }

    /// Tells the machine a fact about the surroundings.
    pub fn fact(&self, name: impl Into<String>, value: Value) {
        let _ = self.nudges.send(Nudge::Fact { name: name.into(), value });
    }
}

/// A clock that never goes back, whatever the machine's clock does.
pub(super) struct Steady {
    clock: Arc<dyn Clock>,
    last: Timestamp,
}

impl Steady {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, last: Timestamp(i64::MIN) }
    }

    /// Present time, not before any time given earlier.
    pub fn now(&mut self) -> Timestamp {
        self.last = self.last.max(self.clock.now());
        self.last
    }

    /// The time given last.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// Takes note of a time that was given by an earlier process.
    pub fn seen(&mut self, at: Timestamp) {
        self.last = self.last.max(at);
    }
}
