//! What a run tells whoever watches it: the only way the driver speaks to reporters. Recorded events go through the same reporters.

use crate::base::Timestamp;
use crate::machine::{EffectId, Note};
use serde::Serialize;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The run begins (or goes on after a crash).
    Started {
        /// Run id.
        run: String,
        /// Path of the journal inside the project.
        journal: String,
        /// True when it continues an earlier process.
        resumed: bool,
        /// Present time.
        at: Timestamp,
    },
    /// The machine noted something.
    Note {
        /// Present time.
        at: Timestamp,
        /// What.
        note: Note,
    },
    /// An effect is being performed.
    EffectStarted {
        /// Identity.
        id: EffectId,
        /// `model`, `tool`, `store` or `log`.
        kind: &'static str,
        /// Model name, tool name, type name or path.
        what: String,
        /// Present time.
        at: Timestamp,
    },
    /// An effect is done.
    EffectDone {
        /// Identity.
        id: EffectId,
        /// False when it failed.
        ok: bool,
        /// Wall time in milliseconds.
        ms: u64,
        /// Short text for people: an error, tokens used, an exit code.
        detail: String,
        /// Present time.
        at: Timestamp,
    },
    /// Something the engine wants a person to read.
    Message {
        /// The words.
        text: String,
        /// Present time.
        at: Timestamp,
    },
    /// The run is over.
    Ended {
        /// Result name.
        result: String,
        /// Why, for people.
        reason: Option<String>,
        /// Exit code of `results`.
        exit: u8,
        /// Present time.
        at: Timestamp,
    },
}
