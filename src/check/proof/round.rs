//! One round of the net for all choices at once: when each cell is active, what fills its entries, what each flow does.
//!
//! Cells are taken in their order, so every function speaks of choices already known. A cell's choices are the alternative of
//! each union it emits and the `when` of each flow that leaves it; failures, stops and limits end a run from outside and are no
//! part of the net. After the first fault on a path nothing more is said of that path.

use super::bdd::{Bdd, FALSE, Fun, TRUE};
use crate::check::plan::{Net, NetCell};
use crate::model::TypeRef;
use std::collections::{BTreeMap, BTreeSet};

/// What a round begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Start {
    /// Loop flows released into it; none in round 1.
    pub loops: BTreeSet<usize>,
    /// Entries that hold a complete set of an earlier round or a deposit: (cell, slot).
    pub retained: BTreeSet<(usize, usize)>,
    /// Entries no flow feeds whose role remembers enough from earlier rounds: (cell, slot).
    pub remembered: BTreeSet<(usize, usize)>,
    /// It is round 1.
    pub first: bool,
}

/// Kinds of faults of one entry or of the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrong {
    /// The cell is started and the entry stays empty.
    Empty,
    /// It gets less than its count.
    Partial,
    /// It gets more than its count.
    TooMany,
}

/// The functions of one round.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Per cell: it is active.
    pub active: Vec<Fun>,
    /// Per cell: it succeeds.
    pub done: Vec<Fun>,
    /// Per flow: it delivers, or is held.
    pub delivers: Vec<Fun>,
    /// Faults in the order of cells.
    pub faults: Vec<(usize, usize, Wrong, Fun)>,
    /// Entries filled by an earlier round's value: (cell, slot).
    pub stale: Vec<(usize, usize, Fun)>,
    /// Entries that hold a complete set when the round ends.
    pub retained: BTreeMap<(usize, usize), Fun>,
    /// Entries no flow feeds: their role made or received some of the type, and enough of it.
    pub remembered: BTreeMap<(usize, usize), (Fun, Fun)>,
    /// No path has failed.
    pub sound: Fun,
    /// Per cell and output: the function of each alternative.
    pub emits: Vec<Vec<Vec<Fun>>>,
}

/// Which entries can ever be filled from earlier rounds, and which alternatives cells can emit.
pub(super) struct Shape<'a> {
    pub net: &'a Net,
    /// Per cell and output, the alternatives its program can emit; empty: any.
    pub possible: Vec<Vec<Vec<usize>>>,
    /// Entries whose earlier values may be asked for: (cell, slot).
    pub lasting: BTreeSet<(usize, usize)>,
    /// Entries no flow feeds, of cells that are not started by the run itself.
    pub recalled: BTreeSet<(usize, usize)>,
    /// Flows into each cell, of any kind.
    pub into: Vec<Vec<usize>>,
    /// Per role and type, the cells whose success gives the role such values.
    makers: BTreeMap<(usize, TypeRef), BTreeSet<usize>>,
}

impl<'a> Shape<'a> {
    pub(super) fn new(net: &'a Net, possible: Vec<Vec<Vec<usize>>>) -> Self {
        let mut into = vec![Vec::new(); net.cells.len()];
        for (index, flow) in net.flows.iter().enumerate() {
            into[flow.to].push(index);
        }
        let (mut lasting, mut recalled) = (BTreeSet::new(), BTreeSet::new());
        for (c, cell) in net.cells.iter().enumerate() {
            for (s, slot) in cell.slots.iter().enumerate() {
                if !slot.fed {
                    if !cell.entry {
                        recalled.insert((c, s));
                    }
                } else if slot.forward_sources.is_empty() {
                    // Null until the first deposit, which only a relay cannot work with.
                    if cell.relay {
                        lasting.insert((c, s));
                    }
                } else {
                    let sources: BTreeSet<usize> = slot.forward_sources.iter().copied().collect();
                    let other_start = |f: &usize| {
                        let flow = &net.flows[*f];
                        (flow.forward || flow.looping) && (!flow.forward || !sources.contains(&flow.from))
                    };
                    if cell.entry || into[c].iter().any(other_start) {
                        lasting.insert((c, s));
                    }
                }
            }
        }
        let makers = if recalled.is_empty() { BTreeMap::new() } else { makers(net) };
        Self { net, possible, lasting, recalled, into, makers }
    }

