//! Random runs: how cells end is drawn by given odds from a seed, so that each run can be drawn again.

use super::drive;
use crate::check::plan::Plan;
use crate::machine::{NoteEvent, Scripted};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Chances by what they are of: `role@seq.Alternative`, `role@seq.stop`, `role@seq.fail`, or the id of a flow with a `when`.
/// Alternatives without one share what is left equally; a flow's `when` holds half of the times; nothing stops or fails.
#[derive(Clone, Debug, Default)]
pub struct Odds(pub BTreeMap<String, f64>);

/// How one random run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its result.
    pub result: String,
    /// Rounds begun.
    pub rounds: u32,
    /// Cells that ran.
    pub cells: BTreeSet<String>,
    /// Flows that delivered or were released.
    pub flows: BTreeSet<String>,
}

impl Odds {
    /// Names that nothing in the plan has.
    #[must_use]
    pub fn unknown(&self, plan: &Plan) -> Vec<String> {
        let net = plan.net();
        let mut known: BTreeSet<String> = net.flows.iter().filter(|flow| flow.when.is_some()).map(|flow| flow.id.clone()).collect();
        for cell in &net.cells {
            known.extend(["stop", "fail"].map(|name| format!("{}.{name}", cell.id)));
            known.extend(cell.outs.iter().flat_map(|out| &out.term.alternatives).map(|name| format!("{}.{name}", cell.id)));
        }
        self.0.keys().filter(|name| !known.contains(*name)).cloned().collect()
    }

    fn happens(&self, name: &str, otherwise: f64, draw: &mut Draw) -> bool {
        draw.next() < self.0.get(name).copied().unwrap_or(otherwise)
    }

    fn outcome(&self, plan: &Plan, id: &str, draw: &mut Draw) -> Scripted {
        let Some(cell) = plan.net().cells.iter().find(|cell| cell.id == id) else { return Scripted::default() };
        let fail = self.happens(&format!("{id}.fail"), 0.0, draw);
        let stop = self.happens(&format!("{id}.stop"), 0.0, draw).then(|| "STOPPED".to_owned());
        let mut emit = Vec::new();
        for out in &cell.outs {
            let names: Vec<String> = out.term.alternatives.iter().map(ToString::to_string).collect();
            let given: Vec<Option<f64>> = names.iter().map(|name| self.0.get(&format!("{id}.{name}")).copied()).collect();
            let sum: f64 = given.iter().flatten().sum();
            let others = given.iter().filter(|chance| chance.is_none()).count();
            #[expect(clippy::cast_precision_loss, reason = "a union has at most a hundred alternatives")]
            let share = (1.0 - sum).max(0.0) / (others.max(1) as f64);
            let mut left = draw.next();
            let chosen = given.iter().position(|chance| {
                left -= chance.unwrap_or(share);
                left < 0.0
            });
            emit.extend(names.get(chosen.unwrap_or(names.len().saturating_sub(1))).cloned());
        }
        let conditional = cell.outgoing.iter().map(|flow| &plan.net().flows[*flow]).filter(|flow| flow.when.is_some());
        let withhold = conditional.filter(|flow| !self.happens(&flow.id, 0.5, draw)).map(|flow| flow.id.clone()).collect();
        Scripted { emit: Some(emit), stop, fail, withhold }
    }
}

/// One run drawn from `seed`.
#[must_use]
pub fn random_run(plan: &Arc<Plan>, odds: &Odds, seed: u64) -> Outcome {
    let mut draw = Draw(seed);
    let notes = drive(Arc::clone(plan), |cell, _| odds.outcome(plan, cell, &mut draw), |_| 0);
    let mut outcome = Outcome::default();
    for note in notes {
        match note.event {
            NoteEvent::Round { round } => outcome.rounds = round,
            NoteEvent::Run { cell, .. } => {
                outcome.cells.insert(cell);
            }
            NoteEvent::Deliver { flow } | NoteEvent::Release { flow } => {
                outcome.flows.insert(flow);
            }
            NoteEvent::End { result } => outcome.result = result,
            _ => {}
        }
    }
    outcome
}

/// Numbers from 0 to 1 out of a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in a float")]
        let number = ((z ^ (z >> 31)) >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }
}
