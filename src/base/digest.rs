//! Canonical JSON and SHA-256 digests of it: the identity of definitions, requests and blobs.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Lower-case hexadecimal SHA-256 of `bytes` (64 characters).
#[must_use]
pub fn digest_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Digest of a JSON value, independent of the order of object keys.
#[must_use]
pub fn digest_json(value: &Value) -> String {
    digest_bytes(canonical_json(value).as_bytes())
}

/// Compact JSON with object keys sorted by code point.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write_canonical(&map[key.as_str()], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
