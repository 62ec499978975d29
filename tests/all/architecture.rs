//! The house: who imports whom, what the core keeps out, how long things are, and which words no line of Rust holds.
//!
//! Data: `tests/cases/architecture/`. The rules are docs/architecture.md's. Sources are read as text with comments and literals blanked,
//! which is enough for these questions and needs no parser.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests; what they cannot do is a failed test")]

#[path = "architecture/source.rs"]
mod source;

use serde::Deserialize;
use source::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;

#[derive(Deserialize)]
struct House {
    names: BTreeMap<String, Vec<String>>,
    core: Vec<String>,
    forbidden_in_core: Vec<String>,
    excuse: String,
    rooms: BTreeMap<String, Room>,
}

#[derive(Deserialize)]
struct Room {
    may: BTreeSet<String>,
    #[serde(default)]
    moved: BTreeMap<String, String>,
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/architecture").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn house() -> House {
    serde_json::from_str(&data("imports.json")).expect("the table is well formed")
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Rooms that a file names as `crate::…`, with the line.
fn imports(source: &Source, house: &House) -> Vec<(usize, String)> {
    source.crate_paths().into_iter().map(|(line, path)| (line, room_of(&path, house))).collect()
}

/// `check::plan::Plan` → `plan`, `driver::Event` → `events`, `model::Cell` → `model`.
fn room_of(path: &str, house: &House) -> String {
    let inside = |prefix: &&String| path == prefix.as_str() || path.starts_with(&format!("{prefix}::"));
    let named = house.names.iter().find(|(_, prefixes)| prefixes.iter().any(|prefix| inside(&prefix)));
    named.map_or_else(|| path.split("::").next().unwrap_or_default().to_owned(), |(name, _)| name.clone())
}

#[test]
fn every_room_imports_only_what_the_table_allows() {
    let house = house();
    let mut faults = Vec::new();
    for source in sources() {
        let Some(room) = &source.room else { continue };
        let Some(rules) = house.rooms.get(room) else {
            faults.push(format!("{}: room `{room}` is not in the table", source.path));
            continue;
        };
        for (line, target) in imports(&source, &house) {
            let allowed = target == *room || rules.may.contains("*") || rules.may.contains(&target) || rules.moved.contains_key(&target);
            if !allowed {
                faults.push(format!("{}:{line}: room `{room}` may not import `{target}`", source.path));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_table_names_only_rooms_it_knows() {
    let house = house();
    let known = |name: &String| name == "*" || house.names.contains_key(name) || house.rooms.contains_key(name);
    let all = house.rooms.values().flat_map(|room| room.may.iter().chain(room.moved.keys()));
    none(&all.filter(|name| !known(name)).cloned().collect::<Vec<_>>());
    assert!(house.rooms.values().flat_map(|room| room.moved.values()).all(|why| !why.is_empty()));
    assert!(house.core.iter().all(|room| house.rooms.contains_key(room)));
}

#[test]
fn no_path_climbs_out_of_its_room() {
    let climbing = sources().into_iter().flat_map(|source| source.climbing());
    none(&climbing.collect::<Vec<_>>());
}

#[test]
fn the_core_touches_nothing_of_the_world() {
    let house = house();
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.room.as_ref().is_some_and(|room| house.core.contains(room))) {
        for word in &house.forbidden_in_core {
            let lines = source.lines_naming(word);
            let excused = |line: &usize| source.comment_near(*line).contains(&house.excuse);
            let left = lines.into_iter().filter(|line| !(word.starts_with("Hash") && excused(line)));
            faults.extend(left.map(|line| format!("{}:{line}: `{word}` in a core room", source.path)));
        }
    }
    none(&faults);
}

#[test]
fn the_compiler_guards_every_core_room_too() {
    let house = house();
    let all = sources();
    let root = all.iter().find(|source| source.path == "src/lib.rs").expect("src/lib.rs");
    let lines: Vec<&str> = root.text.lines().collect();
    let guard = "#[deny(clippy::disallowed_methods, clippy::disallowed_types)]";
    let unguarded = lines.iter().enumerate().filter_map(|(at, line)| {
        let room = line.strip_prefix("pub mod ")?.strip_suffix(';')?;
        let guarded = at > 0 && lines[at - 1] == guard;
        (house.core.iter().any(|core| core == room) && !guarded).then(|| format!("src/lib.rs:{}: write `{guard}` above", at + 1))
    });
    none(&unguarded.collect::<Vec<_>>());
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = sources().into_iter().filter(|source| source.path != "src/main.rs" && !source.text.trim_start().starts_with("//!"));
    none(&silent.map(|source| format!("{}: no module doc", source.path)).collect::<Vec<_>>());
}

#[test]
fn files_and_functions_are_short() {
    let mut faults = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            faults.push(format!("{}: {lines} lines, at most {FILE_LINES}", source.path));
        }
        let long = source.functions().into_iter().filter(|(.., lines)| *lines > FUNCTION_LINES);
        faults.extend(
            long.map(|(line, name, lines)| format!("{}:{line}: `{name}` has {lines} lines, at most {FUNCTION_LINES}", source.path)),
        );
    }
    none(&faults);
}

#[test]
fn no_line_of_rust_knows_a_workflow() {
    #[derive(Deserialize)]
    struct Words {
        words: Vec<String>,
        names: Vec<String>,
    }
    let words: Words = serde_json::from_str(&data("words.json")).expect("the list is well formed");
    let forbidden: Vec<Vec<&str>> = words.words.iter().map(|entry| entry.split(' ').collect()).collect();
    let mut faults = Vec::new();
    for source in sources() {
        for (at, line) in source.text.lines().enumerate() {
            let spelt = split_words(line);
            let stands =
                |entry: &[&str]| spelt.windows(entry.len()).any(|window| window.iter().zip(entry).all(|(word, part)| same(word, part)));
            let found = forbidden.iter().filter(|entry| stands(entry)).map(|entry| entry.join(" "));
            let found = found.chain(words.names.iter().filter(|name| line.contains(name.as_str())).cloned());
            faults.extend(found.map(|what| format!("{}:{}: `{what}`", source.path, at + 1)));
        }
    }
    none(&faults);
}

fn same(word: &str, part: &str) -> bool {
    part.strip_suffix('*').map_or(word == part, |stem| word.starts_with(stem))
}

/// `TaskUnit.kr_id` → task, unit, kr, id.
fn split_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_tests_own_reading_of_sources_can_fail() {
    assert_eq!(split_words("TaskUnit.kr_id decoder"), ["task", "unit", "kr", "id", "decoder"]);
    let house = house();
    let source = Source::new("src/base/x.rs", &data("sample.rs.txt"));
    let seen: Vec<String> = imports(&source, &house).into_iter().map(|(line, room)| format!("{line} {room}")).collect();
    assert_eq!(seen, ["4 driver", "4 events", "5 plan", "5 check", "5 machine", "7 world", "12 tool"]);
    assert_eq!(source.lines_naming("std::fs"), [6, 13]);
    assert_eq!(source.lines_naming("HashMap"), [8, 9]);
    assert!(source.comment_near(9).contains("never iterated") && !source.comment_near(8).contains("never iterated"));
    assert_eq!(source.functions(), [(11, "outer".to_owned(), 9), (16, "inner".to_owned(), 3)]);
    assert_eq!(source.climbing().len(), 1, "{:?}", source.climbing());
}
