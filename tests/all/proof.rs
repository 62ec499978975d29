//! The proof against the machine: on random small documents its verdict is that of trying every choice in a simulated run.

use proptest::prelude::*;
use rsf::base::{FileId, Problem, Severity};
use rsf::check::plan::{NetCell, Plan, Settings};
use rsf::machine::{Note, NoteEvent, Scripted};
use rsf::simulate::drive;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Findings of a document.
pub(crate) fn findings(document: &Value) -> Vec<Problem> {
    let (tree, mut problems) = rsf::syntax::parse(document.to_string().as_bytes(), FileId(0));
    let (workflow, more) = rsf::model::decode(&tree);
    problems.extend(more);
    problems.extend(rsf::check::check(&tree, &workflow, &BTreeMap::new(), &[]));
    problems.extend(rsf::check::prove(&tree, &workflow, &BTreeMap::new(), &[], &problems));
    problems
}

fn seal(document: &Value) -> Arc<Plan> {
    let (tree, _) = rsf::syntax::parse(document.to_string().as_bytes(), FileId(0));
    let (workflow, _) = rsf::model::decode(&tree);
    let no_tables = |_: &str| Err("no tables here".to_owned());
    Arc::new(Plan::seal(workflow, document, &BTreeMap::new(), Settings::default(), &no_tables).unwrap())
}

/// What trying everything shows.
#[derive(Debug, Default, PartialEq)]
struct Oracle {
    /// Cells that fail first on some path.
    failing: BTreeSet<String>,
    dies_out: bool,
    reached: BTreeSet<String>,
    delivered: BTreeSet<String>,
}

/// How a cell can end: the alternatives of its unions, and its conditional flows held back or not.
fn outcomes(plan: &Plan, cell: &NetCell) -> Vec<Scripted> {
    let mut all = vec![Scripted { emit: Some(Vec::new()), ..Scripted::default() }];
    for out in &cell.outs {
        let with = |outcome: &Scripted, name: String| {
            let emit = outcome.emit.iter().flatten().cloned().chain([name]).collect();
            Scripted { emit: Some(emit), ..outcome.clone() }
        };
        all = all.iter().flat_map(|o| out.term.alternatives.iter().map(|a| with(o, a.to_string()))).collect();
    }
    for flow in cell.outgoing.iter().map(|f| &plan.net().flows[*f]).filter(|flow| flow.when.is_some()) {
        let held: Vec<Scripted> =
            all.iter().map(|o| Scripted { withhold: o.withhold.iter().cloned().chain([flow.id.clone()]).collect(), ..o.clone() }).collect();
        all.extend(held);
    }
    all
}

/// Choices already made, by (round, cell).
type Choices = BTreeMap<(u32, String), usize>;

/// A choice that was met, with how many ways it has.
type Met = ((u32, String), usize);

/// One run up to the end of `until`, with the choices given and the first of every other; the choices met in that round, with how many there are.
fn attempt(plan: &Arc<Plan>, all: &BTreeMap<String, Vec<Scripted>>, given: &Choices, until: u32) -> (Vec<Note>, Vec<Met>) {
    let mut met = Vec::new();
    let decide = |cell: &str, round: u32| {
        if round > until {
            return Scripted { fail: true, ..Scripted::default() };
        }
        let key = (round, cell.to_owned());
        if round == until {
            met.push((key.clone(), all[cell].len()));
        }
        all[cell][given.get(&key).copied().unwrap_or(0)].clone()
    };
    let notes = drive(Arc::clone(plan), decide, |_| 0);
    (notes, met)
}

/// What later rounds can depend on: loops released, and for each flow and cell what else happened when it last did; and all that ever did together.
fn signature(notes: &[Note], until: u32) -> String {
    let mut by_round: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for note in notes.iter().filter(|note| note.place.round <= until) {
        let what = match &note.event {
            NoteEvent::Deliver { flow } | NoteEvent::Release { flow } => flow.clone(),
            NoteEvent::Done { cell, emitted, .. } => {
                format!("{cell} {:?}", emitted.iter().map(|e| e.split(':').next()).collect::<Vec<_>>())
            }
            _ => continue,
        };
        by_round.entry(note.place.round).or_default().insert(what);
    }
    let mut latest: BTreeMap<&String, &BTreeSet<String>> = BTreeMap::new();
    for events in by_round.values() {
        events.iter().for_each(|event| {
            latest.insert(event, events);
        });
    }
    let ever: BTreeSet<&BTreeSet<String>> = by_round.values().collect();
    format!("{:?} {latest:?} {ever:?}", by_round.get(&until))
}

