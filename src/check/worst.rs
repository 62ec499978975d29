//! The worst case of a run by what the document states: rounds, attempts, sessions, model turns, cost, time, and which limit binds.
//!
//! Arithmetic over limits; nothing is run. What no limit of the document bounds has no number.
//!
//! # RSF720 worst case beyond the budget
//! `--budget N` was given, and the document's worst case costs more than N, or nothing in the document bounds its cost. Set `limits.cost` (and `limits.rounds`), or an `estimate` that can be computed from `config` alone.

use super::execution::flatten;
use super::plan::Net;
use crate::base::{Limits, Money, duration_ms, limits};
use crate::model::{Agent, Cell, Op, OpKind, Workflow};
use crate::rule::{Engine, Limits as TextLimits, Scope, to_json};
use serde_json::Value;

/// What one cell can do at most, in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorstCell {
    /// `role@seq`.
    pub cell: String,
    /// Attempts.
    pub attempts: u64,
    /// Agent sessions over all attempts; `None`: not bounded (`each`, or an agent within `for`).
    pub sessions: Option<u64>,
    /// Model turns, repairs among them.
    pub turns: Option<u64>,
    /// Milliseconds, waiting between attempts included.
    pub time_ms: u64,
    /// It runs in round 1.
    pub first: bool,
    /// It runs in rounds that a loop starts.
    pub looped: bool,
}

/// The worst case of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// In the order of the net.
    pub cells: Vec<WorstCell>,
    /// Rounds.
    pub rounds: u64,
    /// What bounds the rounds, in words.
    pub rounds_by: String,
    /// The document itself bounds the rounds.
    pub bounded: bool,
    /// Runs of cells.
    pub runs: u64,
    /// Agent sessions.
    pub sessions: Option<u64>,
    /// Model turns.
    pub turns: Option<u64>,
    /// Cost in millionths; `None`: not bounded.
    pub cost: Option<i64>,
    /// What bounds the cost, in words.
    pub cost_by: String,
    /// Milliseconds, where people are not waited for.
    pub time_ms: u64,
}

/// Computes the worst case; `None` for a document whose net does not resolve.
#[must_use]
pub fn worst_case(workflow: &Workflow) -> Option<Worst> {
    let net = Net::new(workflow)?;
    let bounds = Limits::read(&workflow.execution.limits).unwrap_or_default();
    let mut known = Known::new(workflow);
    let looping = net.flows.iter().any(|flow| flow.looping);
    let stated = workflow.execution.limits.contains_key("rounds");
    let (rounds, rounds_by) = match (looping, stated) {
        (false, _) => (1, "no loop".to_owned()),
        (true, true) => (u64::from(bounds.rounds), "`limits.rounds`".to_owned()),
        (true, false) => (u64::from(limits::ROUNDS), "the built-in limit; the document states none".to_owned()),
    };
    let entries = (0..net.cells.len()).filter(|cell| net.cells[*cell].entry);
    let first = reach(&net, entries.collect());
    let looped = reach(&net, net.flows.iter().filter(|flow| flow.looping).map(|flow| flow.to).collect());
    let mut worst = Worst { rounds, rounds_by, bounded: !looping || stated, sessions: Some(0), turns: Some(0), ..Worst::default() };
    let time_limits = time_limits(workflow, &net, &bounds);
    for (index, info) in net.cells.iter().enumerate() {
        let (step, cell) = info.source;
        let Some(cell) = workflow.steps.get(step).and_then(|step| step.cells.get(cell)) else { continue };
        let mut one = known.cell(cell, &bounds, time_limits[index]);
        (one.cell, one.first, one.looped) = (info.id.clone(), first[index], looped[index]);
        let times = u64::from(one.first) + if one.looped { rounds.saturating_sub(1) } else { 0 };
        worst.runs = worst.runs.saturating_add(times);
        worst.sessions = total(worst.sessions, one.sessions, times);
        worst.turns = total(worst.turns, one.turns, times);
        worst.cells.push(one);
    }
    worst.time_ms = time(&net, &worst.cells, rounds);
    cost(workflow, &bounds, &mut known, &mut worst);
    Some(worst)
}

fn total(sum: Option<u64>, one: Option<u64>, times: u64) -> Option<u64> {
    if times == 0 { sum } else { Some(sum?.saturating_add(one?.saturating_mul(times))) }
}

