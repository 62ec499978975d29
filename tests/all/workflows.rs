//! The workflows that come with the program: they seal, and team-loop without its execution keys is its authors' document.

use rsf::base::{FileId, Severity};
use rsf::check::plan::{Plan, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

fn files() -> BTreeMap<String, Arc<str>> {
    fn walk(folder: &Path, out: &mut BTreeMap<String, Arc<str>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                out.insert(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned(), text.into());
            }
        }
    }
    let mut out = BTreeMap::new();
    for folder in ["workflows", "prompts", "schemas", "samples"] {
        walk(&root().join(folder), &mut out);
    }
    out
}

/// The workflow at `path`, sealed with its own settings and these parameters.
pub fn seal_with(path: &str, params: serde_json::Map<String, Value>) -> Plan {
    let document = read(path);
    let (tree, problems) = rsf::syntax::parse(std::fs::read(root().join(path)).unwrap().as_slice(), FileId(0));
    assert!(problems.iter().all(|p| p.severity != Severity::Error), "{problems:#?}");
    let (workflow, problems) = rsf::model::decode(&tree);
    assert!(problems.is_empty(), "{problems:#?}");
    let settings = Settings { config: workflow.execution.config.clone(), limits: workflow.execution.limits.clone(), params };
    match Plan::seal(workflow, &document, &files(), settings, &|_| Err("no table files".to_owned())) {
        Ok(plan) => plan,
        Err(errors) => panic!("{path}: {errors:#?}"),
    }
}

#[test]
fn every_workflow_seals() {
    for entry in std::fs::read_dir(root().join("workflows")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let table = || read(&format!("workflows/{name}"))["format"] == "decision-table";
        if name.ends_with(".json") && !table() {
            seal_with(&format!("workflows/{name}"), serde_json::Map::new());
        }
    }
}

#[test]
fn team_loop_without_its_execution_keys_is_the_seed() {
    let mut document = read("workflows/team-loop.json");
    strip(&mut document);
    assert_eq!(document, read("tests/cases/seed/team-loop.seed.json"));
}

/// Removes every key of the execution part (docs/language.md, 3).
fn strip(document: &mut Value) {
    const ROOT: [&str; 21] = [
        "params",
        "triggers",
        "requires",
        "config",
        "profiles",
        "ids",
        "types",
        "state",
        "rules",
        "constraints",
        "independence",
        "on",
        "view",
        "estimate",
        "price",
        "logs",
        "results",
        "limits",
        "ordering",
        "outputs",
        "dir",
    ];
    let root = document.as_object_mut().unwrap();
    ROOT.iter().for_each(|key| drop(root.remove(*key)));
    let items = |value: &mut Value, key: &str| value[key]["items"].as_array_mut().unwrap().clone();
    for (section, keys) in [("roles", &["agent"][..]), ("flows", &["when", "loop"][..])] {
        let mut list = items(document, section);
        for item in &mut list {
            keys.iter().for_each(|key| drop(item.as_object_mut().unwrap().remove(*key)));
        }
        document[section]["items"] = Value::Array(list);
    }
    for step in document["steps"]["items"].as_array_mut().unwrap() {
        for cell in step["cells"].as_object_mut().unwrap().values_mut() {
            for key in ["run", "permissions", "timeout", "retry", "recover", "each", "exclusive"] {
                cell.as_object_mut().unwrap().remove(key);
            }
        }
    }
}
