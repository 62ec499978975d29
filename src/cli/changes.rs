//! What changed in a document since a run began, by the names a person knows: cells, roles, flows, types, rules, files.

use crate::base::digest_json;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longest list that is told in full.
const TOLD: usize = 12;

/// Name → digest of everything a document consists of.
#[must_use]
pub fn parts(document: &Value, files: &BTreeMap<String, Arc<str>>) -> Map<String, Value> {
    let mut parts = BTreeMap::new();
    for (key, value) in document.as_object().into_iter().flatten() {
        match key.as_str() {
            "roles" | "flows" => {
                for item in value["items"].as_array().into_iter().flatten() {
                    parts.insert(format!("{} {}", key.trim_end_matches('s'), item["id"].as_str().unwrap_or("?")), digest_json(item));
                }
            }
            "steps" => value["items"].as_array().into_iter().flatten().for_each(|step| cells(step, &mut parts)),
            _ => match value.as_object().filter(|map| !map.is_empty()) {
                Some(map) => parts.extend(map.iter().map(|(name, value)| (format!("{key}.{name}"), digest_json(value)))),
                None => drop(parts.insert(key.clone(), digest_json(value))),
            },
        }
    }
    parts.extend(files.iter().map(|(path, text)| (format!("file {path}"), digest_json(&Value::from(text.as_ref())))));
    parts.into_iter().map(|(name, digest)| (name, Value::from(digest))).collect()
}

fn cells(step: &Value, parts: &mut BTreeMap<String, String>) {
    let seq = &step["seq"];
    for (role, cell) in step["cells"].as_object().into_iter().flatten() {
        parts.insert(format!("cell {role}@{seq}"), digest_json(cell));
    }
    let mut rest = step.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("cells");
    }
    parts.insert(format!("step {seq}"), digest_json(&rest));
}

/// What differs, for people; `None` where the earlier parts are not known.
#[must_use]
pub fn differences(before: &Value, now: &Map<String, Value>) -> Option<String> {
    let before = before.as_object()?;
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut told: Vec<String> = Vec::new();
    for name in names {
        match (before.get(name), now.get(name)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(_), Some(_)) => told.push(format!("{name} changed")),
            (Some(_), None) => told.push(format!("{name} is gone")),
            (None, _) => told.push(format!("{name} is new")),
        }
    }
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    Some(told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_changed_is_told_by_name() {
        let document = |task: &str, extra: Value| {
            json!({"version": "2.3", "roles": {"items": [{"id": "a"}]}, "types": {"T": extra},
                "steps": {"items": [{"seq": 1, "cells": {"a": {"task": task}}}]}})
        };
        let files = BTreeMap::from([("p.md".to_owned(), Arc::from("x"))]);
        let before = Value::Object(parts(&document("one", json!(1)), &files));
        assert_eq!(differences(&before, &parts(&document("one", json!(1)), &files)).unwrap(), "");
        let now = parts(&document("two", json!(2)), &BTreeMap::new());
        assert_eq!(differences(&before, &now).unwrap(), "cell a@1 changed, file p.md is gone, types.T changed");
        assert_eq!(differences(&Value::Null, &now), None);
    }
}
