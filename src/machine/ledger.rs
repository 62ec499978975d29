//! Tokens and cost of model exchanges, by role, model and round; what a cell may see of them follows the order of everything.

use super::units::By;
use crate::agent::Tokens;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One exchange.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Who asked.
    pub by: By,
    pub role: String,
    pub model: String,
    pub round: u32,
    pub tokens: Tokens,
    /// Millionths.
    pub cost: i64,
}

/// A sum of exchanges.
#[derive(Clone, Debug, Default)]
struct Sum {
    input: u64,
    cached: u64,
    output: u64,
    cost: i64,
    exchanges: u64,
    estimated: bool,
}

impl Sum {
    fn add(&mut self, exchange: &Exchange) {
        self.input += exchange.tokens.input;
        self.cached += exchange.tokens.cached;
        self.output += exchange.tokens.output;
        self.cost += exchange.cost;
        self.exchanges += 1;
        self.estimated |= exchange.tokens.estimated;
    }

    fn json(&self) -> Value {
        json!({
            "input": self.input, "cached": self.cached, "output": self.output, "tokens": self.input + self.output,
            "cost": self.cost, "exchanges": self.exchanges, "estimated": self.estimated,
        })
    }
}

/// Sums by every key documents ask for.
#[derive(Clone, Debug, Default)]
struct Sums {
    total: Sum,
    by_role: BTreeMap<String, Sum>,
    by_model: BTreeMap<String, Sum>,
    by_round: BTreeMap<u32, Sum>,
    models: BTreeMap<String, String>,
}

impl Sums {
    fn add(&mut self, exchange: &Exchange) {
        self.total.add(exchange);
        self.by_role.entry(exchange.role.clone()).or_default().add(exchange);
        self.by_model.entry(exchange.model.clone()).or_default().add(exchange);
        self.by_round.entry(exchange.round).or_default().add(exchange);
        self.models.insert(exchange.role.clone(), exchange.model.clone());
    }

    fn json(&self) -> Value {
        let map = |sums: &BTreeMap<String, Sum>| sums.iter().map(|(k, s)| (k.clone(), s.json())).collect::<Map<_, _>>();
        let rounds: Map<String, Value> = self.by_round.iter().map(|(k, s)| (k.to_string(), s.json())).collect();
        let roles: Map<String, Value> = self
            .by_role
            .iter()
            .map(|(role, sum)| {
                let mut value = sum.json();
                if let Some(object) = value.as_object_mut() {
                    object.insert("model".to_owned(), Value::from(self.models.get(role).cloned()));
                }
                (role.clone(), value)
            })
            .collect();
        json!({"total": self.total.json(), "by_role": map(&self.by_role), "by_model": map(&self.by_model), "by_round": rounds, "roles": roles})
    }
}

/// All exchanges of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    past: Sums,
    recent: Vec<Exchange>,
}

impl Ledger {
    pub(super) fn add(&mut self, exchange: Exchange) {
        self.recent.push(exchange);
    }

    /// The round is over: its exchanges are seen by everybody from now on, in the order of everything.
    pub(super) fn close_round(&mut self) {
        self.recent.sort_by_key(|e| e.by);
        for exchange in std::mem::take(&mut self.recent) {
            self.past.add(&exchange);
        }
    }

    /// `usage` as seen by whoever sees the exchanges for which `seen` holds.
    pub(super) fn usage(&self, seen: impl Fn(By) -> bool) -> Value {
        let mut sums = self.past.clone();
        let mut visible: Vec<&Exchange> = self.recent.iter().filter(|e| seen(e.by)).collect();
        visible.sort_by_key(|e| e.by);
        visible.into_iter().for_each(|exchange| sums.add(exchange));
        sums.json()
    }

    /// Cost of everything so far, in millionths.
    pub(super) fn cost(&self) -> i64 {
        self.past.total.cost + self.recent.iter().map(|e| e.cost).sum::<i64>()
    }
}
