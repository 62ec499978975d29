//! A small machine, executor, clock and disk for tests of journal and driver. The machine runs rounds of parallel cells, each a chain of
//! effects in which every request depends on the answer before, so that an answer that is lost, doubled or swapped changes the result.

use rsf::agent::{Asker, Failure, FailureKind, Message, ModelReply, ModelRequest};
use rsf::base::{Timestamp, digest_bytes, digest_json};
use rsf::driver::{Core, Options};
use rsf::executor::{BoxFuture, Executor, Task};
use rsf::journal::{Disk, Entry, FileDisk, Header, Reader};
use rsf::machine::{Command, EffectId, Input, LogRequest, Note, NoteEvent, Outcome, Place, Request, StoreRequest, TimerId};
use rsf::model::tool::ToolRequest;
use rsf::world::Clock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub rounds: u32,
    pub cells: u32,
    pub steps: u32,
    /// Delay of the timer of each attempt.
    pub timer_ms: u64,
}

pub const SMALL: Shape = Shape { rounds: 2, cells: 3, steps: 6, timer_ms: 3_600_000 };

/// For tests that run it hundreds of times.
pub const TINY: Shape = Shape { cells: 2, steps: 5, ..SMALL };

struct Cell {
    attempt: u32,
    step: u32,
    sum: String,
    history: Arc<Vec<Message>>,
    done: bool,
}

pub struct FakeCore {
    shape: Shape,
    /// Changes what is asked for, as a changed document would.
    pub salt: &'static str,
    round: u32,
    sum: String,
    cells: Vec<Cell>,
    stop: bool,
    facts: usize,
    ended: bool,
}

impl FakeCore {
    pub fn new(shape: Shape) -> Self {
        Self { shape, salt: "", round: 0, sum: String::new(), cells: Vec::new(), stop: false, facts: 0, ended: false }
    }

    fn effect_id(&self, cell: usize) -> EffectId {
        let state = &self.cells[cell];
        EffectId(format!("role{cell}@1.r{}.a{}/{}", self.round, state.attempt, state.step))
    }

    fn timer_id(&self, cell: usize) -> TimerId {
        TimerId(format!("role{cell}@1.r{}.a{}/timeout", self.round, self.cells[cell].attempt))
    }

    fn owner(&self, cell: usize) -> String {
        format!("role{cell}@1.r{}.a{}", self.round, self.cells[cell].attempt)
    }

    fn note(&self, cell: usize, index: u32, event: NoteEvent) -> Command {
        Command::Note(Note { place: Place { round: self.round, seq: 1, role: cell as u32, index }, event })
    }

    fn open_round(&mut self) -> Vec<Command> {
        self.round += 1;
        let place = Place { round: self.round, ..Place::default() };
        let mut commands = vec![Command::Note(Note { place, event: NoteEvent::Round { round: self.round } })];
        self.cells = (0..self.shape.cells)
            .map(|_| Cell { attempt: 1, step: 0, sum: self.sum.clone(), history: Arc::default(), done: false })
            .collect();
        for cell in 0..self.cells.len() {
            commands.extend(self.open_attempt(cell));
        }
        commands
    }

    fn open_attempt(&self, cell: usize) -> Vec<Command> {
        let attempt = self.cells[cell].attempt;
        let event = NoteEvent::Run { cell: format!("role{cell}@1"), attempt, inputs: vec![("In".into(), None)] };
        let timer = Command::SetTimer { id: self.timer_id(cell), after_ms: self.shape.timer_ms };
        vec![self.note(cell, 10 * attempt, event), timer, self.perform(cell)]
    }

