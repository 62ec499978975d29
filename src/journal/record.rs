//! Records as typed data, and their bodies as JSON. What a line looks like is the business of `line`.

use super::JournalError;
use crate::base::Timestamp;
use crate::machine::{EffectId, Input, Note};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Version of the format that this program writes. Older ones must stay readable.
pub const FORMAT: u32 = 1;

/// The first record: what the run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Version of the program that wrote it.
    pub program: String,
    /// Run id.
    pub run: String,
    /// Path or name of the workflow document.
    pub workflow: String,
    /// Digest of the document.
    pub document: String,
    /// Digest of the effective configuration.
    pub config: String,
    /// Parameters of the run.
    pub params: Value,
    /// Seed of everything that looks random.
    pub seed: u64,
    /// Whatever else is needed to set the run up again (profile, overrides); kept as it is.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub settings: Value,
}

/// An effect that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Identity.
    pub id: EffectId,
    /// Digest of the cell's definition with what it uses.
    pub definition: String,
    /// Digest of the request, [`super::request_digest`].
    pub digest: String,
    /// The request as recorded: in full, but a model's with its new messages only; large values are still named as blobs.
    pub request: Value,
}

/// One record without its number.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// What the run was started with.
    Header(Box<Header>),
    /// What was fed to the machine.
    Input(Box<Input>),
    /// What the machine asked for.
    Request(RequestRecord),
    /// What it told its watchers.
    Note(Note),
    /// The end of the run.
    End {
        /// Result name.
        result: String,
        /// Why, for people.
        reason: Option<String>,
    },
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Number, from 0 (the header).
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What it says.
    pub entry: Entry,
}

impl Entry {
    /// The kind as lines name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Header(_) => "header",
            Self::Input(_) => "input",
            Self::Request(_) => "request",
            Self::Note(_) => "note",
            Self::End { .. } => "end",
        }
    }

    /// The body as plain JSON; the bodies of requests are encoded already.
    pub(crate) fn body(&self) -> Result<Value, JournalError> {
        let body = match self {
            Self::Header(header) => serde_json::to_value(header),
            Self::Input(input) => serde_json::to_value(input),
            Self::Request(request) => serde_json::to_value(request),
            Self::Note(note) => serde_json::to_value(note),
            Self::End { result, reason } => Ok(json!({ "result": result, "reason": reason })),
        };
        body.map_err(|error| JournalError::Unwritable { kind: self.kind(), message: error.to_string() })
    }

    /// Reads a body back. `Ok(None)` is a kind this program does not know; `Err` says what does not fit.
    pub(crate) fn read(kind: &str, body: Value) -> Result<Option<Self>, String> {
        #[derive(Deserialize)]
        struct End {
            result: String,
            reason: Option<String>,
        }
        let entry = match kind {
            "header" => serde_json::from_value(body).map(|header| Self::Header(Box::new(header))),
            "input" => serde_json::from_value(body).map(|input| Self::Input(Box::new(input))),
            "request" => serde_json::from_value(body).map(Self::Request),
            "note" => serde_json::from_value(body).map(Self::Note),
            "end" => serde_json::from_value(body).map(|End { result, reason }| Self::End { result, reason }),
            _ => return Ok(None),
        };
        entry.map(Some).map_err(|error| error.to_string())
    }
}
