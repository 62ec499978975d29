//! What goes into the machine and what comes out of it.

use crate::agent::{Failure, ModelReply, ModelRequest};
use crate::base::Timestamp;
use crate::model::tool::{ToolError, ToolRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Identity of an effect within a run: path of the cell and index of the effect in it, never the order of calls.
/// Text form `role@seq.r{round}.a{attempt}[.i{item}]/{index}`; programs of `on` use `on.{event}` in place of `role@seq`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId(pub String);

/// Identity of a timer; same text form as [`EffectId`] with a word in place of the index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimerId(pub String);

/// Everything that may be fed to the machine. Serialised as it is into the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "lowercase")]
pub enum Input {
    /// Begins the run; the first input, exactly once.
    Start {
        /// Present time.
        at: Timestamp,
        /// What the engine knows of its surroundings: `project: {root, name}`.
        project: Value,
    },
    /// A requested effect came back.
    Effect {
        /// Which.
        id: EffectId,
        /// Present time.
        at: Timestamp,
        /// Its result.
        outcome: Outcome,
    },
    /// A timer rang.
    Timer {
        /// Which.
        id: TimerId,
        /// Present time.
        at: Timestamp,
    },
    /// A person asked to stop (stop file, signal): the round is finished first.
    Stop {
        /// Present time.
        at: Timestamp,
    },
    /// The run goes on after its process ended: running attempts are known to have been interrupted.
    Resume {
        /// Present time.
        at: Timestamp,
    },
    /// The engine gives the run up (its process died more often than it may): no cell starts any more, `on.failure` and `on.end` run.
    Abort {
        /// Why, for people.
        message: String,
        /// Present time.
        at: Timestamp,
    },
    /// In a simulation: how a cell ended, instead of interpreting it.
    Scripted {
        /// `role@seq`.
        cell: String,
        /// What it did.
        outcome: Scripted,
        /// Present time.
        at: Timestamp,
    },
    /// A fact about the surroundings that documents read as `run.{name}` (`disk_full`, `watchdog_deaths`).
    Fact {
        /// Name.
        name: String,
        /// Value.
        value: Value,
        /// Present time.
        at: Timestamp,
    },
}

/// How a simulated cell ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scripted {
    /// Types emitted, by name with variant; `None`: the first alternative of every `out` entry.
    pub emit: Option<Vec<String>>,
    /// Result of a requested stop.
    pub stop: Option<String>,
    /// The attempt fails.
    #[serde(default)]
    pub fail: bool,
    /// Flows whose `when` does not hold, by id.
    #[serde(default)]
    pub withhold: Vec<String>,
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A model answered.
    Model(ModelReply),
    /// A model could not be asked, or refused.
    ModelFailed(Failure),
    /// A tool answered.
    Tool(Value),
    /// A tool could not answer.
    ToolFailed(ToolError),
    /// Documents were written.
    Stored(Vec<String>),
    /// They could not be written.
    StoreFailed(ToolError),
    /// A log record was written.
    Logged,
}

/// An effect to perform. Serialised as it is into the journal (a model request by digest and new messages only).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Ask a model.
    Model(ModelRequest),
    /// Call a tool.
    Tool(ToolRequest),
    /// Write documents, atomically each.
    Store(StoreRequest),
    /// Append a log record.
    Log(LogRequest),
}

/// Documents the engine writes for `types`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreRequest {
    /// Type name.
    pub name: String,
    /// Paths inside the project, rendered.
    pub paths: Vec<String>,
    /// The bytes as text.
    pub text: String,
}

/// One record for a role's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRequest {
    /// Path of the JSON lines file inside the project, rendered; the text line goes beside it with the ending `.log`.
    pub path: String,
    /// The record.
    pub record: Map<String, Value>,
    /// The line for people.
    pub text: String,
}

/// Everything the machine asks of whoever drives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Perform an effect and feed its [`Outcome`].
    Perform {
        /// Identity.
        id: EffectId,
        /// Digest of the cell's definition with what it uses.
        definition: String,
        /// The effect.
        request: Box<Request>,
    },
    /// Ring after so many milliseconds.
    SetTimer {
        /// Identity.
        id: TimerId,
        /// Delay.
        after_ms: u64,
    },
    /// The timer is of no use any more.
    CancelTimer {
        /// Identity.
        id: TimerId,
    },
    /// Stop performing this effect (its attempt is over); a late outcome is dropped by the machine.
    Cancel {
        /// Identity.
        id: EffectId,
    },
    /// In a simulation: the cell runs; feed [`Input::Scripted`].
    Await {
        /// `role@seq`.
        cell: String,
        /// Round.
        round: u32,
        /// Attempt, from 1.
        attempt: u32,
    },
    /// An attempt of a cell is over: its checkouts and scratch files may go.
    Release {
        /// The owner named in its tool requests.
        owner: String,
    },
    /// Something a watcher may want to know; carries no obligation.
    Note(Note),
    /// The run is over; no input is needed any more.
    End {
        /// Result name.
        result: String,
        /// Why, for people: a failure's message or the stopping rule's text.
        reason: Option<String>,
    },
}

/// Where in the order of everything a note belongs: (round, seq, role order, position within the cell).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Round, from 1; 0 before the first.
    pub round: u32,
    /// Step; 0 for what belongs to the round's start, `u32::MAX` for its end.
    pub seq: u32,
    /// Index of the role.
    pub role: u32,
    /// Position within the cell.
    pub index: u32,
}

/// What happened, for watchers and for the canonical record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Its place in the order of everything.
    pub place: Place,
    /// What.
    pub event: NoteEvent,
}

/// Kinds of notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum NoteEvent {
    /// A round begins.
    Round {
        /// Its number.
        round: u32,
    },
    /// A cell starts an attempt.
    Run {
        /// `role@seq`.
        cell: String,
        /// Attempt, from 1.
        attempt: u32,
        /// Names of the values that fill its entries: entry key → value names, or null.
        inputs: Vec<(String, Option<Vec<String>>)>,
    },
    /// A cell succeeded.
    Done {
        /// `role@seq`.
        cell: String,
        /// By its `recover` operations.
        recovered: bool,
        /// Names of what it emitted.
        emitted: Vec<String>,
    },
    /// An attempt failed.
    Fail {
        /// `role@seq`.
        cell: String,
        /// Attempt.
        attempt: u32,
        /// Kind, or `oversupply`, or `script` in a simulation.
        kind: String,
        /// For people.
        message: String,
        /// Another attempt follows.
        retried: bool,
    },
    /// A flow delivered.
    Deliver {
        /// Flow id.
        flow: String,
    },
    /// After a stop, an active cell whose inputs cannot be filled any more.
    Skip {
        /// `role@seq`.
        cell: String,
    },
    /// A held feedback value was released at a round's end.
    Release {
        /// Flow id.
        flow: String,
    },
    /// A stop was requested.
    Stop {
        /// Result asked for.
        result: String,
        /// By which cell or program.
        by: String,
    },
    /// Values of the document's `view` at a round's end (label → value or an error text).
    View {
        /// Round.
        round: u32,
        /// Label → value.
        values: Map<String, Value>,
    },
    /// Something worth a look: a constraint that failed, a denied call, a foreign id.
    Risk {
        /// Where.
        cell: String,
        /// What.
        message: String,
    },
    /// The run is over.
    End {
        /// Result.
        result: String,
    },
}
