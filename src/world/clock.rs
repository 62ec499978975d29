//! The clock. Time enters the core as data of inputs; this is the only place that reads it.

use crate::base::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the present time comes from; tests hand in their own.
pub trait Clock: Send + Sync {
    /// Present time.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()),
            Err(before) => i64::try_from(before.duration().as_millis()).map(|n| -n),
        };
        Timestamp(millis.unwrap_or(i64::MAX))
    }
}
