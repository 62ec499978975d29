//! A key: usable as a header, never printable. Whatever text comes from outside is scrubbed of it before it is shown.

use reqwest::header::HeaderValue;
use std::fmt;

/// A key or another value that must not be seen.
pub(super) struct Secret(String);

impl Secret {
    /// `None` for an empty text.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The header value `{prefix}{key}`; `None` when the key has characters that no header may have.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// `text` without the key.
    pub(super) fn scrub(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