fn oracle(plan: &Arc<Plan>) -> Option<Oracle> {
    let all: BTreeMap<String, Vec<Scripted>> = plan.net().cells.iter().map(|cell| (cell.id.clone(), outcomes(plan, cell))).collect();
    let last: BTreeSet<&str> =
        plan.net().cells.iter().filter(|c| !c.outgoing.iter().any(|f| plan.net().flows[*f].forward)).map(|c| c.id.as_str()).collect();
    let mut found = Oracle::default();
    let mut seen = BTreeSet::new();
    let mut open: VecDeque<(Choices, u32)> = VecDeque::from([(Choices::new(), 1)]);
    let mut runs = 0;
    while let Some((before, round)) = open.pop_front() {
        let mut choices = before;
        loop {
            runs += 1;
            if runs > 3000 {
                return None;
            }
            let (notes, met) = attempt(plan, &all, &choices, round);
            let next = judge(&notes, round, &last, &mut found);
            if next && seen.insert(signature(&notes, round)) {
                open.push_back((choices.clone(), round + 1));
            }
            // The next combination of the round's choices; which cells are met depends on those before.
            let mut met = met;
            let more = loop {
                let Some((key, count)) = met.pop() else { break false };
                let now = choices.get(&key).copied().unwrap_or(0);
                if now + 1 < count {
                    choices.insert(key, now + 1);
                    break true;
                }
                choices.remove(&key);
            };
            if !more {
                break;
            }
        }
    }
    Some(found)
}

/// Reads the notes of rounds up to `round`; true when another round follows.
fn judge(notes: &[Note], round: u32, last: &BTreeSet<&str>, found: &mut Oracle) -> bool {
    let mut failed: Option<(rsf::machine::Place, String)> = None;
    let (mut ended, mut goes_on) = (false, false);
    for note in notes.iter().filter(|note| note.place.round <= round) {
        match &note.event {
            NoteEvent::Run { cell, .. } => {
                found.reached.insert(cell.clone());
            }
            NoteEvent::Fail { cell, kind, .. } => {
                assert!(kind == "incomplete" || kind == "oversupply", "{kind}");
                found.reached.insert(cell.clone());
                if failed.as_ref().is_none_or(|(place, _)| note.place < *place) {
                    failed = Some((note.place, cell.clone()));
                }
            }
            NoteEvent::Deliver { flow } | NoteEvent::Release { flow } => {
                found.delivered.insert(flow.clone());
            }
            _ => {}
        }
    }
    for note in notes {
        match &note.event {
            NoteEvent::Round { round: begun } => goes_on |= *begun > round,
            NoteEvent::End { result } => ended |= result == "COMPLETED",
            _ => {}
        }
    }
    if let Some((_, cell)) = failed {
        found.failing.insert(cell);
        return false;
    }
    if ended && !goes_on {
        let good = notes
            .iter()
            .any(|n| n.place.round == round && matches!(&n.event, NoteEvent::Done { cell, .. } if last.contains(cell.as_str())));
        found.dies_out |= !good;
    }
    goes_on
}

/// One cell of a random document: its step and role, what it makes.
#[derive(Clone, Debug)]
struct Sketch {
    steps: u32,
    roles: usize,
    /// Per cell: present, union, doubled.
    cells: Vec<(u8, bool, u8)>,
    /// From, to, which alternative (0: all), loop, when.
    flows: Vec<(u16, u16, u8, bool, u8)>,
    by_flows: bool,
}

