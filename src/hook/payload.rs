//! What an agent hands over on standard input. Read leniently: unknown fields are passed over without being kept, whatever their size, and a
//! field of another type than expected counts as absent. Never trusted: ids become file names only through [`Payload::key`].

use crate::base::digest_bytes;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Largest payload, in bytes.
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Longest id that is a file name as it stands.
const ID_CHARS: usize = 128;

const KNOWN: [&str; 16] = [
    "session_id",
    "conversation_id",
    "hook_event_name",
    "cwd",
    "permission_mode",
    "stop_hook_active",
    "agent_id",
    "workspace_roots",
    "turn_id",
    "timestamp",
    "cursor_version",
    "status",
    "source",
    "reason",
    "generation_id",
    "loop_count",
];

/// The fields that are used.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    fields: BTreeMap<&'static str, Value>,
}

impl Payload {
    /// Reads a payload.
    ///
    /// # Errors
    /// It is empty, no JSON, no object, or more than one document.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err("nothing came on standard input: an agent hands over JSON".to_owned());
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = reader.deserialize_map(Fields).and_then(|payload| reader.end().map(|()| payload));
        read.map_err(|error| format!("what came on standard input is no JSON object: {error}"))
    }

    /// Whether a field is there and not null.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.fields.get(name).is_some_and(|value| !value.is_null())
    }

    /// A field that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// The first text of a list.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_array()?.first()?.as_str()
    }

    /// The session's id.
    ///
    /// # Errors
    /// There is none, or it is no text.
    pub fn session(&self) -> Result<&str, String> {
        let named = self.text("session_id").filter(|id| !id.is_empty());
        match named.or_else(|| self.text("conversation_id").filter(|id| !id.is_empty())) {
            Some(id) => Ok(id),
            None if self.has("session_id") => Err("`session_id` is empty or no text".to_owned()),
            None => Err("there is no `session_id`".to_owned()),
        }
    }

    /// The id of the subagent in which this happened.
    #[must_use]
    pub fn subagent(&self) -> Option<&str> {
        self.text("agent_id").filter(|id| !id.is_empty())
    }

    /// An id as part of a file name: as it stands where it is short and plain, else its digest.
    #[must_use]
    pub fn key(id: &str) -> String {
        let plain = !id.is_empty() && id.len() <= ID_CHARS && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if plain { id.to_owned() } else { format!("sha256-{}", digest_bytes(id.as_bytes())) }
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Payload, A::Error> {
        let mut payload = Payload::default();
        while let Some(key) = map.next_key::<String>()? {
            match KNOWN.iter().find(|known| **known == key) {
                Some(known) => {
                    payload.fields.insert(known, map.next_value()?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(payload)
    }
}
