//! Facts of the run that documents read as `run.*`: failures, risk flags, log records, and what the surroundings told.

use super::units::By;
use crate::agent::FailureKind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Something that happened.
#[derive(Clone, Debug)]
enum Fact {
    Failed(FailureKind),
    Succeeded,
    Risk(String),
    Logged { role: String, level: String, round: u32 },
}

/// Sums over facts.
#[derive(Clone, Debug, Default)]
struct Sums {
    total: BTreeMap<FailureKind, u64>,
    /// Failures of one kind in a row, by cell.
    in_a_row: BTreeMap<(Option<usize>, FailureKind), u64>,
    risks: Vec<String>,
    logged: BTreeMap<(String, String, u32), u64>,
}

impl Sums {
    fn add(&mut self, cell: Option<usize>, fact: &Fact) {
        match fact {
            Fact::Failed(kind) => {
                *self.total.entry(*kind).or_default() += 1;
                self.in_a_row.retain(|(c, k), _| *c != cell || k == kind);
                *self.in_a_row.entry((cell, *kind)).or_default() += 1;
            }
            Fact::Succeeded => self.in_a_row.retain(|(c, _), _| *c != cell),
            Fact::Risk(text) => self.risks.push(text.clone()),
            Fact::Logged { role, level, round } => *self.logged.entry((role.clone(), level.clone(), *round)).or_default() += 1,
        }
    }
}

/// All facts of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    past: Sums,
    recent: Vec<(By, Fact)>,
    /// Told from outside: name → value.
    told: Map<String, Value>,
    pub(super) started: String,
    pub(super) resumed: bool,
    pub(super) stop_requested: bool,
    pub(super) finished_rounds: u32,
}

impl Facts {
    pub(super) fn failed(&mut self, by: By, kind: FailureKind) {
        self.recent.push((by, Fact::Failed(kind)));
    }

    pub(super) fn succeeded(&mut self, by: By) {
        self.recent.push((by, Fact::Succeeded));
    }

    pub(super) fn risk(&mut self, by: By, text: String) {
        self.recent.push((by, Fact::Risk(text)));
    }

    pub(super) fn logged(&mut self, by: By, role: String, level: String, round: u32) {
        self.recent.push((by, Fact::Logged { role, level, round }));
    }

    pub(super) fn tell(&mut self, name: String, value: Value) {
        self.told.insert(name, value);
    }

    pub(super) fn close_round(&mut self) {
        self.recent.sort_by_key(|(by, _)| *by);
        for (by, fact) in std::mem::take(&mut self.recent) {
            self.past.add(by.cell, &fact);
        }
    }

    /// `run` as seen by whoever sees the facts for whose origin `seen` holds.
    pub(super) fn run(&self, id: &str, seen: impl Fn(By) -> bool) -> Map<String, Value> {
        let mut sums = self.past.clone();
        let mut visible: Vec<&(By, Fact)> = self.recent.iter().filter(|(by, _)| seen(*by)).collect();
        visible.sort_by_key(|(by, _)| *by);
        visible.into_iter().for_each(|(by, fact)| sums.add(by.cell, fact));
        let mut run = Map::new();
        run.insert("id".to_owned(), Value::from(id));
        run.insert("started".to_owned(), Value::from(self.started.clone()));
        run.insert("resumed".to_owned(), Value::from(self.resumed));
        run.insert("stop_requested".to_owned(), Value::from(self.stop_requested));
        run.insert("disk_full".to_owned(), Value::from(false));
        run.insert("watchdog_deaths".to_owned(), Value::from(0));
        run.insert("rounds".to_owned(), Value::from(self.finished_rounds));
        run.insert("failures".to_owned(), failures(&sums));
        run.insert("log_records".to_owned(), log_records(&sums));
        run.insert("risk_flags".to_owned(), Value::from(sums.risks));
        run.extend(self.told.clone());
        run
    }
}

fn failures(sums: &Sums) -> Value {
    let kinds = [
        FailureKind::Timeout,
        FailureKind::Spawn,
        FailureKind::Refusal,
        FailureKind::Crash,
        FailureKind::Schema,
        FailureKind::Fail,
        FailureKind::Tool,
        FailureKind::Money,
        FailureKind::Incomplete,
    ];
    let entry = |kind: FailureKind| {
        let in_a_row = sums.in_a_row.iter().filter(|((_, k), _)| *k == kind).map(|(_, n)| *n).max().unwrap_or(0);
        json!({"total": sums.total.get(&kind).copied().unwrap_or(0), "in_a_row": in_a_row})
    };
    Value::Object(kinds.into_iter().map(|kind| (kind.name().to_owned(), entry(kind))).collect())
}

fn log_records(sums: &Sums) -> Value {
    sums.logged.iter().map(|((role, level, round), count)| json!({"role": role, "level": level, "round": round, "count": count})).collect()
}
