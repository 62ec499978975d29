//! All rounds a run can come to: from the first one through every set of loops that can be released together.
//!
//! Of two rounds that begin with the same loops, the one that remembers less is enough: whatever is filled there is filled in
//! the other too, and which cells run does not depend on it. Bounded in rounds looked at; says when it gave up.

use super::bdd::{Bdd, FALSE, Fun};
use super::round::{Round, Shape, Start, Wrong};
use std::collections::{BTreeMap, BTreeSet};

/// Most different beginnings of rounds that are looked at.
const STARTS: usize = 400;
/// Most ends of one round that are told apart.
const ENDS: usize = 4000;

/// A fault with the way that leads to it.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub kind: Kind,
    /// The rounds before, each by its start and its choices, and the one in which it happens.
    pub path: Vec<(Start, Vec<u32>)>,
}

/// What a [`Fault`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An entry of a cell.
    Entry(usize, usize, Wrong),
    /// The round ends in nothing, after this cell.
    DiesOut(usize),
    /// An entry is filled by a value of an earlier round.
    Stale(usize, usize),
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Exploration {
    /// In the order of rounds and cells; one per place.
    pub faults: Vec<Fault>,
    /// Per cell: it is active on some path.
    pub reached: Vec<bool>,
    /// Per flow: it delivers on some path.
    pub delivered: Vec<bool>,
    /// Per loop flow that was held: the cells that can be active in a round it starts alone or with others.
    pub started: BTreeMap<usize, BTreeSet<usize>>,
    /// Pairs of cells of one step that can be active together are asked for through this: starts of all rounds looked at.
    pub starts: Vec<Start>,
    /// Not everything was looked at.
    pub gave_up: bool,
}

struct Step {
    start: Start,
    /// Index of the step before and the choices made in it.
    before: Option<(usize, Vec<u32>)>,
}

/// Looks at every round.
pub(super) fn explore(shape: &Shape<'_>, bdd: &mut Bdd) -> Exploration {
    let net = shape.net;
    let mut found =
        Exploration { reached: vec![false; net.cells.len()], delivered: vec![false; net.flows.len()], ..Exploration::default() };
    let mut steps = vec![Step { start: Start { first: true, ..Start::default() }, before: None }];
    let mut seen: BTreeSet<Kind> = BTreeSet::new();
    let mut at = 0;
    while at < steps.len() {
        let start = steps[at].start.clone();
        let round = shape.round(bdd, &start);
        if bdd.gave_up() {
            found.gave_up = true;
            break;
        }
        note(shape, bdd, &round, &steps, at, &mut found, &mut seen);
        let ends = ends(shape, bdd, &round, &start);
        found.gave_up |= bdd.gave_up() || ends.is_none();
        for (next, choices) in ends.unwrap_or_default() {
            let worse = |old: &Start| {
                !old.first
                    && old.loops == next.loops
                    && old.retained.is_subset(&next.retained)
                    && old.remembered.is_subset(&next.remembered)
            };
            if steps.iter().any(|step| worse(&step.start)) {
                continue;
            }
            if steps.len() >= STARTS {
                found.gave_up = true;
                break;
            }
            steps.push(Step { start: next, before: Some((at, choices)) });
        }
        at += 1;
    }
    found.starts = steps.into_iter().map(|step| step.start).collect();
    found
}