    /// All functions of a round that begins with `start`.
    pub(super) fn round(&self, bdd: &mut Bdd, start: &Start) -> Round {
        bdd.clear();
        let (cells, flows) = (self.net.cells.len(), self.net.flows.len());
        let mut round = Round { delivers: vec![FALSE; flows], sound: TRUE, ..Round::default() };
        for cell in 0..cells {
            self.cell(bdd, start, cell, &mut round);
        }
        self.end(bdd, &mut round);
        round
    }

    fn cell(&self, bdd: &mut Bdd, start: &Start, c: usize, round: &mut Round) {
        let cell = &self.net.cells[c];
        let mut active = if start.first && cell.entry { TRUE } else { FALSE };
        for f in &self.into[c] {
            let flow = &self.net.flows[*f];
            if flow.forward {
                active = bdd.or(active, round.delivers[*f]);
            } else if start.loops.contains(f) {
                active = TRUE;
            }
        }
        round.active.push(active);
        let mut runs = bdd.and(active, round.sound);
        if active != FALSE {
            for slot in 0..cell.slots.len() {
                runs = self.slot(bdd, start, c, slot, runs, round);
            }
        }
        // Whoever failed ends the run: nothing is said of that path any more.
        let failed = bdd.and(active, round.sound);
        let failed = bdd.without(failed, runs);
        round.sound = bdd.without(round.sound, failed);
        round.done.push(runs);
        let emits = self.emission(bdd, c, runs, round);
        self.send(bdd, cell, runs, &emits, round);
        round.emits.push(emits);
    }

    /// Looks at one entry of an active cell; returns when it still runs.
    fn slot(&self, bdd: &mut Bdd, start: &Start, c: usize, s: usize, runs: Fun, round: &mut Round) -> Fun {
        let slot = &self.net.cells[c].slots[s];
        let totals = self.arrivals(bdd, start, c, s, round);
        let none = totals[0];
        let full = totals[slot.count];
        let over = totals[slot.count + 1];
        let too_many = bdd.and(runs, over);
        self.fault(round, c, s, Wrong::TooMany, too_many);
        let some = bdd.or(none, full);
        let some = bdd.or(some, over);
        let partial = bdd.without(runs, some);
        self.fault(round, c, s, Wrong::Partial, partial);
        let asked = bdd.and(runs, none);
        let empty = if asked == FALSE { FALSE } else { self.unfilled(bdd, start, (c, s), asked, round) };
        self.fault(round, c, s, Wrong::Empty, empty);
        let mut good = bdd.without(runs, too_many);
        good = bdd.without(good, partial);
        bdd.without(good, empty)
    }

    fn fault(&self, round: &mut Round, c: usize, s: usize, wrong: Wrong, when: Fun) {
        if when != FALSE {
            round.faults.push((c, s, wrong, when));
        }
    }

    /// Per number of values (one more than the count stands for all beyond), when so many reach the entry.
    fn arrivals(&self, bdd: &mut Bdd, start: &Start, c: usize, s: usize, round: &Round) -> Vec<Fun> {
        let most = self.net.cells[c].slots[s].count + 1;
        let mut totals = vec![FALSE; most + 1];
        totals[0] = TRUE;
        for f in &self.into[c] {
            let flow = &self.net.flows[*f];
            let parts = flow.parts.iter().filter(|part| part.slot == s);
            let brought: usize = parts.map(|part| usize::from(part.term.count)).sum();
            let when = if flow.forward {
                round.delivers[*f]
            } else if start.loops.contains(f) {
                TRUE
            } else {
                FALSE
            };
            if brought > 0 && when != FALSE {
                totals = add(bdd, &totals, brought, when);
            }
        }
        totals
    }

    /// When nothing fills an entry that no delivery reached, of the cases `asked`.
    fn unfilled(&self, bdd: &mut Bdd, start: &Start, at: (usize, usize), asked: Fun, round: &mut Round) -> Fun {
        let cell = &self.net.cells[at.0];
        let slot = &cell.slots[at.1];
        if !slot.fed {
            // An entry cell takes what is left from the parameters, which is looked at elsewhere.
            if cell.entry || !self.recalled.contains(&at) {
                return FALSE;
            }
            let (some, enough) = self.memory(bdd, at.0, at.1, round, true);
            let mut filled = enough;
            if start.remembered.contains(&at) {
                let older = bdd.not(some);
                filled = bdd.or(filled, older);
                let stale = bdd.and(asked, older);
                note_stale(round, at, stale);
            }
            return bdd.without(asked, filled);
        }
        let mut source = FALSE;
        for from in &slot.forward_sources {
            source = bdd.or(source, round.active[*from]);
        }
        let unsourced = bdd.without(asked, source);
        let sourced = bdd.and(asked, source);
        if start.retained.contains(&at) {
            note_stale(round, at, if slot.forward_sources.is_empty() { FALSE } else { unsourced });
            return sourced;
        }
        let null = slot.forward_sources.is_empty() && !(cell.relay && cell.outs.iter().any(|out| out.key == slot.key));
        if null { sourced } else { asked }
    }