/// Cells reached from `seeds` by forward flows.
fn reach(net: &Net, seeds: Vec<usize>) -> Vec<bool> {
    let mut reached = vec![false; net.cells.len()];
    let mut open = seeds;
    while let Some(cell) = open.pop() {
        if !std::mem::replace(&mut reached[cell], true) {
            open.extend(net.cells[cell].outgoing.iter().map(|flow| &net.flows[*flow]).filter(|flow| flow.forward).map(|flow| flow.to));
        }
    }
    reached
}

/// Steps one after the other, the slowest cell of each.
fn time(net: &Net, cells: &[WorstCell], rounds: u64) -> u64 {
    let round = |wanted: &dyn Fn(&WorstCell) -> bool| {
        let mut slowest: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
        for (info, cell) in net.cells.iter().zip(cells).filter(|(_, cell)| wanted(cell)) {
            let step = slowest.entry(info.seq).or_default();
            *step = cell.time_ms.max(*step);
        }
        slowest.values().fold(0_u64, |sum, ms| sum.saturating_add(*ms))
    };
    round(&|cell| cell.first).saturating_add(round(&|cell| cell.looped).saturating_mul(rounds.saturating_sub(1)))
}

fn cost(workflow: &Workflow, bounds: &Limits, known: &mut Known<'_>, worst: &mut Worst) {
    if worst.sessions == Some(0) {
        (worst.cost, worst.cost_by) = (Some(0), "no cell asks a model".to_owned());
    } else if let Some(limit) = bounds.cost {
        (worst.cost, worst.cost_by) = (Some(limit), "`limits.cost`, kept at each round's end".to_owned());
    } else if let Some(round) = workflow.execution.estimate.as_deref().and_then(|estimate| known.number(estimate)) {
        let rounds = i64::try_from(worst.rounds).unwrap_or(i64::MAX);
        (worst.cost, worst.cost_by) = (Some(round.saturating_mul(rounds)), "`estimate` in every round".to_owned());
    } else {
        worst.cost_by = "nothing in the document: no `limits.cost`, no `estimate` over `config` alone".to_owned();
    }
}

/// Per cell, the time-out of one attempt as far as it is no template (docs/language.md, 2).
fn time_limits(workflow: &Workflow, net: &Net, bounds: &Limits) -> Vec<u64> {
    let mut of_flows: Vec<Option<u64>> = vec![None; net.cells.len()];
    for (flow, written) in net.flows.iter().zip(&workflow.flows) {
        if let (Some(ms), Some(least)) = (written.timeout_ms, of_flows.get_mut(flow.to)) {
            *least = Some(least.map_or(ms, |old| old.min(ms)));
        }
    }
    let step = |index: usize| workflow.steps.get(net.cells[index].source.0).and_then(|step| step.timeout_ms);
    of_flows.into_iter().enumerate().map(|(index, flow)| flow.or(step(index)).unwrap_or(bounds.timeout_ms)).collect()
}

/// Evaluates texts over `config` alone.
struct Known<'a> {
    engine: Engine,
    scope: Scope,
    workflow: &'a Workflow,
}

impl<'a> Known<'a> {
    fn new(workflow: &'a Workflow) -> Self {
        let mut scope = Scope::new();
        scope.set_json("config", &workflow.execution.config);
        Self { engine: Engine::new(TextLimits::default()), scope, workflow }
    }

    fn text(&mut self, source: &str) -> Option<Value> {
        self.engine.add_text(source).ok()?;
        self.engine.text(source, &self.scope).ok().and_then(|value| to_json(&value).ok())
    }

    fn number(&mut self, source: &str) -> Option<i64> {
        self.engine.add_expression(source).ok()?;
        self.engine.eval(source, &self.scope).ok().and_then(|value| to_json(&value).ok())?.as_i64()
    }

    fn count(&mut self, value: &Value) -> Option<u64> {
        match value {
            Value::String(text) => {
                let value = self.text(text)?;
                value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
            }
            Value::Null => Some(0),
            other => other.as_u64(),
        }
    }

