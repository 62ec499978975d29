//! What a table says over a range of turns, so that an author of rules sees them work. Pure: nothing is counted and nothing is kept.

use super::table::Rules;
use crate::governor::{Message, Moment};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Turns that are gone through at most.
const MOST_TURNS: u64 = 100_000;

/// The messages of a session that stops at `stops` (at every turn, where none are given).
///
/// # Errors
/// The range is too long, or the table cannot be evaluated.
pub fn simulate(rules: &Rules, turns: &RangeInclusive<u64>, stops: &[u64], task: &str, task_id: &str) -> Result<Vec<Message>, String> {
    if turns.end().saturating_sub(*turns.start()) > MOST_TURNS {
        return Err(format!("at most {MOST_TURNS} turns are gone through"));
    }
    let at: BTreeSet<u64> =
        if stops.is_empty() { turns.clone().collect() } else { stops.iter().copied().filter(|stop| turns.contains(stop)).collect() };
    let mut judged = turns.start().checked_sub(1);
    let mut messages = Vec::new();
    for turn in at {
        let moment = Moment { turn, judged, task, task_id };
        messages.extend(rules.governor.speak(&rules.engine, moment).map_err(|error| error.to_string())?);
        judged = Some(turn);
    }
    Ok(messages)
}