fn sketches() -> impl Strategy<Value = Sketch> {
    (
        2_u32..5,
        1_usize..4,
        prop::collection::vec((any::<u8>(), any::<bool>(), any::<u8>()), 12),
        prop::collection::vec((any::<u16>(), any::<u16>(), 0_u8..3, any::<bool>(), any::<u8>()), 1..6),
        any::<bool>(),
    )
        .prop_map(|(steps, roles, cells, flows, by_flows)| Sketch { steps, roles, cells, flows, by_flows })
}

/// The document of a sketch: every cell behind the first step gets a flow from an earlier one, then a few more flows are added.
fn document(sketch: &Sketch) -> Value {
    let mut cells: Vec<(u32, usize, bool)> = Vec::new();
    for seq in 1..=sketch.steps {
        for role in 0..sketch.roles {
            let (present, union, _) = sketch.cells[(seq as usize - 1) * 3 + role];
            if role == 0 && (seq == 1 || present % 4 > 0) || present % 3 == 0 {
                cells.push((seq, role, union && present % 2 == 0));
            }
        }
    }
    let mut ins: Vec<Vec<String>> = vec![Vec::new(); cells.len()];
    let outs: Vec<Vec<String>> = cells
        .iter()
        .enumerate()
        .map(|(i, (seq, role, union))| match (union, sketch.cells[(*seq as usize - 1) * 3 + role].2 % 8) {
            (true, _) => vec![format!("P{i}|F{i}")],
            (false, 0) => vec![format!("T{i}"), format!("T{i}")],
            (false, 1) => vec![format!("T{i}"), format!("S{i}|Z{i}")],
            _ => vec![format!("T{i}")],
        })
        .collect();
    let mut flows = Vec::new();
    let mut lead = |from: usize, to: usize, which: u8, looping: bool, when: u8, ins: &mut Vec<Vec<String>>| {
        let (a, b) = (cells[from], cells[to]);
        if a.0 == b.0 {
            return;
        }
        let first = &outs[from][0];
        let parts: Vec<&str> = first.split('|').collect();
        let mut what = if which == 0 || parts.len() == 1 { first.clone() } else { parts[usize::from(which) - 1].to_owned() };
        let entry = if which == 2 && parts.len() > 1 { what.clone() } else { first.clone() };
        if !ins[to].contains(&entry) {
            ins[to].push(entry);
        }
        if which == 1 && outs[from].len() == 2 && outs[from][1].contains('|') {
            what = format!("{what}+{}", outs[from][1]);
            if !ins[to].contains(&outs[from][1]) {
                ins[to].push(outs[from][1].clone());
            }
        }
        let mut flow = json!({"id": format!("f{}", flows.len()), "type": if a.1 == b.1 { "sync" } else { "async" },
            "from": {"role": format!("r{}", a.1), "seq": a.0}, "to": {"role": format!("r{}", b.1), "seq": b.0}, "what": what});
        if b.0 < a.0 {
            flow["description"] = json!("[feedback]");
            if looping {
                flow["loop"] = json!(true);
            }
        }
        if when.is_multiple_of(8) {
            flow["when"] = json!("true");
        }
        flows.push(flow);
    };
    for (to, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.0 > 1) {
        let before = cells.iter().filter(|c| c.0 < cell.0).count();
        lead((sketch.cells[to].0 as usize / 7) % before, to, sketch.cells[to].2 % 3, false, 1, &mut ins);
    }
    for (from, to, which, looping, when) in &sketch.flows {
        lead(usize::from(*from) % cells.len(), usize::from(*to) % cells.len(), *which, *looping, *when, &mut ins);
    }
    // Some cells ask for what their role made before.
    for (i, cell) in cells.iter().enumerate() {
        let own = cells.iter().enumerate().find(|(j, c)| *j < i && c.1 == cell.1 && c.0 < cell.0);
        if let (Some((j, _)), 0, false) = (own, sketch.cells[i].0 % 5, ins[i].is_empty()) {
            let entry = outs[j][0].clone();
            if !ins[i].contains(&entry) {
                ins[i].push(entry);
            }
        }
    }
    let steps: Vec<Value> = (1..=sketch.steps)
        .filter(|seq| cells.iter().any(|c| c.0 == *seq))
        .map(|seq| {
            let here = cells.iter().enumerate().filter(|(_, c)| c.0 == seq);
            let map: Map<String, Value> =
                here.map(|(i, c)| (format!("r{}", c.1), json!({"task": "t", "description": "d", "in": ins[i], "out": outs[i]}))).collect();
            json!({"seq": seq, "description": "s", "cells": map})
        })
        .collect();
    let roles: Vec<Value> = (0..sketch.roles).map(|r| json!({"id": format!("r{r}"), "description": "r"})).collect();
    let mut document = json!({"format": "roles-steps-flows", "version": "2.3", "description": "random", "roles": {"items": roles}, "steps": {"items": steps}, "flows": {"items": flows}});
    if sketch.by_flows {
        document["ordering"] = json!("flows");
    }
    document
}

