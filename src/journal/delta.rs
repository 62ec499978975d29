//! How requests are recorded: a model's by what is new in its history, all others in full.
//!
//! The machine makes every request again from the recorded inputs, so the journal needs a model's history once, not once per turn.

use super::blob::{self, Blob, Blobs};
use super::{JournalError, Record};
use crate::base::{digest_bytes, digest_json};
use crate::journal::record::{Entry, RequestRecord};
use crate::machine::{EffectId, Request};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the journal holds of each session.
#[derive(Clone, Debug, Default)]
pub struct Sessions(BTreeMap<String, Session>);

#[derive(Clone, Debug)]
struct Session {
    count: usize,
    chain: String,
    frame: String,
}

/// Digest of a request: of its JSON in full, but with a model's history and frame (model, system text, tools, output schema) by their
/// digests, so that it costs no more than one pass over the history.
///
/// # Errors
/// The request has no JSON form.
pub fn request_digest(request: &Request) -> Result<String, JournalError> {
    Parts::of(request).map(|parts| parts.digest)
}

/// A request taken apart for recording.
struct Parts {
    digest: String,
    /// JSON of the request; a model's without history and frame.
    body: Value,
    model: Option<ModelParts>,
}

struct ModelParts {
    key: String,
    frame: Value,
    frame_digest: String,
    messages: Vec<Value>,
    /// `chains[n]` is the digest of the first n messages.
    chains: Vec<String>,
}

impl Parts {
    fn of(request: &Request) -> Result<Self, JournalError> {
        let Request::Model(model) = request else {
            let body = json_of(request)?;
            return Ok(Self { digest: digest_json(&body), body, model: None });
        };
        let mut session = json_of(&model.asker)?;
        let frame = json!({
            "model": model.model, "system": model.system, "tools": json_of(&model.tools)?, "output": model.output,
        });
        let messages = model.messages.iter().map(json_of).collect::<Result<Vec<_>, _>>()?;
        let chains = messages.iter().fold(vec![String::new()], |mut chains, message| {
            let before = chains.last().map_or("", String::as_str);
            chains.push(digest_bytes(format!("{before}{}", digest_json(message)).as_bytes()));
            chains
        });
        let frame_digest = digest_json(&frame);
        let body = json!({
            "asker": session, "session_id": model.session_id, "timeout_ms": model.timeout_ms, "frame": frame_digest,
            "count": messages.len(), "chain": chains.last(),
        });
        if let Some(asker) = session.as_object_mut() {
            asker.remove("turn");
        }
        let key = digest_json(&json!([session, model.session_id]));
        Ok(Self { digest: digest_json(&body), body, model: Some(ModelParts { key, frame, frame_digest, messages, chains }) })
    }
}

fn json_of(value: &(impl Serialize + ?Sized)) -> Result<Value, JournalError> {
    serde_json::to_value(value).map_err(|error| JournalError::Unwritable { kind: "request", message: error.to_string() })
}

impl Sessions {
    /// The record of a request; its large values go to `blobs`.
    pub(crate) fn record(
        &mut self,
        id: &EffectId,
        definition: &str,
        request: &Request,
        blobs: &mut Vec<Blob>,
    ) -> Result<RequestRecord, JournalError> {
        let Parts { digest, mut body, model } = Parts::of(request)?;
        if let Some(model) = model {
            body = json!({ "model": self.shorten(body, model) });
        }
        Ok(RequestRecord { id: id.clone(), definition: definition.to_owned(), digest, request: blob::encode(body, blobs) })
    }

    /// Adds frame and messages to `body`, as far as the session's earlier records do not hold them.
    fn shorten(&mut self, mut body: Value, model: ModelParts) -> Value {
        let known = self.0.get(&model.key);
        // A history that was shortened or rewritten is no continuation: it is recorded anew, from its first message.
        let from = known.filter(|s| model.chains.get(s.count) == Some(&s.chain)).map_or(0, |s| s.count);
        if known.is_none_or(|s| s.frame != model.frame_digest) {
            body["is"] = model.frame;
        }
        body["from"] = json!(from);
        let count = model.messages.len();
        body["messages"] = Value::Array(model.messages.into_iter().skip(from).collect());
        let chain = model.chains.into_iter().next_back().unwrap_or_default();
        self.0.insert(model.key, Session { count, chain, frame: model.frame_digest });
        body
    }

    /// Learns from a record that was read what the journal holds already.
    pub(crate) fn learn(&mut self, record: &RequestRecord) {
        let Some(model) = record.request.get("model") else { return };
        let text = |key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
        let count = model.get("count").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        if let (Some(key), Some(count), Some(chain), Some(frame)) = (session_key(model), count, text("chain"), text("frame")) {
            self.0.insert(key, Session { count, chain, frame });
        }
    }
}

fn session_key(model: &Value) -> Option<String> {
    let mut asker = model.get("asker")?.clone();
    asker.as_object_mut()?.remove("turn");
    Some(digest_json(&json!([asker, model.get("session_id")?])))
}

/// Every request of the records in full, in the order they were made.
///
/// # Errors
/// A sentence that says which request cannot be put together.
pub fn full_requests(records: &[Record], blobs: &Blobs) -> Result<Vec<(EffectId, Request)>, String> {
    let mut sessions: BTreeMap<String, (Value, Vec<Value>)> = BTreeMap::new();
    let mut all = Vec::new();
    for record in records {
        let Entry::Request(request) = &record.entry else { continue };
        let mut body = blobs.expand(request.request.clone())?;
        if let Some(model) = body.get_mut("model") {
            lengthen(model, &mut sessions).ok_or_else(|| format!("the request {} continues a session that is not there", request.id.0))?;
        }
        let full = serde_json::from_value(body).map_err(|error| format!("the request {} does not read: {error}", request.id.0))?;
        all.push((request.id.clone(), full));
    }
    Ok(all)
}

fn lengthen(model: &mut Value, sessions: &mut BTreeMap<String, (Value, Vec<Value>)>) -> Option<()> {
    let (frame, messages) = sessions.entry(session_key(model)?).or_default();
    if let Some(is) = model.get("is") {
        frame.clone_from(is);
    }
    let from = usize::try_from(model.get("from")?.as_u64()?).ok()?;
    if from > messages.len() {
        return None;
    }
    messages.truncate(from);
    messages.extend(model.get("messages")?.as_array()?.iter().cloned());
    let object = model.as_object_mut()?;
    object.insert("messages".to_owned(), Value::Array(messages.clone()));
    object.extend(frame.as_object()?.clone());
    Some(())
}
