//! Finds inputs for which given rows match and others do not: backtracking over candidates, rows decided as soon as their inputs are.
//!
//! Bounded by a number of steps for the whole table; what was not reached is never concluded from.

use super::atoms::{Atoms, value};
use super::domain::{Domain, domains};
use crate::model::Table;
use crate::rule::grammar::Expr;
use crate::rule::{Engine, Scope, Val};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Steps of the search over one table.
const STEPS: usize = 400_000;
/// Most inputs of a table: the search goes one call deeper for each.
const INPUTS: usize = 200;
/// Evaluations by the engine (what is only sampled).
const EVALUATIONS: usize = 5_000;

/// Outcome of a search.
#[derive(Clone, Debug)]
pub(super) enum Sought {
    /// Inputs of that kind.
    Found(Map<String, Value>),
    /// There are none.
    Absent,
    /// Nothing was found before the search ended.
    Unknown,
}

/// How a condition ends for some inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Fails,
    /// Not looked at: too many evaluations.
    Unknown,
}

struct Row<'a> {
    when: Option<&'a str>,
    tree: Option<&'a Expr>,
    /// Indices of the inputs its condition uses.
    inputs: Vec<usize>,
    exact: bool,
}

/// The search over one table.
pub(super) struct Search<'a> {
    engine: &'a Engine,
    domains: Vec<Domain>,
    rows: Vec<Row<'a>>,
    known: BTreeMap<(usize, Vec<usize>), Truth>,
    steps: usize,
    evaluations: usize,
    gave_up: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(table: &'a Table, trees: &'a [Option<Expr>], engine: &'a Engine) -> Self {
        let mut atoms = Atoms::default();
        let exact: Vec<bool> = trees.iter().map(|tree| tree.as_ref().is_none_or(|tree| atoms.collect(tree))).collect();
        let mut domains = domains(&table.inputs, &atoms);
        merge(&mut domains, &atoms);
        let mut rows = Vec::new();
        for ((rule, tree), exact) in table.rules.iter().zip(trees).zip(exact) {
            let mut used = Vec::new();
            if let Some(tree) = tree {
                names(tree, &mut |name| used.extend(domains.iter().position(|domain| domain.name == name)));
            }
            used.sort_unstable();
            used.dedup();
            let exact = exact && used.iter().all(|input| domains[*input].exact);
            rows.push(Row { when: rule.when.as_deref(), tree: tree.as_ref(), inputs: used, exact });
        }
        Self { engine, domains, rows, known: BTreeMap::new(), steps: STEPS, evaluations: EVALUATIONS, gave_up: false }
    }

    /// Whether the row's condition is decided exactly.
    pub(super) fn exact(&self, row: usize) -> bool {
        self.rows[row].exact
    }

    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Ids of rows that are only sampled.
    pub(super) fn sampled(&self, table: &Table) -> Vec<String> {
        table.rules.iter().zip(&self.rows).filter(|(_, row)| !row.exact).map(|(rule, _)| rule.id.clone()).collect()
    }

    /// Inputs for which each row's condition is as wanted.
    pub(super) fn find(&mut self, wanted: &[(usize, bool)]) -> Sought {
        let cost = wanted.len() + 1;
        if self.steps < cost || self.domains.len() > INPUTS {
            self.gave_up = true;
            return Sought::Unknown;
        }
        self.steps -= cost;
        let mut order: Vec<usize> = Vec::new();
        for (row, _) in wanted {
            for input in &self.rows[*row].inputs {
                if !order.contains(input) {
                    order.push(*input);
                }
            }
        }
        // Rows by the position at which their last input is chosen; those without inputs come first.
        let mut due: Vec<Vec<(usize, bool)>> = vec![Vec::new(); order.len() + 1];
        for (row, truth) in wanted {
            let last = self.rows[*row].inputs.iter().filter_map(|input| order.iter().position(|o| o == input)).max();
            due[last.map_or(0, |last| last + 1)].push((*row, *truth));
        }
        let mut chosen: Vec<usize> = vec![0; self.domains.len()];
        let mut unknown = false;
        let found = self.step(0, &order, &due, &mut chosen, &mut unknown);
        if found {
            Sought::Found(self.witness(&chosen))
        } else if unknown || self.gave_up || self.domains.iter().any(|domain| domain.values.is_empty()) {
            Sought::Unknown
        } else {
            Sought::Absent
        }
    }

    fn step(&mut self, depth: usize, order: &[usize], due: &[Vec<(usize, bool)>], chosen: &mut Vec<usize>, unknown: &mut bool) -> bool {
        for (row, wanted) in due.get(depth).into_iter().flatten() {
            match (self.truth(*row, chosen), wanted) {
                (Truth::True, true) | (Truth::False, false) => {}
                (Truth::Unknown, _) => {
                    *unknown = true;
                    return false;
                }
                _ => return false,
            }
        }
        let Some(input) = order.get(depth) else { return self.domains.iter().all(|domain| !domain.values.is_empty()) };
        for value in 0..self.domains[*input].values.len() {
            if self.steps == 0 {
                self.gave_up = true;
                return false;
            }
            self.steps -= 1;
            chosen[*input] = value;
            if self.step(depth + 1, order, due, chosen, unknown) {
                return true;
            }
        }
        false
    }

    /// Inputs for which the row's condition cannot be evaluated.
    pub(super) fn failing(&mut self, row: usize) -> Option<Map<String, Value>> {
        // Conditions that are decided without the engine do not fail.
        let known: Vec<(Vec<usize>, Truth)> =
            self.known.iter().filter(|((r, _), _)| *r == row).map(|((_, key), truth)| (key.clone(), *truth)).collect();
        let (key, _) = known.into_iter().find(|(_, truth)| *truth == Truth::Fails)?;
        let mut chosen = vec![0; self.domains.len()];
        for (input, value) in self.rows[row].inputs.iter().zip(key) {
            chosen[*input] = value;
        }
        Some(self.witness(&chosen))
    }

    fn witness(&self, chosen: &[usize]) -> Map<String, Value> {
        let pairs =
            self.domains.iter().zip(chosen).filter_map(|(domain, value)| Some((domain.name.clone(), domain.values.get(*value)?.0.clone())));
        pairs.collect()
    }

    fn truth(&mut self, row: usize, chosen: &[usize]) -> Truth {
        let Some(tree) = self.rows[row].tree else {
            return if self.rows[row].when.is_none() { Truth::True } else { Truth::Unknown };
        };
        let key: Vec<usize> = self.rows[row].inputs.iter().map(|input| chosen[*input]).collect();
        if let Some(known) = self.known.get(&(row, key.clone())) {
            return *known;
        }
        let at = |name: &str| {
            let input = self.domains.iter().position(|domain| domain.name == name)?;
            self.domains[input].values.get(chosen[input]).map(|(_, value)| value.clone())
        };
        let truth = match value(tree, &at) {
            Some(value) if value.kind() == minijinja::value::ValueKind::Bool => {
                if value.is_true() {
                    Truth::True
                } else {
                    Truth::False
                }
            }
            _ => self.asked(row, chosen),
        };
        self.known.insert((row, key), truth);
        truth
    }

    /// The engine's answer.
    fn asked(&mut self, row: usize, chosen: &[usize]) -> Truth {
        let Some(when) = self.rows[row].when else { return Truth::True };
        if self.evaluations == 0 {
            self.gave_up = true;
            return Truth::Unknown;
        }
        self.evaluations -= 1;
        let mut scope = Scope::new();
        for (domain, value) in self.domains.iter().zip(chosen) {
            if let Some((_, value)) = domain.values.get(*value) {
                scope.set(&domain.name, value.clone());
            }
        }
        match self.engine.truth(when, &scope) {
            Ok(true) => Truth::True,
            Ok(false) => Truth::False,
            Err(_) => Truth::Fails,
        }
    }
}

