//! Large values beside the journal, named by their digest.
//!
//! In a body, `{"$blob": D, "bytes": N}` stands for the text whose UTF-8 bytes have the SHA-256 `D`; with `"json": true` it stands for the
//! value whose (again encoded) JSON those bytes are. A key of user data that reads `$blob`, `$$blob`, … gets one `$` more, so that no data
//! can pass for a blob. Nothing here decides when a blob is written; see `writer`.

use crate::base::digest_bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest text that stays in its line, in bytes.
pub const BLOB_TEXT_BYTES: usize = 4096;
/// Longest list or object that stays in its line, in bytes of its JSON.
pub const BLOB_TREE_BYTES: usize = 16 * 1024;
/// Lists and objects this deep become blobs, however small: a line must stay readable by parsers that bound nesting at 128.
const BLOB_DEPTH: usize = 48;

const MARK: &str = "$blob";

/// A blob to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Name.
    pub digest: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Replaces what is large in `body` (never `body` itself) and hands the contents to `blobs`.
pub(crate) fn encode(body: Value, blobs: &mut Vec<Blob>) -> Value {
    match body {
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (escape(key), encode_at(value, 1, blobs).0)).collect()),
        other => encode_at(other, 0, blobs).0,
    }
}

/// The encoded value and about how many bytes its JSON takes.
fn encode_at(value: Value, depth: usize, blobs: &mut Vec<Blob>) -> (Value, usize) {
    let deep = depth >= BLOB_DEPTH;
    let below = if deep { 1 } else { depth + 1 };
    let mut size = 2;
    let encoded = match value {
        Value::String(text) if text.len() > BLOB_TEXT_BYTES => {
            let bytes = text.into_bytes();
            return (named(bytes, false, blobs), 128);
        }
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| {
                    let (item, bytes) = encode_at(item, below, blobs);
                    size += bytes + 1;
                    item
                })
                .collect(),
        ),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| {
                    let (value, bytes) = encode_at(value, below, blobs);
                    size += key.len() + bytes + 4;
                    (escape(key), value)
                })
                .collect(),
        ),
        Value::String(text) => {
            size += text.len();
            return (Value::String(text), size);
        }
        plain => return (plain, 8),
    };
    if deep || (depth > 0 && size > BLOB_TREE_BYTES) {
        return (named(encoded.to_string().into_bytes(), true, blobs), 128);
    }
    (encoded, size)
}

fn named(bytes: Vec<u8>, tree: bool, blobs: &mut Vec<Blob>) -> Value {
    let digest = digest_bytes(&bytes);
    let mut name = Map::new();
    name.insert(MARK.to_owned(), json!(digest));
    name.insert("bytes".to_owned(), json!(bytes.len()));
    if tree {
        name.insert("json".to_owned(), Value::Bool(true));
    }
    blobs.push(Blob { digest, bytes });
    Value::Object(name)
}

fn escape(key: String) -> String {
    if is_marked(&key) { format!("${key}") } else { key }
}

fn is_marked(key: &str) -> bool {
    key.starts_with('$') && key.trim_start_matches('$') == "blob"
}

/// Where blobs are read from.
#[derive(Clone, Debug)]
pub enum Blobs {
    /// A folder of files named by their digest.
    Folder(PathBuf),
    /// Memory, for runs that leave nothing behind.
    Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>),
}