    /// When the role of cell `c` has some, and enough, values of the entry's type from this round. `before`: only from cells ordered before it.
    fn memory(&self, bdd: &mut Bdd, c: usize, s: usize, round: &Round, before: bool) -> (Fun, Fun) {
        let net = self.net;
        let (cell, slot) = (&net.cells[c], &net.cells[c].slots[s]);
        let most = slot.count;
        let mut totals = vec![FALSE; most + 1];
        totals[0] = TRUE;
        let of_type = |alternative: &TypeRef| self.makers.get(&(cell.role, alternative.clone())).into_iter().flatten().copied();
        let makers: BTreeSet<usize> = slot.term.alternatives.iter().flat_map(of_type).collect();
        for other in makers {
            // Cells that are not ordered before this one are not known to it.
            if other >= round.emits.len() || (before && !net.before(other, c)) {
                continue;
            }
            let maker = &net.cells[other];
            let to_role = maker.outgoing.iter().filter(|f| net.flows[**f].forward && net.cells[net.flows[**f].to].role == cell.role);
            for f in to_role {
                for part in &net.flows[*f].parts {
                    let fits = part_fits(bdd, maker, &round.emits[other], part, &slot.term);
                    let when = bdd.and(round.delivers[*f], fits);
                    if when != FALSE {
                        totals = add(bdd, &totals, usize::from(part.term.count), when);
                    }
                }
            }
            if maker.role == cell.role {
                for (o, out) in maker.outs.iter().enumerate() {
                    let mut when = FALSE;
                    for (a, alternative) in out.term.alternatives.iter().enumerate() {
                        if slot.term.alternatives.contains(alternative) {
                            when = bdd.or(when, round.emits[other][o][a]);
                        }
                    }
                    if when != FALSE {
                        totals = add(bdd, &totals, out.count, when);
                    }
                }
            }
        }
        let some = bdd.not(totals[0]);
        (some, totals[most])
    }

    /// Per output and alternative, when it is emitted.
    fn emission(&self, bdd: &mut Bdd, c: usize, runs: Fun, round: &Round) -> Vec<Vec<Fun>> {
        let cell = &self.net.cells[c];
        let mut emits = Vec::with_capacity(cell.outs.len());
        for (o, out) in cell.outs.iter().enumerate() {
            let count = out.term.alternatives.len();
            let mut functions = vec![FALSE; count];
            let allowed: Vec<usize> = match self.possible.get(c).and_then(|outs| outs.get(o)) {
                Some(some) if !some.is_empty() => some.clone(),
                _ => (0..count).collect(),
            };
            let mut rest = runs;
            if let (true, Some(carried)) = (count > 1, self.carried(bdd, c, &out.key, runs, round)) {
                // A relay forwards the alternative it received; what lay there before may be any.
                for (a, when) in carried.iter().enumerate() {
                    functions[a] = *when;
                    rest = bdd.without(rest, *when);
                }
            }
            for (index, a) in allowed.iter().enumerate() {
                let last = index + 1 == allowed.len();
                let when = if last || rest == FALSE {
                    rest
                } else {
                    let choice = bdd.choice();
                    // The first alternative is the one that is taken where nothing else is said.
                    bdd.without(rest, choice)
                };
                functions[*a] = bdd.or(functions[*a], when);
                rest = bdd.without(rest, when);
            }
            emits.push(functions);
        }
        emits
    }

    /// Which alternative reached a relay's entry of one value in this round.
    fn carried(&self, bdd: &mut Bdd, c: usize, key: &str, runs: Fun, round: &Round) -> Option<Vec<Fun>> {
        let cell = &self.net.cells[c];
        let s = cell.slots.iter().position(|slot| cell.relay && slot.key == key && slot.count == 1)?;
        let slot = &cell.slots[s];
        let out = cell.outs.iter().find(|out| out.key == key)?;
        let mut functions = vec![FALSE; out.term.alternatives.len()];
        for f in &self.into[c] {
            let flow = &self.net.flows[*f];
            for part in flow.parts.iter().filter(|part| flow.forward && part.slot == s) {
                let maker = &self.net.cells[flow.from];
                for (a, alternative) in maker.outs[part.out].term.alternatives.iter().enumerate() {
                    let Some(own) = out.term.alternatives.iter().position(|own| own == alternative) else { continue };
                    let Some(emits) = round.emits.get(flow.from) else { continue };
                    let brought = bdd.and(round.delivers[*f], emits[part.out][a]);
                    let brought = bdd.and(brought, runs);
                    functions[own] = bdd.or(functions[own], brought);
                }
            }
        }
        (slot.term.alternatives.len() == functions.len()).then_some(functions)
    }