/// Counts of what the random documents were, so that a generator of only one kind is noticed.
#[derive(Debug, Default)]
struct Counts {
    sound: usize,
    unsound: usize,
    skipped: usize,
}

fn compare(document: &Value, counts: &mut Counts) -> Result<(), String> {
    let problems = findings(document);
    let of = |code: &str| problems.iter().filter(|p| p.code == code).collect::<Vec<_>>();
    // Other faults keep the proof from being tried: an entry cell whose input nobody brings, a cell nothing starts.
    let other =
        problems.iter().any(|p| p.severity == Severity::Error && !["RSF711", "RSF712", "RSF713", "RSF714", "RSF717"].contains(&p.code));
    if other || !of("RSF702").is_empty() || !of("RSF703").is_empty() || !of("RSF719").is_empty() {
        counts.skipped += 1;
        return Ok(());
    }
    let plan = seal(document);
    let Some(found) = oracle(&plan) else {
        counts.skipped += 1;
        return Ok(());
    };
    let cells = |code: &str| {
        of(code).iter().filter_map(|p| p.message.split([' ', '`']).find(|w| w.contains('@')).map(str::to_owned)).collect::<BTreeSet<_>>()
    };
    let mut failing = cells("RSF711");
    failing.extend(cells("RSF712"));
    let dies = !of("RSF713").is_empty();
    if failing.is_empty() != found.failing.is_empty() || (failing.is_empty() && dies != found.dies_out) {
        return Err(format!("proof: {failing:?} dies {dies}; machine: {found:?}"));
    }
    // Under `flows` nothing starts after a failure, so which of two faults comes first depends on who finishes first.
    let in_order = document["ordering"] != "flows";
    if (in_order && !failing.is_subset(&found.failing)) || (dies && !found.dies_out) {
        return Err(format!("proof finds what is not: {failing:?} dies {dies}; machine: {found:?}"));
    }
    if failing.is_empty() && !dies {
        counts.sound += 1;
        let idle = plan.net().cells.iter().any(|cell| !found.reached.contains(&cell.id));
        if idle == of("RSF717").is_empty() {
            return Err(format!("idle cells: {:?}; machine: {found:?}", of("RSF717")));
        }
        let silent = plan.net().flows.iter().any(|f| {
            let (from, to) = (&plan.net().cells[f.from].id, &plan.net().cells[f.to].id);
            !found.delivered.contains(&f.id) && found.reached.contains(from) && found.reached.contains(to)
        });
        if silent == of("RSF714").is_empty() {
            return Err(format!("silent flows: {:?}; machine: {found:?}", of("RSF714")));
        }
    } else {
        counts.unsound += 1;
    }
    Ok(())
}

#[test]
fn the_proof_says_what_trying_everything_says() {
    let cases = std::env::var("RSF_PROOF_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let counts = std::cell::RefCell::new(Counts::default());
    let result = runner.run(&sketches(), |sketch| {
        let document = document(&sketch);
        compare(&document, &mut counts.borrow_mut()).map_err(|why| TestCaseError::fail(format!("{why}\n{document}")))
    });
    let counts = counts.into_inner();
    println!("{counts:?}");
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(counts.sound * 10 >= cases as usize && counts.unsound * 10 >= cases as usize, "the documents are of one kind: {counts:?}");
}