    fn perform(&self, cell: usize) -> Command {
        let state = &self.cells[cell];
        let name = format!("role{cell}");
        let request = match state.step % 4 {
            0 => Request::Model(ModelRequest {
                asker: Asker {
                    role: name.clone(),
                    cell: format!("{name}@1"),
                    round: self.round,
                    attempt: state.attempt,
                    item: None,
                    session: 1,
                    turn: state.step / 4 + 1,
                },
                session_id: format!("session-{name}"),
                model: "m-1".into(),
                system: "s".repeat(4200),
                messages: Arc::clone(&state.history),
                tools: Vec::new(),
                output: json!({"$blob": "no blob"}),
                timeout_ms: 1000,
            }),
            1 => Request::Tool(ToolRequest {
                tool: "exec".into(),
                args: json!({"argv": ["true", state.sum, self.salt], "rate": 0.1 + 0.2}),
                grants: Default::default(),
                role: name,
                owner: self.owner(cell),
                key: self.effect_id(cell).0,
                timeout_ms: 1000,
            }),
            2 => Request::Store(StoreRequest { name: "Doc".into(), paths: vec![format!("{name}.json")], text: state.sum.repeat(3) }),
            _ => Request::Log(LogRequest {
                path: "log.jsonl".into(),
                record: [("sum".to_owned(), json!(state.sum))].into_iter().collect(),
                text: state.sum.clone(),
            }),
        };
        Command::Perform { id: self.effect_id(cell), definition: "def".into(), request: Box::new(request) }
    }

    fn answered(&mut self, cell: usize, outcome: &Outcome) -> Vec<Command> {
        let text = match outcome {
            Outcome::Model(reply) => reply.text.clone().unwrap_or_default(),
            Outcome::Tool(result) => result["stdout"].as_str().unwrap_or("").to_owned(),
            Outcome::Stored(paths) => paths.join(","),
            Outcome::Logged => "logged".into(),
            Outcome::ModelFailed(Failure { message, .. }) => message.clone(),
            Outcome::ToolFailed(error) | Outcome::StoreFailed(error) => error.message.clone(),
        };
        let state = &mut self.cells[cell];
        state.sum = digest_bytes(format!("{}{text}", state.sum).as_bytes());
        if let Outcome::Model(reply) = outcome {
            let history = Arc::make_mut(&mut state.history);
            history.push(Message::Assistant { text: reply.text.clone(), calls: Vec::new(), reasoning: None });
        }
        let next = Message::User { text: state.sum.clone() };
        Arc::make_mut(&mut state.history).push(next);
        state.step += 1;
        if state.step < self.shape.steps {
            return vec![self.perform(cell)];
        }
        state.done = true;
        let done = NoteEvent::Done { cell: format!("role{cell}@1"), recovered: false, emitted: vec![self.cells[cell].sum.clone()] };
        let mut commands = vec![
            Command::CancelTimer { id: self.timer_id(cell) },
            Command::Release { owner: self.owner(cell) },
            self.note(cell, 1000, done),
        ];
        if self.cells.iter().all(|cell| cell.done) {
            commands.extend(self.close_round());
        }
        commands
    }

    fn close_round(&mut self) -> Vec<Command> {
        let sums: Vec<&str> = self.cells.iter().map(|cell| cell.sum.as_str()).collect();
        self.sum = digest_bytes(sums.concat().as_bytes());
        if self.stop || self.round == self.shape.rounds {
            self.ended = true;
            let result = if self.stop { "STOPPED" } else { "DONE" };
            return vec![Command::End { result: result.into(), reason: Some(format!("{} facts, {}", self.facts, self.sum)) }];
        }
        self.open_round()
    }

    fn timed_out(&mut self, cell: usize) -> Vec<Command> {
        let mut commands = vec![Command::Cancel { id: self.effect_id(cell) }, Command::Release { owner: self.owner(cell) }];
        let message = "time is up".to_owned();
        let attempt = self.cells[cell].attempt;
        let fail = NoteEvent::Fail { cell: format!("role{cell}@1"), attempt, kind: "timeout".into(), message, retried: true };
        commands.push(self.note(cell, 10 * attempt + 1, fail));
        self.cells[cell] = Cell { attempt: attempt + 1, step: 0, sum: self.sum.clone(), history: Arc::default(), done: false };
        commands.extend(self.open_attempt(cell));
        commands
    }
}

