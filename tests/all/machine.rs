//! The pure machine against documents with scripted outcomes and the trace that must come, and its laws under every order of finishing.

use proptest::prelude::*;
use rsf::base::{FileId, Severity};
use rsf::check::plan::{Plan, Settings};
use rsf::machine::{NoteEvent, Scripted};
use rsf::simulate::{Script, run, trace};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

struct Case {
    name: String,
    plan: Arc<Plan>,
    script: Script,
    trace: Vec<String>,
}

fn plan_of(document: &Value, limit: Option<u64>) -> Arc<Plan> {
    let (tree, problems) = rsf::syntax::parse(document.to_string().as_bytes(), FileId(0));
    assert!(problems.iter().all(|p| p.severity != Severity::Error), "{problems:?}");
    let (workflow, problems) = rsf::model::decode(&tree);
    assert!(problems.iter().all(|p| p.severity != Severity::Error), "{problems:?}");
    let mut settings = Settings::default();
    if let Some(limit) = limit {
        settings.limits.insert("rounds".to_owned(), Value::from(limit));
    }
    let no_tables = |_: &str| Err("no tables here".to_owned());
    match Plan::seal(workflow, document, &BTreeMap::new(), settings, &no_tables) {
        Ok(plan) => Arc::new(plan),
        Err(errors) => panic!("{errors:?}"),
    }
}

fn scripted(value: &Value) -> Scripted {
    Scripted {
        emit: value.get("emit").and_then(Value::as_object).map(|map| map.keys().cloned().collect()),
        stop: value.get("stop").and_then(Value::as_str).map(str::to_owned),
        fail: value.get("fail").and_then(Value::as_bool).unwrap_or(false),
        withhold: Vec::new(),
    }
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/machine");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let outcomes = case["outcomes"].as_object().unwrap();
            let script =
                outcomes.iter().map(|(cell, list)| (cell.clone(), list.as_array().unwrap().iter().map(scripted).collect())).collect();
            let trace = case["trace"].as_array().unwrap().iter().map(|l| l.as_str().unwrap().to_owned()).collect();
            let plan = plan_of(&case["document"], case.get("limit").and_then(Value::as_u64));
            Case { name: path.file_stem().unwrap().to_string_lossy().into_owned(), plan, script, trace }
        })
        .collect()
}

#[test]
fn every_case_gives_its_trace_to_the_letter() {
    let cases = cases();
    assert!(cases.len() >= 17, "only {} cases found", cases.len());
    for case in cases {
        let notes = run(Arc::clone(&case.plan), &case.script, |_| 0);
        assert_eq!(trace(&notes), case.trace, "case {}", case.name);
    }
}

