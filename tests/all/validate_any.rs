//! No input makes validation panic: any bytes, any JSON, any damage to a real document.

use proptest::prelude::*;
use rsf::bundle::Bundle;
use rsf::cli::load::examine;
use rsf::report::diagnostics;
use serde_json::{Value, json};

const SEED: &str = include_str!("../cases/validate/execution/workflows/ok.json");

fn survives(bytes: Vec<u8>) {
    let loaded = examine(Bundle::from_stdin(bytes));
    let _ = diagnostics::text(&loaded.problems, &loaded.sources, true);
    let _ = diagnostics::json(&loaded.problems, &loaded.sources, &|label| loaded.pointer(label));
    for problem in &loaded.problems {
        assert!(rsf::check::explain(problem.code).is_some(), "{} has no manual", problem.code);
        assert!(!problem.labels.is_empty(), "{} has no place", problem.code);
    }
}

/// Values that are likely to stand where they do not belong.
fn stray() -> impl Strategy<Value = Value> {
    let texts = ["", "A", "A|B", "A＋B(×3)", "\u{202e}", "[timeout 5s", "{{ x }}", "../..", "a@1", "prompts/x.md"];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(texts.to_vec()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"emit": {"A": 1}}, {"do": [], "else": {}}, {"for": "x", "do": {"agent": {}}}])),
        Just(json!({"items": [1, {}, [], {"id": 1, "seq": 1, "cells": {"x": {}}}]})),
    ]
}

/// Puts `value` at the `steps`-th place met on a walk through the document.
fn plant(target: &mut Value, path: &[prop::sample::Index], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *target = value;
        return;
    };
    match target {
        Value::Array(items) if !items.is_empty() => {
            let index = first.index(items.len());
            plant(&mut items[index], rest, value);
        }
        Value::Object(map) if !map.is_empty() => {
            let index = first.index(map.len());
            if let Some((_, inner)) = map.iter_mut().nth(index) {
                plant(inner, rest, value);
            }
        }
        other => *other = value,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(bytes);
    }

    #[test]
    fn any_text_of_json_characters(text in "[\\[\\]{}\",:0-9eE+.\\-/*'\\\\u \n\u{feff}truefalsn\u{e9}]{0,120}") {
        survives(text.into_bytes());
    }

    #[test]
    fn a_document_with_flipped_bytes(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = SEED.as_bytes().to_vec();
        for (index, byte) in flips {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        survives(bytes);
    }

    #[test]
    fn a_document_cut_short(end in any::<prop::sample::Index>()) {
        survives(SEED.as_bytes()[..end.index(SEED.len())].to_vec());
    }

    #[test]
    fn a_document_with_stray_values(plants in proptest::collection::vec((proptest::collection::vec(any::<prop::sample::Index>(), 1..9), stray()), 1..5)) {
        let mut document: Value = serde_json::from_str(SEED).expect("the document");
        for (path, value) in plants {
            plant(&mut document, &path, value);
        }
        survives(document.to_string().into_bytes());
    }
}

/// Five thousand roles and flows: the number of findings and the time stay in proportion (the test would hang if they did not).
#[test]
fn large_documents_are_read() {
    let roles: Vec<Value> = (0..5000).map(|n| json!({"id": format!("r{n}"), "description": "d"})).collect();
    let mut cells = serde_json::Map::new();
    for n in 0..5000 {
        cells.insert(format!("r{n}"), json!({"task": "t", "description": "d", "in": ["X"], "out": []}));
    }
    let flows: Vec<Value> = (0..5000)
        .map(|n| json!({"id": format!("f{n}"), "type": if n == 0 { "sync" } else { "async" }, "from": {"role": "r0", "seq": 1}, "to": {"role": format!("r{n}"), "seq": 2}, "what": "X"}))
        .collect();
    let first = json!({"r0": {"task": "t", "description": "d", "in": [], "out": ["X"]}});
    let mut document = json!({"format": "roles-steps-flows", "version": "2.3", "description": "d", "roles": {"items": roles},
        "steps": {"items": [{"seq": 1, "description": "s", "cells": first}, {"seq": 2, "description": "s", "cells": cells}]}, "flows": {"items": flows}});
    let found = examine(Bundle::from_stdin(document.to_string())).problems;
    assert_eq!(found, []);
    for flow in document["flows"]["items"].as_array_mut().expect("the flows") {
        flow["what"] = json!("Y");
    }
    assert_eq!(examine(Bundle::from_stdin(document.to_string())).problems.len(), 10_000);
}