    fn send(&self, bdd: &mut Bdd, cell: &NetCell, runs: Fun, emits: &[Vec<Fun>], round: &mut Round) {
        for f in &cell.outgoing {
            let flow = &self.net.flows[*f];
            let mut delivers = runs;
            for part in &flow.parts {
                let fits = part_fits(bdd, cell, emits, part, &part.term);
                delivers = bdd.and(delivers, fits);
            }
            if flow.when.is_some() && delivers != FALSE {
                let withheld = bdd.choice();
                delivers = bdd.without(delivers, withheld);
            }
            round.delivers[*f] = delivers;
        }
    }

    /// What is left for later rounds.
    fn end(&self, bdd: &mut Bdd, round: &mut Round) {
        for (c, s) in &self.lasting {
            let count = self.net.cells[*c].slots[*s].count;
            let (mut arrived, mut deposited) = (vec![FALSE; count + 2], vec![FALSE; count + 2]);
            arrived[0] = TRUE;
            deposited[0] = TRUE;
            for f in &self.into[*c] {
                let flow = &self.net.flows[*f];
                let brought: usize = flow.parts.iter().filter(|p| p.slot == *s).map(|p| usize::from(p.term.count)).sum();
                let when = round.delivers[*f];
                if brought == 0 || when == FALSE || flow.looping {
                    continue;
                }
                if flow.forward {
                    arrived = add(bdd, &arrived, brought, when);
                } else {
                    deposited = add(bdd, &deposited, brought, when);
                }
            }
            let enough = bdd.or(deposited[count], deposited[count + 1]);
            let kept = bdd.or(arrived[count], enough);
            round.retained.insert((*c, *s), kept);
        }
        for (c, s) in &self.recalled {
            let known = self.memory(bdd, *c, *s, round, false);
            round.remembered.insert((*c, *s), known);
        }
    }
}

/// Which cells give which role values of which type: what it emits and what is delivered to it.
fn makers(net: &Net) -> BTreeMap<(usize, TypeRef), BTreeSet<usize>> {
    let mut makers: BTreeMap<(usize, TypeRef), BTreeSet<usize>> = BTreeMap::new();
    for (c, cell) in net.cells.iter().enumerate() {
        for alternative in cell.outs.iter().flat_map(|out| &out.term.alternatives) {
            makers.entry((cell.role, alternative.clone())).or_default().insert(c);
        }
        for flow in cell.outgoing.iter().map(|f| &net.flows[*f]).filter(|flow| flow.forward) {
            for alternative in flow.parts.iter().flat_map(|part| &part.term.alternatives) {
                makers.entry((net.cells[flow.to].role, alternative.clone())).or_default().insert(c);
            }
        }
    }
    makers
}

fn note_stale(round: &mut Round, at: (usize, usize), when: Fun) {
    if when != FALSE {
        round.stale.push((at.0, at.1, when));
    }
}

/// When the part's output is emitted by one of the alternatives that also stand in `term`.
fn part_fits(bdd: &mut Bdd, maker: &NetCell, emits: &[Vec<Fun>], part: &crate::check::plan::Part, term: &crate::model::Term) -> Fun {
    let mut fits = FALSE;
    for (a, alternative) in maker.outs[part.out].term.alternatives.iter().enumerate() {
        if term.alternatives.contains(alternative) {
            fits = bdd.or(fits, emits[part.out][a]);
        }
    }
    fits
}

/// Totals with `brought` more where `when` holds; the last one stands for itself and all beyond.
fn add(bdd: &mut Bdd, totals: &[Fun], brought: usize, when: Fun) -> Vec<Fun> {
    let last = totals.len() - 1;
    let mut next: Vec<Fun> = totals.iter().map(|total| bdd.without(*total, when)).collect();
    for (n, total) in totals.iter().enumerate() {
        let moved = bdd.and(*total, when);
        let to = (n + brought).min(last);
        next[to] = bdd.or(next[to], moved);
    }
    next
}