impl Blobs {
    /// The blobs of the run in `folder`.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self::Folder(folder.join("blobs"))
    }

    /// Puts the blobs back that `value` names.
    ///
    /// # Errors
    /// A sentence that says which blob is missing or damaged.
    pub fn expand(&self, value: Value) -> Result<Value, String> {
        match value {
            Value::Object(map) if map.contains_key(MARK) => self.load(&map),
            Value::Object(map) => {
                let unescape = |key: String| if is_marked(&key) { key[1..].to_owned() } else { key };
                map.into_iter()
                    .map(|(key, value)| Ok((unescape(key), self.expand(value)?)))
                    .collect::<Result<Map<_, _>, String>>()
                    .map(Value::Object)
            }
            Value::Array(items) => items.into_iter().map(|item| self.expand(item)).collect::<Result<Vec<_>, _>>().map(Value::Array),
            plain => Ok(plain),
        }
    }

    fn load(&self, name: &Map<String, Value>) -> Result<Value, String> {
        let digest = name.get(MARK).and_then(Value::as_str).filter(|d| d.len() == 64 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        let (Some(digest), Some(length)) = (digest, name.get("bytes").and_then(Value::as_u64)) else {
            return Err("a blob without a proper name".to_owned());
        };
        let bytes = self.bytes(digest, length)?;
        if bytes.len() as u64 != length || digest_bytes(&bytes) != digest {
            return Err(format!("the blob {digest} is not what its name says"));
        }
        if name.get("json").is_some() {
            let tree = serde_json::from_slice(&bytes).map_err(|error| format!("the blob {digest} is no JSON: {error}"))?;
            return self.expand(tree);
        }
        String::from_utf8(bytes).map(Value::String).map_err(|_| format!("the blob {digest} is no text"))
    }

    fn bytes(&self, digest: &str, length: u64) -> Result<Vec<u8>, String> {
        match self {
            Self::Folder(folder) => {
                let mut bytes = Vec::new();
                let file = File::open(folder.join(digest)).map_err(|error| format!("the blob {digest} cannot be read: {error}"))?;
                // One byte more than promised is enough to see that a file is too long.
                file.take(length.saturating_add(1))
                    .read_to_end(&mut bytes)
                    .map_err(|error| format!("the blob {digest} cannot be read: {error}"))?;
                Ok(bytes)
            }
            Self::Memory(blobs) => {
                let blobs = blobs.lock().unwrap_or_else(PoisonError::into_inner);
                blobs.get(digest).cloned().ok_or_else(|| format!("the blob {digest} is missing"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: &Value) -> (Value, usize) {
        let mut blobs = Vec::new();
        let encoded = encode(value.clone(), &mut blobs);
        let count = blobs.len();
        let store = blobs.into_iter().map(|blob| (blob.digest, blob.bytes)).collect();
        let back = Blobs::Memory(Arc::new(Mutex::new(store))).expand(encoded.clone()).unwrap();
        assert_eq!(&back, value);
        (encoded, count)
    }

    #[test]
    fn data_that_looks_like_a_blob_stays_data() {
        let (encoded, blobs) = round_trip(&json!({"a": {"$blob": "x", "bytes": 3}, "$blob": 1, "$$blob": [{"$blob": null}], "blob": 2}));
        assert_eq!(blobs, 0);
        assert_eq!(encoded["a"]["$$blob"], "x");
    }

    #[test]
    fn large_texts_large_trees_and_deep_trees_become_blobs() {
        let (encoded, blobs) = round_trip(&json!({"text": "x".repeat(5000), "short": "x".repeat(4096)}));
        assert_eq!((blobs, encoded["text"]["bytes"].as_u64()), (1, Some(5000)));
        let (encoded, blobs) = round_trip(&json!({"tree": vec!["0123456789"; 2000]}));
        assert_eq!((blobs, encoded["tree"]["json"].as_bool()), (1, Some(true)));
        let deep = (0..200).fold(json!("heart"), |inner, n| if n % 2 == 0 { json!([inner]) } else { json!({ "k": inner }) });
        let (encoded, blobs) = round_trip(&json!({ "deep": deep }));
        assert!(blobs >= 4);
        assert!(serde_json::from_str::<Value>(&encoded.to_string()).is_ok());
    }

    #[test]
    fn a_blob_that_is_missing_or_odd_is_named() {
        let blobs = Blobs::Memory(Arc::default());
        let digest = "a".repeat(64);
        assert!(blobs.expand(json!({"$blob": digest, "bytes": 3})).unwrap_err().contains("missing"));
        assert!(blobs.expand(json!({"$blob": "../../etc/passwd", "bytes": 3})).unwrap_err().contains("proper name"));
    }
}
