//! Time as data: a count of milliseconds that is handed in. This room reads no clock.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// RFC 3339 in UTC with millisecond precision, e.g. `2026-06-28T14:35:00.000Z`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S.%3fZ")
    }

    /// The compact form used in ids, e.g. `20260628T143500`.
    #[must_use]
    pub fn compact(self) -> String {
        self.format("%Y%m%dT%H%M%S")
    }

    /// `strftime`-like format in UTC; a time outside jiff's range gives the bare number of milliseconds.
    #[must_use]
    pub fn format(self, format: &str) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => moment.strftime(format).to_string(),
            Err(_) => self.0.to_string(),
        }
    }
}
