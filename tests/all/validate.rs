//! Documents as data: every file below `tests/cases/validate` gets exactly the findings that its folder's `expected.tsv` names.
//!
//! A line of `expected.tsv` is: file, verdict (`ok`: nothing but notes, `warn`, `reject`), findings as `CODE:severity:line:column`. A missing or an added finding fails.

use rsf::base::{Problem, Severity, Sources};
use rsf::bundle::Bundle;
use rsf::cli::load::{Loaded, examine};
use rsf::report::diagnostics;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn cases(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/validate").join(folder)
}

fn load(path: &Path) -> Loaded {
    examine(Bundle::load(path).expect("a readable file"))
}

fn verdict(problems: &[Problem]) -> &'static str {
    let worst = problems.iter().map(|problem| problem.severity).min();
    match worst {
        Some(Severity::Error) => "reject",
        Some(Severity::Warning) => "warn",
        _ => "ok",
    }
}

fn findings(problems: &[Problem], sources: &Sources) -> String {
    let mut out = String::new();
    for problem in problems {
        let label = problem.labels.first().expect("a place");
        let (line, column) = sources.file(label.file).expect("a file").position(label.span.start);
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let _ = write!(out, "{}{}:{severity}:{line}:{column}", if out.is_empty() { "" } else { " " }, problem.code);
    }
    out
}

/// Compares a folder with its `expected.tsv`; with `RSF_BLESS=1` writes it, to be read before it is committed.
fn hold(folder: &str) {
    let dir = cases(folder);
    let mut names: Vec<String> = fs::read_dir(&dir)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "json"))
        .collect();
    names.sort();
    let mut got = String::new();
    for name in &names {
        let loaded = load(&dir.join(name));
        let _ = writeln!(got, "{name}\t{}\t{}", verdict(&loaded.problems), findings(&loaded.problems, &loaded.sources));
    }
    let expected = dir.join("expected.tsv");
    if std::env::var_os("RSF_BLESS").is_some() {
        fs::write(&expected, &got).expect("writable");
    }
    let wanted = fs::read_to_string(&expected).expect("expected.tsv");
    for (wanted, got) in wanted.lines().zip(got.lines()) {
        assert_eq!(wanted, got, "findings of {folder} changed");
    }
    assert_eq!(wanted.lines().count(), got.lines().count(), "files of {folder} changed");
}

#[test]
fn documents_from_the_field_get_their_findings() {
    hold("rsf");
}

#[test]
fn pitfalls_of_json_get_their_findings() {
    hold("json");
}

#[test]
fn faults_of_the_execution_part_get_their_findings() {
    hold("execution/workflows");
}

#[test]
fn decision_tables_get_their_findings() {
    hold("tables");
}

#[test]
fn who_wins_is_said() {
    let table = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/turn-cadence.json"));
    let said: Vec<&str> = table.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(said.contains(&"`turn-35` wins over `turn-10`, `turn-7` at turn = 70, task = \"\""), "{said:#?}");
    assert!(said.iter().any(|message| message.starts_with("`turn-70-checkpoint` wins over `turn-35`")), "{said:#?}");
    assert!(said.iter().any(|message| message.starts_with("no row matches")), "{said:#?}");
    assert!(table.problems.iter().all(|problem| problem.severity == Severity::Note), "{said:#?}");
}

#[test]
fn texts_and_tables_that_cannot_be_used_are_found_before_a_run() {
    hold("texts/workflows");
}

/// What the authors of the cases expect, independent of the codes chosen here.
#[test]
fn verdicts_are_those_of_the_manifest() {
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(cases("rsf-manifest.json")).expect("the manifest")).expect("JSON");
    let mut seen = 0;
    for case in manifest.as_array().expect("a list") {
        let (file, expect) = (case["file"].as_str().expect("a file"), case["expect"].as_str().expect("a verdict"));
        assert_eq!(verdict(&load(&cases("rsf").join(file)).problems), expect, "{file}");
        seen += 1;
    }
    assert!(seen >= 40, "{seen}");
}