#[test]
fn flows_ordering_gives_the_same_traces() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/machine");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        // Where a failure or a stop cuts the run short, what overlaps decides what had started already.
        if path.ends_with("failure.json") {
            continue;
        }
        case["document"]["ordering"] = Value::from("flows");
        let plan = plan_of(&case["document"], case.get("limit").and_then(Value::as_u64));
        let outcomes = case["outcomes"].as_object().unwrap();
        let script: Script = outcomes.iter().map(|(c, l)| (c.clone(), l.as_array().unwrap().iter().map(scripted).collect())).collect();
        let expected: Vec<String> = case["trace"].as_array().unwrap().iter().map(|l| l.as_str().unwrap().to_owned()).collect();
        for pick in [0, usize::MAX] {
            assert_eq!(trace(&run(Arc::clone(&plan), &script, |_| pick)), expected, "case {}", path.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the order in which parallel cells finish, the record is the same.
    #[test]
    fn the_order_of_finishing_changes_nothing(picks in proptest::collection::vec(0usize..4, 1..200)) {
        for case in cases() {
            let mut next = picks.iter().cycle();
            let notes = run(Arc::clone(&case.plan), &case.script, |n| next.next().copied().unwrap_or(0) % n);
            prop_assert_eq!(trace(&notes), case.trace, "case {}", case.name);
        }
    }

    /// Every round ends, a cell runs at most once in it, and a flow delivers at most once in it, whatever cells emit.
    #[test]
    fn rounds_end_and_values_are_delivered_once(document in documents(), choices in proptest::collection::vec(any::<u8>(), 64), flows in any::<bool>()) {
        let mut document = document;
        if flows {
            document["ordering"] = Value::from("flows");
        }
        let plan = plan_of(&document, Some(5));
        let mut script = Script::new();
        let mut choice = choices.iter().cycle();
        for cell in &plan.net().cells {
            let outcomes = (0..6).map(|_| random_outcome(cell, *choice.next().unwrap())).collect();
            script.insert(cell.id.clone(), outcomes);
        }
        let mut order = choices.iter().cycle();
        let notes = run(Arc::clone(&plan), &script, |n| usize::from(*order.next().unwrap()) % n);
        let ends = notes.iter().filter(|n| matches!(n.event, NoteEvent::End { .. })).count();
        prop_assert_eq!(ends, 1, "a run ends once: {:?}", trace(&notes));
        let mut seen = BTreeSet::new();
        for note in &notes {
            let key = match &note.event {
                NoteEvent::Run { cell, .. } => format!("run {} {cell}", note.place.round),
                NoteEvent::Deliver { flow } => format!("deliver {} {flow}", note.place.round),
                NoteEvent::Release { flow } => format!("release {} {flow}", note.place.round),
                _ => continue,
            };
            prop_assert!(seen.insert(key.clone()), "twice: {key}");
        }
        let reference = trace(&run(Arc::clone(&plan), &script, |_| 0));
        // Under `flows` nothing starts after a failure that ends the run, so what had started by then depends on time (docs/language.md, 2).
        if !flows || !reference.iter().any(|line| line.starts_with("fail")) {
            prop_assert_eq!(trace(&notes), reference);
        }
    }
}

fn random_outcome(cell: &rsf::check::plan::NetCell, byte: u8) -> Scripted {
    let emit = cell.outs.iter().map(|o| o.term.alternatives[usize::from(byte) % o.term.alternatives.len()].to_string()).collect();
    match byte % 16 {
        0 => Scripted { fail: true, ..Scripted::default() },
        1 => Scripted { emit: Some(Vec::new()), stop: Some("HALT".to_owned()), ..Scripted::default() },
        _ => Scripted { emit: Some(emit), ..Scripted::default() },
    }
}

/// Random well-typed documents: up to 3 roles × 4 steps, flows between any two cells of different steps.
pub fn documents() -> impl Strategy<Value = Value> {
    (1usize..4, 2u32..5, proptest::collection::vec((any::<u16>(), any::<u16>(), any::<bool>()), 1..12)).prop_map(|(roles, steps, ends)| {
        let cell_count = roles * steps as usize;
        let mut inputs: Vec<Vec<String>> = vec![Vec::new(); cell_count];
        let mut outputs: Vec<Vec<String>> =
            (0..cell_count).map(|i| vec![if i % 3 == 0 { format!("T{i}|U{i}") } else { format!("T{i}") }]).collect();
        let mut flows = Vec::new();
        for (index, (a, b, looping)) in ends.into_iter().enumerate() {
            let (from, to) = (usize::from(a) % cell_count, usize::from(b) % cell_count);
            let (from_seq, to_seq) = (from / roles + 1, to / roles + 1);
            if from_seq == to_seq {
                continue;
            }
            let what = outputs[from][0].clone();
            if !inputs[to].contains(&what) {
                inputs[to].push(what.clone());
            }
            let kind = if from % roles == to % roles { "sync" } else { "async" };
            let end = |i: usize| serde_json::json!({"role": format!("r{}", i % roles), "seq": i / roles + 1});
            flows.push(serde_json::json!({"id": format!("f{index}"), "type": kind, "from": end(from), "to": end(to), "what": what,
                "description": if looping { "[loop]" } else { "[feedback]" }}));
        }
        let steps: Vec<Value> = (0..steps as usize)
            .map(|s| {
                let cells: serde_json::Map<String, Value> = (0..roles)
                    .map(|r| {
                        let i = s * roles + r;
                        let cell =
                            serde_json::json!({"task": "t", "description": "d", "in": inputs[i], "out": std::mem::take(&mut outputs[i])});
                        (format!("r{r}"), cell)
                    })
                    .collect();
                serde_json::json!({"seq": s + 1, "description": "s", "cells": cells})
            })
            .collect();
        let roles: Vec<Value> = (0..roles).map(|r| serde_json::json!({"id": format!("r{r}"), "description": "r"})).collect();
        serde_json::json!({"format": "roles-steps-flows", "version": "2.3", "description": "random", "roles": {"items": roles},
            "steps": {"items": steps}, "flows": {"items": flows}})
    })
}
