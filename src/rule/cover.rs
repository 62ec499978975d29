//! What a decision table leaves open, says twice or can never say: gaps, overlaps, ties, dead rows, each with an input that shows it.
//!
//! Conditions over numbers, booleans, enumerations and null that compare inputs with constants, with each other, or their
//! remainder with a constant are decided exactly: every region such conditions can tell apart has a candidate value
//! ([`domain`]), and the search over the candidates is complete. Other conditions (text patterns, lists) are evaluated at
//! samples: what is found is real, but nothing is concluded from finding nothing. Every example is confirmed by evaluating
//! the table itself. The search is bounded and says when it gave up.

mod atoms;
mod domain;
mod search;

use super::grammar::{Expr, parse_expression};
use super::{CompiledTable, Engine, Leaves, TableErrorKind, evaluate};
use crate::model::{HitPolicy, Table};
use search::{Search, Sought};
use serde_json::{Map, Value};

/// What a look at a whole table found.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// In the order of the rows; a gap comes last.
    pub findings: Vec<CoverFinding>,
    /// Rows whose conditions are not of the kinds that are decided exactly, and inputs that are not: samples only.
    pub sampled: Vec<String>,
    /// The search took too long: nothing is concluded about what it did not see.
    pub gave_up: bool,
}

/// One finding about a table.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverFinding {
    /// What is wrong.
    pub kind: CoverKind,
    /// Indices into the table's rules, the one meant first.
    pub rows: Vec<usize>,
    /// Inputs that show it; `None` where it is shown by there being none.
    pub witness: Option<Map<String, Value>>,
}

/// Kinds of [`CoverFinding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoverKind {
    /// `unique`: two rows match. `any`: two rows match with different results.
    Overlap,
    /// `priority`: two rows of the same priority match, and no higher one does: only their order decides.
    Tie,
    /// The row matches, but never first: earlier or higher rows take everything.
    Shadowed,
    /// The condition is never true.
    Never,
    /// The condition cannot be evaluated for some input.
    Fails,
    /// No row matches.
    Gap,
}

/// Looks at a table as a whole. A table that does not compile has no cover: its faults are [`CompiledTable::compile`]'s.
#[must_use]
pub fn cover(table: &Table) -> Cover {
    let mut engine = Engine::new(super::Limits::default());
    let Ok(compiled) = CompiledTable::compile(table, &mut engine) else { return Cover::default() };
    let trees: Vec<Option<Expr>> =
        table.rules.iter().map(|rule| rule.when.as_deref().and_then(|when| parse_expression(when).ok())).collect();
    let mut looker =
        Looker { table, compiled: &compiled, engine: &engine, search: Search::new(table, &trees, &engine), cover: Cover::default() };
    looker.look();
    looker.cover.sampled = looker.search.sampled(table);
    looker.cover.gave_up = looker.search.gave_up();
    looker.cover
}

struct Looker<'a> {
    table: &'a Table,
    compiled: &'a CompiledTable,
    engine: &'a Engine,
    search: Search<'a>,
    cover: Cover,
}