/// Keeps one candidate of those that no condition tells apart.
fn merge(domains: &mut [Domain], atoms: &Atoms) {
    for domain in domains.iter_mut().filter(|domain| !domain.paired && domain.values.len() > 2) {
        let mut about: Vec<&Expr> = Vec::new();
        let mut alone = true;
        for part in &atoms.parts {
            let (mut here, mut others) = (false, false);
            names(part, &mut |name| if name == domain.name { here = true } else { others = true });
            if here {
                alone &= !others;
                about.push(part);
            }
        }
        if !alone {
            continue;
        }
        let mut kept: BTreeMap<Vec<bool>, (Value, Val)> = BTreeMap::new();
        let mut classes = Vec::new();
        for (json, candidate) in &domain.values {
            let truths = about.iter().map(|part| value(part, &|_| Some(candidate.clone())).map(|value| value.is_true()));
            let Some(class) = truths.collect::<Option<Vec<bool>>>() else { break };
            // The first candidate of a class is the simplest.
            kept.entry(class.clone()).or_insert_with(|| (json.clone(), candidate.clone()));
            classes.push(class);
        }
        if classes.len() == domain.values.len() {
            domain.values.retain(|(json, _)| kept.values().any(|(other, _)| other == json));
        }
    }
}

/// Visits the free names of an expression of the simple kinds, and of any other.
fn names(e: &Expr, visit: &mut dyn FnMut(&str)) {
    e.walk(&mut |part| {
        if let crate::rule::grammar::ExprKind::Name(name) = &part.kind {
            visit(name);
        }
    });
}