    fn cell(&mut self, cell: &Cell, bounds: &Limits, time_limit: u64) -> WorstCell {
        let retries = cell.retry.as_ref().map_or(Some(0), |retry| self.count(&retry.max));
        let attempts = retries.unwrap_or(0).saturating_add(1);
        let timeout = cell.timeout.as_deref().and_then(|text| self.text(text)).and_then(|value| duration_ms(&value)).unwrap_or(time_limit);
        let (mut sessions, mut turns) = (Some(0_u64), Some(0_u64));
        self.ops(cell.run.as_deref().unwrap_or_default(), cell, bounds, false, &mut sessions, &mut turns);
        let (mut more, mut more_turns) = (Some(0_u64), Some(0_u64));
        self.ops(&cell.recover, cell, bounds, false, &mut more, &mut more_turns);
        if cell.each.is_some() && sessions != Some(0) {
            (sessions, turns) = (None, None);
        }
        let all = |own: Option<u64>, recover: Option<u64>| {
            retries.and_then(|_| Some(own?.saturating_mul(attempts).saturating_add(recover?))).or(if own == Some(0) {
                recover
            } else {
                None
            })
        };
        let backoff_text = cell.retry.as_ref().and_then(|retry| retry.backoff.as_deref());
        let backoff: u64 = backoff_text.and_then(|text| self.text(text)).and_then(|value| duration_ms(&value)).unwrap_or(0);
        // Doubled each time: the sum is less than twice the last.
        let waits = (1..attempts.min(40)).fold(0_u64, |sum, n| sum.saturating_add(backoff.saturating_mul(1_u64 << (n - 1).min(40))));
        let runs = attempts.saturating_add(u64::from(!cell.recover.is_empty()));
        WorstCell {
            attempts,
            sessions: all(sessions, more),
            turns: all(turns, more_turns),
            time_ms: timeout.saturating_mul(runs).saturating_add(waits),
            ..WorstCell::default()
        }
    }

    fn ops(&mut self, ops: &[Op], cell: &Cell, bounds: &Limits, repeated: bool, sessions: &mut Option<u64>, turns: &mut Option<u64>) {
        for op in ops {
            match &op.kind {
                OpKind::Agent(agent) => {
                    *sessions = if repeated { None } else { sessions.and_then(|n| n.checked_add(1)) };
                    let most = self.turns(agent, cell, bounds);
                    *turns = if repeated { None } else { turns.and_then(|n| n.checked_add(most?)) };
                }
                OpKind::For { body, .. } => {
                    let asks = flatten(body).into_iter().any(|op| matches!(op.kind, OpKind::Agent(_)));
                    self.ops(body, cell, bounds, asks, sessions, turns);
                }
                OpKind::Do { body, otherwise } => {
                    // One of the two is taken; the dearer one counts.
                    let (mut a, mut b) = ((Some(0), Some(0)), (Some(0), Some(0)));
                    self.ops(body, cell, bounds, repeated, &mut a.0, &mut a.1);
                    self.ops(otherwise, cell, bounds, repeated, &mut b.0, &mut b.1);
                    let more = |x: Option<u64>, y: Option<u64>| Some(x?.max(y?));
                    *sessions = sessions.and_then(|n| n.checked_add(more(a.0, b.0)?));
                    *turns = turns.and_then(|n| n.checked_add(more(a.1, b.1)?));
                }
                _ => {}
            }
        }
    }

    fn turns(&mut self, agent: &Agent, cell: &Cell, bounds: &Limits) -> Option<u64> {
        let defaults = self.workflow.roles.iter().find(|role| role.id == cell.role).and_then(|role| role.agent.as_ref());
        let written = agent.max_turns.clone().or_else(|| defaults.and_then(|agent| agent.max_turns.clone()));
        let most = u64::from(bounds.turns);
        match written {
            Some(value) => Some(self.count(&value).map_or(most, |turns| turns.min(most))),
            None => Some(most),
        }
    }
}

/// The worst case as a table for people.
#[must_use]
pub fn worst_table(worst: &Worst) -> String {
    let number = |n: Option<u64>| n.map_or_else(|| "no bound".to_owned(), |n| n.to_string());
    let mut rows = vec![["cell", "attempts", "sessions", "turns", "time", "round 1", "later rounds"].map(str::to_owned)];
    for cell in &worst.cells {
        let yes = |flag: bool| if flag { "yes" } else { "" }.to_owned();
        rows.push([
            super::shown(&cell.cell),
            cell.attempts.to_string(),
            number(cell.sessions),
            number(cell.turns),
            duration(cell.time_ms),
            yes(cell.first),
            yes(cell.looped),
        ]);
    }
    let widths: Vec<usize> = (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    let cost = worst.cost.map_or_else(|| "no bound".to_owned(), |cost| Money(cost).two_decimals());
    text.push_str(&format!(
        "\nworst case: {} rounds (bound by {}), {} runs of cells, {} sessions, {} model turns, {} of time, cost {cost} (bound by {})\n",
        worst.rounds,
        worst.rounds_by,
        worst.runs,
        number(worst.sessions),
        number(worst.turns),
        duration(worst.time_ms),
        worst.cost_by
    ));
    text
}

fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match seconds {
        0..600 => format!("{seconds}s"),
        600..7200 => format!("{}min", seconds.div_ceil(60)),
        _ => format!("{}h", seconds.div_ceil(3600)),
    }
}