impl Looker<'_> {
    fn look(&mut self) {
        let never = self.never();
        self.fails();
        match self.table.hit_policy {
            HitPolicy::Collect => {}
            HitPolicy::First | HitPolicy::Priority => self.shadowed(&never),
            HitPolicy::Unique | HitPolicy::Any => self.overlaps(),
        }
        if self.table.hit_policy == HitPolicy::Priority {
            self.ties();
        }
        self.cover.findings.sort_by_key(|finding| finding.rows.first().copied());
        if self.table.hit_policy != HitPolicy::Collect {
            self.gap();
        }
    }

    fn add(&mut self, kind: CoverKind, rows: Vec<usize>, witness: Option<Map<String, Value>>) {
        self.cover.findings.push(CoverFinding { kind, rows, witness });
    }

    fn rows(&self) -> std::ops::Range<usize> {
        0..self.table.rules.len()
    }

    fn never(&mut self) -> Vec<usize> {
        let mut never = Vec::new();
        for row in self.rows() {
            if self.search.exact(row) && matches!(self.search.find(&[(row, true)]), Sought::Absent) {
                never.push(row);
                self.add(CoverKind::Never, vec![row], None);
            }
        }
        never
    }

    fn fails(&mut self) {
        for row in self.rows() {
            if self.search.exact(row)
                && let Some(witness) = self.search.failing(row)
            {
                self.add(CoverKind::Fails, vec![row], Some(witness));
            }
        }
    }

    /// Rows in the order they are tried.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = self.rows().collect();
        if self.table.hit_policy == HitPolicy::Priority {
            order.sort_by_key(|row| std::cmp::Reverse(self.table.rules[*row].priority));
        }
        order
    }

    fn shadowed(&mut self, never: &[usize]) {
        let order = self.order();
        for (index, row) in order.iter().enumerate() {
            if never.contains(row) {
                continue;
            }
            // What is only sampled may match where no sample lies: it takes nothing for certain, and may want everything.
            let above: Vec<usize> = order[..index].iter().copied().filter(|above| self.search.exact(*above)).collect();
            let mut wanted: Vec<(usize, bool)> = above.iter().map(|above| (*above, false)).collect();
            if self.search.exact(*row) {
                wanted.push((*row, true));
            }
            if !above.is_empty() && matches!(self.search.find(&wanted), Sought::Absent) {
                // The fewest rows above that do it, found by leaving out one after the other.
                let mut takers = above;
                let mut at = takers.len();
                while at > 0 {
                    at -= 1;
                    let without: Vec<(usize, bool)> = wanted
                        .iter()
                        .copied()
                        .filter(|(other, _)| other == row || (takers.contains(other) && *other != takers[at]))
                        .collect();
                    if without.iter().any(|(_, truth)| !truth) && matches!(self.search.find(&without), Sought::Absent) {
                        takers.remove(at);
                    }
                }
                let mut rows = vec![*row];
                rows.extend(takers);
                self.add(CoverKind::Shadowed, rows, None);
            }
        }
    }

    fn overlaps(&mut self) {
        for later in self.rows() {
            for earlier in 0..later {
                if let Sought::Found(witness) = self.search.find(&[(earlier, true), (later, true)]) {
                    let refused = evaluate(self.engine, self.compiled, &witness).is_err_and(|error| error.kind == TableErrorKind::Matches);
                    if refused {
                        self.add(CoverKind::Overlap, vec![later, earlier], Some(witness));
                        break;
                    }
                }
            }
        }
    }

    fn ties(&mut self) {
        for later in self.rows() {
            for earlier in 0..later {
                let (a, b) = (&self.table.rules[earlier], &self.table.rules[later]);
                if a.priority != b.priority || a.then == b.then {
                    continue;
                }
                let higher = self.rows().filter(|row| self.table.rules[*row].priority > a.priority);
                let mut wanted: Vec<(usize, bool)> = higher.map(|row| (row, false)).collect();
                wanted.extend([(earlier, true), (later, true)]);
                if let Sought::Found(witness) = self.search.find(&wanted)
                    && !self.same_result(earlier, later, &witness)
                {
                    self.add(CoverKind::Tie, vec![later, earlier], Some(witness));
                    break;
                }
            }
        }
    }

    fn same_result(&self, a: usize, b: usize, witness: &Map<String, Value>) -> bool {
        let scope = Engine::scope_of(witness);
        let result = |row: usize| self.engine.tree(&self.table.rules[row].then, Leaves::Templates, &scope).ok();
        result(a) == result(b)
    }

    fn gap(&mut self) {
        let wanted: Vec<(usize, bool)> = self.rows().map(|row| (row, false)).collect();
        if let Sought::Found(witness) = self.search.find(&wanted)
            && evaluate(self.engine, self.compiled, &witness).is_ok_and(|result| result.is_null())
        {
            self.add(CoverKind::Gap, Vec::new(), Some(witness));
        }
    }
}
