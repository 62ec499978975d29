//! The loop of a run. One turn: gather what has arrived, append and apply it, commit once, then let the consequences out.

use super::contract::{Nudge, Steady};
use super::replay::{Replayed, replay};
use super::running::{Ended, Running};
use super::telling;
use super::timers::Timers;
use super::{Core, DriverError, Event, Handle, Options, RunEnd};
use crate::base::Timestamp;
use crate::executor::{Executor, is_disk_full};
use crate::journal::{Entry, Journal, Record};
use crate::machine::{Command, EffectId, Input, Request, TimerId};
use crate::world::Cancel;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

/// How often the stop file is looked for while nothing arrives.
const TICK: Duration = Duration::from_secs(1);
/// Most arrivals of one turn: a commit must not wait for ever while more keeps coming.
const BATCH: usize = 1024;

/// Drives one run. Lives on one task; effects run on tasks of their own. A commit blocks this task for as long as the disk takes: nothing of
/// the run may go on before it anyway.
pub struct Driver<C> {
    core: C,
    journal: Journal,
    executor: Arc<dyn Executor>,
    options: Options,
    events: UnboundedSender<Event>,
    handle: Handle,
    nudges: UnboundedReceiver<Nudge>,
    running: Running,
    timers: Timers,
    clock: Steady,
    stopping: bool,
    disk_full: bool,
    end: Option<(String, Option<String>)>,
    /// When the last sign of life was given.
    beaten: Option<Instant>,
}

/// Something that arrived.
enum Arrival {
    Begin,
    Resume,
    Abort(String),
    Effect(Ended),
    Timer(TimerId),
    Nudge(Nudge),
}

/// Something to let out once it is durable.
enum Action {
    Start { id: EffectId, request: Box<Request>, rerun: bool },
    Cancel(Cancel),
    Release(String),
    Tell(Event),
}

impl<C: Core> Driver<C> {
    /// A driver for a machine that is new and a journal that is open. Must be made inside a tokio runtime with time.
    pub fn new(core: C, journal: Journal, executor: Arc<dyn Executor>, options: Options, events: UnboundedSender<Event>) -> Self {
        let (sender, nudges) = unbounded_channel();
        let handle = Handle { nudges: sender, signalled: Arc::new(AtomicBool::new(false)) };
        let (running, timers, clock) = (Running::default(), Timers::default(), Steady::new(Arc::clone(&options.clock)));
        Self {
            core,
            journal,
            executor,
            options,
            events,
            handle,
            nudges,
            running,
            timers,
            clock,
            stopping: false,
            disk_full: false,
            end: None,
            beaten: None,
        }
    }

    /// A hand on it, for signals and facts.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs from the beginning until the run ends or is interrupted.
    ///
    /// # Errors
    /// The journal fails, or the machine waits for nothing. Effects are ended before this returns.
    pub async fn run(mut self) -> Result<RunEnd, DriverError> {
        let begun = self.begin();
        self.serve(begun).await
    }

    /// Goes on with a run: `records` are those of the journal that was opened. Effects without an outcome are performed again, timers are
    /// set anew with their full delay. A run that is over gives its end again.
    ///
    /// # Errors
    /// As [`Driver::run`]; or the record does not replay.
    pub async fn resume(mut self, records: &[Record]) -> Result<RunEnd, DriverError> {
        let replayed = replay(&mut self.core, records)?;
        if !replayed.begun {
            return self.run().await;
        }
        if let (Some((result, reason)), true) = (&replayed.end, replayed.end_recorded) {
            return Ok(RunEnd::Ended { result: result.clone(), reason: reason.clone() });
        }
        let begun = self.begin_again(replayed);
        self.serve(begun).await
    }

    fn begin(&mut self) -> Result<(), DriverError> {
        self.tell_started(false);
        self.beat();
        let mut arrivals = self.facts();
        // Before the first program runs: a stop that was asked for beforehand is known to it.
        self.look_for_stop(&mut arrivals);
        arrivals.push(Arrival::Begin);
        self.turn(arrivals, Vec::new())
    }

    fn begin_again(&mut self, replayed: Replayed) -> Result<(), DriverError> {
        let Replayed { mut pending, missing, stopped, last, timers, .. } = replayed;
        self.beat();
        self.clock.seen(last);
        self.stopping = stopped;
        self.tell_started(true);
        let mut actions = Vec::new();
        let at = self.clock.now();
        for command in missing {
            self.take(command, at, &mut actions)?;
        }
        let mut arrivals = Vec::new();
        if self.end.is_none() {
            arrivals = self.facts();
            arrivals.push(self.options.abort.take().map_or(Arrival::Resume, Arrival::Abort));
            self.look_for_stop(&mut arrivals);
        }
        self.turn(arrivals, actions)?;
        if self.end.is_some() {
            return Ok(());
        }
        for (id, after_ms) in self.core.pending_timers() {
            if !self.timers.is_set(&id) {
                let left = timers.get(&id).map_or(after_ms, |since| remaining(&id, after_ms, *since, at));
                self.timers.set(id, left, Instant::now());
            }
        }
        for id in self.core.pending() {
            if self.running.is_awaited(&id) {
                continue;
            }
            let Some(request) = pending.remove(&id) else {
                return Err(DriverError::Stuck(format!("it waits for the effect {}, which it never asked for", id.0)));
            };
            self.running.reserve(&id, Instant::now());
            self.dispatch(Action::Start { id, request, rerun: true });
        }
        Ok(())
    }

