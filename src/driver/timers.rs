//! Timers by identity. Knows when the next one is due; waiting is done by the driver.

use crate::machine::TimerId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// A delay that no run outlives; longer ones are cut to it.
const LONGEST_MS: u64 = 10 * 365 * 24 * 3_600_000;

#[derive(Debug, Default)]
pub struct Timers {
    due: BTreeMap<TimerId, Instant>,
    order: BTreeSet<(Instant, TimerId)>,
}

impl Timers {
    /// Sets a timer, in place of one of the same identity.
    pub fn set(&mut self, id: TimerId, after_ms: u64, now: Instant) {
        self.take(&id);
        let due = now + Duration::from_millis(after_ms.min(LONGEST_MS));
        self.order.insert((due, id.clone()));
        self.due.insert(id, due);
    }

    /// Removes a timer; false where it is not set (any more).
    pub fn take(&mut self, id: &TimerId) -> bool {
        match self.due.remove(id) {
            Some(due) => self.order.remove(&(due, id.clone())),
            None => false,
        }
    }

    pub fn is_set(&self, id: &TimerId) -> bool {
        self.due.contains_key(id)
    }

    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Instant> {
        self.order.first().map(|(due, _)| *due)
    }

    /// Those that are due, in the order they became so; they stay set until they are taken.
    pub fn ringing(&self, now: Instant) -> Vec<TimerId> {
        self.order.iter().take_while(|(due, _)| *due <= now).map(|(_, id)| id.clone()).collect()
    }
}