impl Core for FakeCore {
    fn apply(&mut self, input: Input) -> Vec<Command> {
        match input {
            Input::Start { .. } => self.open_round(),
            Input::Effect { id, outcome, .. } => {
                match (0..self.cells.len()).find(|cell| !self.cells[*cell].done && self.effect_id(*cell) == id) {
                    Some(cell) => self.answered(cell, &outcome),
                    None => panic!("an outcome that nobody waits for: {id:?}"),
                }
            }
            Input::Timer { id, .. } => match (0..self.cells.len()).find(|cell| !self.cells[*cell].done && self.timer_id(*cell) == id) {
                Some(cell) => self.timed_out(cell),
                None => panic!("a timer that nobody set: {id:?}"),
            },
            Input::Stop { .. } => {
                self.stop = true;
                Vec::new()
            }
            Input::Scripted { .. } => Vec::new(),
            Input::Fact { .. } | Input::Abort { .. } => {
                self.facts += 1;
                Vec::new()
            }
            Input::Resume { .. } => Vec::new(),
        }
    }

    fn pending(&self) -> Vec<EffectId> {
        let open = (0..self.cells.len()).filter(|cell| !self.ended && !self.cells[*cell].done);
        open.map(|cell| self.effect_id(cell)).collect()
    }

    fn pending_timers(&self) -> Vec<(TimerId, u64)> {
        let open = (0..self.cells.len()).filter(|cell| !self.ended && !self.cells[*cell].done);
        open.map(|cell| (self.timer_id(cell), self.shape.timer_ms)).collect()
    }
}

/// Answers every request by its content alone, in an order that depends on `seed`.
#[derive(Default)]
pub struct FakeExecutor {
    pub seed: u64,
    /// Effects whose id contains this text never answer unless they are cancelled.
    pub hang: Option<&'static str>,
    /// Effects whose id contains this text panic.
    pub panic: Option<&'static str>,
    /// Where the journal lies, to see that each request is in it before it is performed.
    pub watch: Option<PathBuf>,
    pub log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
pub struct Log {
    pub performed: BTreeMap<String, usize>,
    pub reruns: usize,
    pub released: Vec<String>,
    pub cancelled: Vec<String>,
    pub too_early: Vec<String>,
}

impl Executor for FakeExecutor {
    fn perform(&self, task: Task) -> BoxFuture<Outcome> {
        let id = task.id.0.clone();
        {
            let mut log = self.log.lock().unwrap();
            *log.performed.entry(id.clone()).or_default() += 1;
            log.reruns += usize::from(task.rerun);
            if self.watch.as_deref().is_some_and(|folder| !is_recorded(folder, &task.id)) {
                log.too_early.push(id.clone());
            }
        }
        let turns = digest_bytes(format!("{}{id}", self.seed).as_bytes()).as_bytes()[0] % 16;
        let hang = self.hang.is_some_and(|text| id.contains(text));
        assert!(!self.panic.is_some_and(|text| id.contains(text)), "no way");
        let log = Arc::clone(&self.log);
        Box::pin(async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            if hang {
                task.cancel.cancelled().await;
                log.lock().unwrap().cancelled.push(id);
            }
            answer(&task)
        })
    }

    fn release(&self, owner: &str) {
        self.log.lock().unwrap().released.push(owner.to_owned());
    }
}

fn is_recorded(folder: &Path, id: &EffectId) -> bool {
    let records = Reader::open(folder).unwrap().poll().unwrap();
    records.iter().any(|record| matches!(&record.entry, Entry::Request(request) if request.id == *id))
}