    fn tell_started(&mut self, resumed: bool) {
        let at = self.clock.now();
        self.tell(Event::Started { run: self.options.run.clone(), journal: self.options.journal.clone(), resumed, at });
    }

    /// Turns until there is an end; whatever the end is, no effect outlives it.
    async fn serve(mut self, begun: Result<(), DriverError>) -> Result<RunEnd, DriverError> {
        let served = match begun {
            Ok(()) => self.turns().await,
            Err(error) => Err(error),
        };
        self.running.end_all(self.options.grace).await;
        self.tell_complaints();
        let end = served?;
        self.journal.close()?;
        let at = self.clock.now();
        let event = match &end {
            RunEnd::Ended { result, reason } => {
                Event::Ended { result: result.clone(), reason: reason.clone(), exit: (self.options.exit)(result), at }
            }
            RunEnd::Interrupted => Event::Message { text: format!("interrupted; the run {} can be resumed", self.options.run), at },
        };
        let _ = self.events.send(event);
        Ok(end)
    }

    async fn turns(&mut self) -> Result<RunEnd, DriverError> {
        let mut tick = interval_at(Instant::now() + TICK, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some((result, reason)) = self.end.take() {
                return Ok(RunEnd::Ended { result, reason });
            }
            if self.running.is_empty() && self.timers.is_empty() {
                return Err(DriverError::Stuck("no effect is under way and no timer is set".to_owned()));
            }
            self.beat();
            let arrivals = self.arrivals(&mut tick).await;
            if arrivals.iter().any(|arrival| matches!(arrival, Arrival::Nudge(Nudge::Interrupt))) {
                return Ok(RunEnd::Interrupted);
            }
            self.turn(arrivals, Vec::new())?;
        }
    }

