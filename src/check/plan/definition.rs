//! Digests of what a cell is made of, so that a result is only used again where its definition is unchanged (docs/language.md, 8).

use super::build::Files;
use super::net::Net;
use crate::base::{digest_bytes, digest_json};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One digest per cell of the net: the cell, its role, the document's types and rules, and the bundle's files it names.
pub(super) fn definitions(net: &Net, document: &Value, files: &Files) -> Vec<String> {
    let mut named = Map::new();
    for part in ["types", "rules"].into_iter().filter_map(|key| document.get(key)) {
        name_files(part, files, &mut named);
    }
    let shared = json!({
        "files": named,
        "types": document.get("types"),
        "rules": document.get("rules"),
        "limits": document.get("limits"),
    });
    let shared = digest_json(&shared);
    net.cells
        .iter()
        .map(|cell| {
            let (step, _) = cell.source;
            let role = &net.roles[cell.role];
            let definition = document.pointer(&format!("/steps/items/{step}/cells")).and_then(|cells| cells.get(role));
            let role = document.pointer(&format!("/roles/items/{}", cell.role));
            let mut named = Map::new();
            for part in [definition, role].into_iter().flatten() {
                name_files(part, files, &mut named);
            }
            digest_json(&json!({"cell": definition, "role": role, "files": named, "shared": shared}))
        })
        .collect()
}

/// Per program of `on`: a digest of it with what it uses.
pub(super) fn programs(document: &Value, files: &Files) -> BTreeMap<String, String> {
    let shared = json!({"types": document.get("types"), "rules": document.get("rules"), "limits": document.get("limits")});
    let programs = document.get("on").and_then(Value::as_object);
    let digest = |program: &Value| {
        let mut named = Map::new();
        name_files(program, files, &mut named);
        digest_json(&json!({"program": program, "as": document.pointer("/on/as"), "files": named, "shared": shared}))
    };
    programs.into_iter().flatten().map(|(event, program)| (event.clone(), digest(program))).collect()
}

/// Finds strings that are, or mention, the path of a file of the bundle.
fn name_files(value: &Value, files: &Files, named: &mut Map<String, Value>) {
    match value {
        Value::String(text) => {
            for (path, content) in files {
                if text.contains(path.as_str()) {
                    named.insert(path.clone(), Value::String(digest_bytes(content.as_bytes())));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| name_files(item, files, named)),
        Value::Object(map) => map.values().for_each(|item| name_files(item, files, named)),
        _ => {}
    }
}