fn answer(task: &Task) -> Outcome {
    let digest = digest_json(&serde_json::to_value(&*task.request).unwrap());
    match &*task.request {
        Request::Model(_) => Outcome::Model(ModelReply { text: Some(digest), latency_ms: 17, ..ModelReply::default() }),
        Request::Tool(_) => Outcome::Tool(json!({"exit": 0, "stdout": digest.repeat(66), "ms": 3, "rerun": task.rerun, "rate": 0.1 + 0.7})),
        Request::Store(store) => Outcome::Stored(store.paths.clone()),
        Request::Log(_) => Outcome::Logged,
    }
}

/// A clock that moves on by itself, and begins again in every process, as one that was set back.
#[derive(Default)]
pub struct FakeClock(AtomicI64);

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(7, Ordering::SeqCst))
    }
}

/// What a disk does when its time has come.
#[derive(Clone, Copy, Debug)]
pub enum Death {
    /// Nothing of the operation is done.
    Before,
    /// Half of it.
    Half,
    /// All of it, but nobody hears of it.
    After,
}

/// A disk that dies after so many operations.
pub struct MortalDisk {
    pub disk: FileDisk,
    pub left: Arc<AtomicUsize>,
    pub death: Death,
}

impl MortalDisk {
    fn lives(&self) -> bool {
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

fn dead<T>() -> std::io::Result<T> {
    Err(std::io::Error::other("the disk died"))
}

impl Disk for MortalDisk {
    fn write(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        match (self.lives(), self.death) {
            (true, _) => self.disk.write(at, bytes),
            (false, Death::Before) => dead(),
            (false, Death::Half) => self.disk.write(at, &bytes[..bytes.len() / 2]).and_then(|()| dead()),
            (false, Death::After) => self.disk.write(at, bytes).and_then(|()| dead()),
        }
    }

    fn sync(&mut self) -> std::io::Result<()> {
        if self.lives() { self.disk.sync() } else { dead() }
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        match (self.lives(), self.death) {
            (true, _) => self.disk.cut(length),
            (false, Death::After) => self.disk.cut(length).and_then(|()| dead()),
            (false, _) => dead(),
        }
    }

    fn blob(&mut self, digest: &str, bytes: &[u8]) -> std::io::Result<()> {
        match (self.lives(), self.death) {
            (true, _) => self.disk.blob(digest, bytes),
            (false, Death::After) => self.disk.blob(digest, bytes).and_then(|()| dead()),
            (false, _) => dead(),
        }
    }

    fn sync_blobs(&mut self) -> std::io::Result<()> {
        if self.lives() { self.disk.sync_blobs() } else { dead() }
    }
}

pub fn header(run: &str) -> Header {
    Header {
        format: rsf::journal::FORMAT,
        program: "0.1.0".into(),
        run: run.into(),
        workflow: "workflows/fake.json".into(),
        document: "d0".into(),
        config: "c0".into(),
        params: json!({"goal": "none"}),
        seed: 7,
        settings: Value::Null,
    }
}

pub fn options(clock: FakeClock) -> Options {
    Options {
        run: "run-1".into(),
        journal: "runs/run-1/journal.jsonl".into(),
        project: json!({"root": "/some/where", "name": "where"}),
        stop_requested: Arc::new(|| false),
        clock: Arc::new(clock),
        exit: Arc::new(|result| u8::from(result != "DONE")),
        facts: Vec::new(),
        abort: None,
        heartbeat: None,
        disk_full: None,
        grace: std::time::Duration::from_secs(60),
    }
}

/// A failure nobody produces, to keep all kinds of outcome in one place for tests that need them.
pub fn all_outcomes() -> Vec<Outcome> {
    let error = || rsf::model::tool::ToolError { kind: rsf::model::tool::ToolErrorKind::DiskFull, message: "full".into() };
    vec![
        Outcome::Model(ModelReply::default()),
        Outcome::ModelFailed(Failure::new(FailureKind::Refusal, "no")),
        Outcome::Tool(json!({"$blob": "mine", "n": [1, 1.5, null]})),
        Outcome::ToolFailed(error()),
        Outcome::Stored(vec!["a".into()]),
        Outcome::StoreFailed(error()),
        Outcome::Logged,
    ]
}