/// Notes what the round shows.
fn note(shape: &Shape<'_>, bdd: &mut Bdd, round: &Round, steps: &[Step], at: usize, found: &mut Exploration, seen: &mut BTreeSet<Kind>) {
    for (cell, active) in round.active.iter().enumerate() {
        found.reached[cell] |= *active != FALSE;
        if *active != FALSE {
            for flow in &steps[at].start.loops {
                found.started.entry(*flow).or_default().insert(cell);
            }
        }
    }
    for (flow, delivers) in round.delivers.iter().enumerate() {
        found.delivered[flow] |= *delivers != FALSE;
    }
    let mut add = |kind: Kind, choices: Option<Vec<u32>>| {
        let Some(choices) = choices.filter(|_| !seen.contains(&kind)) else { return };
        seen.insert(kind);
        found.faults.push(Fault { kind, path: path(steps, at, choices) });
    };
    for (cell, slot, wrong, when) in &round.faults {
        add(Kind::Entry(*cell, *slot, *wrong), bdd.example(*when));
    }
    for (cell, slot, when) in &round.stale {
        add(Kind::Stale(*cell, *slot), bdd.example(*when));
    }
    let mut dies = round.sound;
    for (flow, delivers) in round.delivers.iter().enumerate() {
        if shape.net.flows[flow].looping {
            dies = bdd.without(dies, *delivers);
        }
    }
    for (cell, done) in round.done.iter().enumerate() {
        let last = !shape.net.cells[cell].outgoing.iter().any(|flow| shape.net.flows[*flow].forward);
        if last {
            dies = bdd.without(dies, *done);
        }
    }
    if let Some(choices) = bdd.example(dies).filter(|_| !bdd.gave_up()) {
        let culprit = (0..round.done.len()).rev().find(|cell| bdd.holds(round.done[*cell], &choices)).unwrap_or(0);
        add(Kind::DiesOut(culprit), Some(choices));
    }
}

fn path(steps: &[Step], at: usize, choices: Vec<u32>) -> Vec<(Start, Vec<u32>)> {
    let mut path = vec![(steps[at].start.clone(), choices)];
    let mut here = at;
    while let Some((before, choices)) = &steps[here].before {
        path.push((steps[*before].start.clone(), choices.clone()));
        here = *before;
    }
    path.reverse();
    path
}

/// Every beginning of a next round that the round can lead to, with choices that do; `None` when there are too many.
fn ends(shape: &Shape<'_>, bdd: &mut Bdd, round: &Round, start: &Start) -> Option<Vec<(Start, Vec<u32>)>> {
    let mut questions: Vec<(Question, Fun)> = Vec::new();
    for (flow, delivers) in round.delivers.iter().enumerate() {
        if shape.net.flows[flow].looping && *delivers != FALSE {
            questions.push((Question::Loop(flow), *delivers));
        }
    }
    if questions.is_empty() {
        return Some(Vec::new());
    }
    let mut fixed = Start { retained: start.retained.clone(), ..Start::default() };
    for (at, kept) in &round.retained {
        if !start.retained.contains(at) {
            questions.push((Question::Retained(*at), *kept));
        }
    }
    for (at, (some, enough)) in &round.remembered {
        let mut known = *enough;
        if start.remembered.contains(at) {
            let older = bdd.not(*some);
            known = bdd.or(known, older);
        }
        questions.push((Question::Remembered(*at), known));
    }
    fixed.first = false;
    let mut open: Vec<(usize, Fun, Start)> = vec![(0, round.sound, fixed)];
    let mut ends: BTreeMap<Start, Vec<u32>> = BTreeMap::new();
    while let Some((index, when, next)) = open.pop() {
        if when == FALSE {
            continue;
        }
        let Some((question, holds)) = questions.get(index) else {
            if !next.loops.is_empty() {
                ends.insert(next, bdd.example(when)?);
            }
            continue;
        };
        if ends.len() + open.len() > ENDS || bdd.gave_up() {
            return None;
        }
        let yes = bdd.and(when, *holds);
        let no = bdd.without(when, *holds);
        let mut with = next.clone();
        match question {
            Question::Loop(flow) => with.loops.insert(*flow),
            Question::Retained(at) => with.retained.insert(*at),
            Question::Remembered(at) => with.remembered.insert(*at),
        };
        open.push((index + 1, yes, with));
        open.push((index + 1, no, next));
    }
    let mut ends: Vec<(Start, Vec<u32>)> = ends.into_iter().collect();
    // What remembers least comes first, so that it spares the others.
    ends.sort_by_key(|(start, _)| start.retained.len() + start.remembered.len());
    Some(ends)
}

enum Question {
    Loop(usize),
    Retained((usize, usize)),
    Remembered((usize, usize)),
}