/// How findings are shown, for a selection of files.
#[test]
fn messages_read_well() {
    let selection: BTreeMap<&str, &[&str]> = BTreeMap::from([
        (
            "rsf",
            [
                "flagship-v10-skeleton",
                "flagship-v10-missing-brace",
                "duplicate-role-id",
                "i2-unknown-receiver",
                "i4-not-in-in",
                "annot-bad-neg",
                "version-2-30",
                "format-missing",
            ]
            .as_slice(),
        ),
        (
            "json",
            [
                "dup-key-escaped",
                "dup-cell-role",
                "name-zero-width",
                "what-fullwidth-plus",
                "items-missing",
                "in-string",
                "invalid-utf8",
                "utf16le",
                "two-documents",
                "escape-sequence",
                "type-case",
                "seq-negzero",
                "cell-as-array",
                "single-quotes",
                "unknown-key",
                "deep-500-unknown",
            ]
            .as_slice(),
        ),
        ("execution/workflows", ["misspelt", "bad-schema", "bad-table"].as_slice()),
    ]);
    for (folder, names) in selection {
        for name in names {
            let mut loaded = load(&cases(folder).join(format!("{name}.json")));
            // The snapshot must not hold the place of the checkout.
            let mut sources = Sources::default();
            sources.add(rsf::base::SourceFile::new(format!("{name}.json"), loaded.bundle.document.clone()));
            for (path, text) in &loaded.bundle.files {
                sources.add(rsf::base::SourceFile::new(path.clone(), text.clone()));
            }
            loaded.sources = sources;
            let text =
                format!("{}{}", diagnostics::text(&loaded.problems, &loaded.sources, false), diagnostics::Tally::of(&loaded.problems));
            insta::assert_snapshot!(format!("{}__{name}", folder.replace('/', "_")), text);
        }
    }
}

fn rsf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rsf")).args(args).stdin(Stdio::null()).output().expect("the program runs")
}

fn exit(args: &[&str]) -> i32 {
    rsf(args).status.code().expect("an exit status")
}

#[test]
fn exit_status_says_what_happened() {
    let path = |folder: &str, name: &str| cases(folder).join(name).display().to_string();
    let (ok, warn, reject) = (path("json", "ok.json"), path("json", "bom.json"), path("json", "empty.json"));
    assert_eq!(exit(&["validate", &ok]), 0);
    assert_eq!(exit(&["validate", &warn]), 0);
    assert_eq!(exit(&["validate", "--strict", &warn]), 1);
    assert_eq!(exit(&["validate", &ok, &reject]), 1);
    assert_eq!(exit(&["validate", &reject, "no-such-file.json"]), 2);
    assert_eq!(exit(&["validate"]), 2);
    assert_eq!(exit(&["explain", "RSF999"]), 2);
    assert_eq!(exit(&["explain", "rsf301"]), 0);
}

#[test]
fn folders_pipes_and_missing_files_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for (path, words) in
        [(folder.path().to_path_buf(), "is a folder"), (pipe, "no regular file"), (folder.path().join("none.json"), "no such file")]
    {
        let output = rsf(&["validate", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn standard_input_is_a_document_and_json_is_for_tools() {
    let file = fs::File::open(cases("json").join("type-case.json")).expect("the file");
    let output =
        Command::new(env!("CARGO_BIN_EXE_rsf")).args(["validate", "-", "--format", "json"]).stdin(file).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    insta::assert_json_snapshot!("stdin_type_case", found);
}

#[test]
fn the_schema_accepts_what_validation_accepts() {
    let output = rsf(&["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let schema = rsf::schema::Schema::compile(&schema).expect("a schema");
    for (folder, name) in [("rsf", "ok-team-loop-seed.json"), ("rsf", "ok-v10-min.json"), ("execution/workflows", "ok.json")] {
        let value = serde_json::from_str(&fs::read_to_string(cases(folder).join(name)).expect("the file")).expect("JSON");
        assert_eq!(schema.check(&value), [], "{name}");
    }
    let value = serde_json::from_str(&fs::read_to_string(cases("json").join("flow-as-array.json")).expect("the file")).expect("JSON");
    assert!(!schema.accepts(&value));
}

/// Every code that is reported has a manual, and no code has two.
#[test]
fn every_code_has_exactly_one_manual() {
    let known = rsf::check::codes();
    let mut names: Vec<&String> = known.iter().map(|(code, _)| code).collect();
    names.dedup();
    assert_eq!(names.len(), known.len(), "a code is described twice: {known:?}");
    for folder in ["src/syntax", "src/model/decode", "src/check", "src/check/proof", "src/check/texts"] {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("the folder") {
            let path = entry.expect("an entry").path();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            for (at, _) in text.match_indices("\"RSF") {
                let code = &text[at + 1..at + 7];
                if code.as_bytes()[3..].iter().all(u8::is_ascii_digit) {
                    assert!(rsf::check::explain(code).is_some(), "{code} of {} has no manual", path.display());
                }
            }
        }
    }
}

#[test]
fn rules_between_items_get_their_findings() {
    hold("rules");
}

#[test]
fn what_documents_do_gets_its_findings() {
    hold("proof");
}