    /// Waits until something arrives and gathers what has arrived with it.
    async fn arrivals(&mut self, tick: &mut Interval) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        let due = self.timers.next();
        tokio::select! {
            ended = self.running.next() => arrivals.extend(ended.map(Arrival::Effect)),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            nudge = self.nudges.recv() => arrivals.extend(nudge.map(Arrival::Nudge)),
            _ = tick.tick() => {}
        }
        while let Ok(nudge) = self.nudges.try_recv() {
            arrivals.push(Arrival::Nudge(nudge));
        }
        arrivals.extend(self.running.ended_already(BATCH).into_iter().map(Arrival::Effect));
        arrivals.extend(self.timers.ringing(Instant::now()).into_iter().map(Arrival::Timer));
        self.look_for_stop(&mut arrivals);
        self.tell_complaints();
        arrivals
    }

    fn tell_complaints(&mut self) {
        let at = self.clock.now();
        for text in self.running.complaints() {
            self.tell(Event::Message { text, at });
        }
    }

    fn look_for_stop(&self, arrivals: &mut Vec<Arrival>) {
        if !self.stopping && (self.options.stop_requested)() {
            arrivals.push(Arrival::Nudge(Nudge::Stop));
        }
    }

    /// Appends and applies what arrived, commits once, and lets the consequences out.
    fn turn(&mut self, arrivals: Vec<Arrival>, mut actions: Vec<Action>) -> Result<(), DriverError> {
        for arrival in arrivals {
            if self.end.is_some() {
                break;
            }
            self.receive(arrival, &mut actions)?;
        }
        self.journal.commit()?;
        for action in actions {
            self.dispatch(action);
        }
        if self.journal.take_relieved() && self.end.is_none() {
            let mut actions = Vec::new();
            self.found_full(self.clock.last(), &mut actions)?;
            self.journal.commit()?;
            actions.into_iter().for_each(|action| self.dispatch(action));
        }
        Ok(())
    }

    /// The disk is full: room for the last words is given, and the machine is told, once.
    fn found_full(&mut self, at: Timestamp, actions: &mut Vec<Action>) -> Result<(), DriverError> {
        if std::mem::replace(&mut self.disk_full, true) {
            return Ok(());
        }
        if let Some(make_room) = &self.options.disk_full {
            make_room();
        }
        let text = "the disk is full: what was written before is intact, and the reserve was given up for the last words".to_owned();
        actions.push(Action::Tell(Event::Message { text, at }));
        self.apply(Input::Fact { name: "disk_full".to_owned(), value: Value::Bool(true), at }, at, actions)
    }

    fn facts(&mut self) -> Vec<Arrival> {
        let facts = std::mem::take(&mut self.options.facts).into_iter();
        facts.map(|(name, value)| Arrival::Nudge(Nudge::Fact { name, value })).collect()
    }

    fn beat(&mut self) {
        let Some((every, sign)) = &self.options.heartbeat else { return };
        let now = Instant::now();
        if self.beaten.is_none_or(|last| now.saturating_duration_since(last) >= *every) {
            sign();
            self.beaten = Some(now);
        }
    }

    fn receive(&mut self, arrival: Arrival, actions: &mut Vec<Action>) -> Result<(), DriverError> {
        let at = self.clock.now();
        let input = match arrival {
            Arrival::Begin => Input::Start { at, project: self.options.project.clone() },
            Arrival::Resume => Input::Resume { at },
            Arrival::Abort(message) => Input::Abort { message, at },
            Arrival::Effect(ended) => {
                // What was cancelled, also by an input of this very turn, is of no use and leaves no trace.
                let Some(took) = self.running.accept(&ended, Instant::now()) else { return Ok(()) };
                let Ended { id, outcome, .. } = ended;
                actions.push(Action::Tell(telling::done(&id, &outcome, took, at)));
                if is_disk_full(&outcome) {
                    self.found_full(at, actions)?;
                    if self.end.is_some() {
                        return Ok(());
                    }
                }
                Input::Effect { id, at, outcome }
            }
            Arrival::Timer(id) if !self.timers.take(&id) => return Ok(()),
            Arrival::Timer(id) => Input::Timer { id, at },
            Arrival::Nudge(Nudge::Interrupt) => return Ok(()),
            Arrival::Nudge(Nudge::Stop) if std::mem::replace(&mut self.stopping, true) => return Ok(()),
            Arrival::Nudge(Nudge::Stop) => {
                let text = "a stop was asked for; the present round is finished first".to_owned();
                actions.push(Action::Tell(Event::Message { text, at }));
                Input::Stop { at }
            }
            Arrival::Nudge(Nudge::Fact { name, value }) => Input::Fact { name, value, at },
        };
        self.apply(input, at, actions)
    }

    fn apply(&mut self, input: Input, at: Timestamp, actions: &mut Vec<Action>) -> Result<(), DriverError> {
        self.journal.append_input(at, &input)?;
        for command in self.core.apply(input) {
            self.take(command, at, actions)?;
        }
        Ok(())
    }

    /// Records a command and notes what is to be done about it.
    fn take(&mut self, command: Command, at: Timestamp, actions: &mut Vec<Action>) -> Result<(), DriverError> {
        match command {
            Command::Perform { id, definition, request } => {
                self.journal.append_request(at, &id, &definition, &request)?;
                if let Some(replaced) = self.running.reserve(&id, Instant::now()) {
                    forget_start(actions, &id);
                    actions.push(Action::Cancel(replaced));
                }
                actions.push(Action::Start { id, request, rerun: false });
            }
            Command::SetTimer { id, after_ms } => self.timers.set(id, after_ms, Instant::now()),
            Command::CancelTimer { id } => {
                self.timers.take(&id);
            }
            Command::Cancel { id } => {
                forget_start(actions, &id);
                actions.extend(self.running.give_up(&id).map(Action::Cancel));
            }
            Command::Release { owner } => actions.push(Action::Release(owner)),
            Command::Await { cell, .. } => {
                return Err(DriverError::Stuck(format!("{cell} waits for a script, which only a simulation has")));
            }
            Command::Note(note) => {
                self.journal.append_note(at, &note)?;
                actions.push(Action::Tell(Event::Note { at, note }));
            }
            Command::End { result, reason } => {
                self.journal.append(at, &Entry::End { result: result.clone(), reason: reason.clone() })?;
                self.end = Some((result, reason));
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, action: Action) {
        match action {
            Action::Start { id, request, rerun } => {
                let at = self.clock.now();
                self.tell(telling::started(&id, &request, at));
                self.running.start(&self.executor, id, request, rerun, Instant::now());
            }
            Action::Cancel(cancel) => cancel.cancel(),
            Action::Release(owner) => {
                let executor = Arc::clone(&self.executor);
                self.running.chore(move || executor.release(&owner));
            }
            Action::Tell(event) => self.tell(event),
        }
    }

    /// Nobody need be watching.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

/// What is left of a timer that was set before the process ended. A time-out begins anew, because its attempt was interrupted through no
/// fault of its own; a pause is over when it would have been.
fn remaining(id: &TimerId, after_ms: u64, since: Timestamp, now: Timestamp) -> u64 {
    if id.0.ends_with("/timeout") {
        return after_ms;
    }
    let passed = u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
    after_ms.saturating_sub(passed)
}

/// An effect that is of no use any more before it was started is not started.
fn forget_start(actions: &mut Vec<Action>, id: &EffectId) {
    actions.retain(|action| !matches!(action, Action::Start { id: other, .. } if other == id));
}
