//! The demo's workflow on the demo's sample with the real binary, real pytest, coverage and git: what it leaves behind is what it says.
//!
//! One run is shared by all tests of this file that only look. Needs the Python of `.ci/test` first in PATH.

use crate::loops::{Ran, bundle, commit_all, copy, git, home, json_file, rsf};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

struct Demo {
    _temp: tempfile::TempDir,
    project: PathBuf,
    run: String,
    ran: Ran,
}

fn sample(folder: &Path) -> PathBuf {
    let project = folder.join("a shop 店");
    copy(&home().join("samples/team-loop/project"), &project);
    project
}

fn demo() -> &'static Demo {
    static DEMO: OnceLock<Demo> = OnceLock::new();
    DEMO.get_or_init(|| {
        let temp = tempfile::tempdir().expect("a folder");
        let project = sample(temp.path());
        commit_all(&project, "Sample project");
        let list = json_file(&home().join("samples/index.json"));
        let chosen = &list["samples"]["team-loop"];
        let text = |key: &str| chosen[key].as_str().expect("text").to_owned();
        let (goal, profile) = (text("goal"), text("profile"));
        let repo = project.to_string_lossy().into_owned();
        let ran =
            rsf(&["run", "team-loop", &goal, "--repo", &repo, "--profile", &profile, "--yes", "--format", "json"], temp.path(), |_| {});
        let run = ran
            .events
            .first()
            .and_then(|e| e["run"].as_str())
            .unwrap_or_else(|| panic!("it did not start (is pytest in PATH? see .ci/test): {}", ran.stderr))
            .to_owned();
        Demo { _temp: temp, project, run, ran }
    })
}

impl Demo {
    fn text(&self, path: &str) -> String {
        let path = self.project.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The run's root id.
    fn id(&self) -> &str {
        self.run.strip_suffix("-L").expect("a loop id")
    }

    fn lines(&self, round: u64, role: &str) -> Vec<Value> {
        let text = self.text(&format!("logs/{}/R{round}/{role}.jsonl", self.run));
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }
}

const ROLES: [&str; 6] = ["main", "coder", "reviewer", "tester", "auditor", "publicist"];

/// (lines, covered lines, branches, covered branches) as coverage itself counts them in a clone of the project.
fn measured(project: &Path) -> [u64; 4] {
    let clone = tempfile::tempdir().expect("a folder");
    git(clone.path(), &["clone", "-q", &project.to_string_lossy(), "."]);
    let python = |args: &[&str]| {
        let run = Command::new("python3").args(args).current_dir(clone.path()).env("PYTHONPATH", "src").output().expect("python3 runs");
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stdout));
    };
    python(&["-m", "coverage", "run", "--branch", "--source=src", "-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    python(&["-m", "coverage", "json", "-q", "-o", "out.json"]);
    let totals = json_file(&clone.path().join("out.json"))["totals"].take();
    ["num_statements", "covered_lines", "num_branches", "covered_branches"].map(|key| totals[key].as_u64().expect("a number"))
}

fn counts(report: &Value) -> [u64; 4] {
    ["/lines/total", "/lines/covered", "/branches/total", "/branches/covered"]
        .map(|at| report.pointer(at).and_then(Value::as_u64).expect("a number"))
}

#[test]
fn it_ends_in_success_with_one_attempt_rejected_reverted_and_made_again() {
    let demo = demo();
    let ended = demo.ran.ended();
    assert_eq!((ended["result"].as_str(), demo.ran.code), (Some("SUCCESS"), Some(0)), "{ended}");
    let tags = git(&demo.project, &["tag"]);
    let wanted: Vec<String> =
        (1..=6).map(|n| format!("team-loop/{}/R{n}-{}", demo.run, if n == 2 { "failed" } else { "passed" })).collect();
    assert_eq!(tags.lines().collect::<Vec<_>>(), wanted);

    let patch = demo.text(&format!(".team-loop/patches/{}.patch", demo.id()));
    assert!(patch.contains("+++ b/tests/test_pricing.py") && patch.contains("+    assert True"), "{patch}");
    let rejected = git(&demo.project, &["rev-parse", &format!("{}^{{commit}}", wanted[1])]);
    let log = git(&demo.project, &["log", "--format=%H %s", "--reverse"]);
    let at = log.lines().position(|line| line.starts_with(rejected.trim())).expect("the rejected commit is in the history");
    let reverted = log.lines().nth(at + 1).expect("a commit after it");
    assert!(reverted.contains("[KR-K2.1] revert: failed | round=2"), "{reverted}");
    let (revert, _) = reverted.split_once(' ').expect("a sha");
    assert_eq!(git(&demo.project, &["diff", &format!("{}~1", rejected.trim()), revert, "--", "src", "tests"]), "", "the revert undoes it");
    // The saved patch applies to where it was made.
    let clone = tempfile::tempdir().expect("a folder");
    git(clone.path(), &["clone", "-q", &demo.project.to_string_lossy(), "."]);
    git(clone.path(), &["checkout", "-q", &format!("{}~1", rejected.trim())]);
    git(clone.path(), &["apply", "--check", &demo.project.join(format!(".team-loop/patches/{}.patch", demo.id())).to_string_lossy()]);
    // What the retry was told comes from the memory and from the votes.
    let prompts = demo.text(".team-loop/reports/R3-summary.md");
    assert!(prompts.contains("retry: 1/3") && prompts.contains("result: passed"), "{prompts}");
}

#[test]
fn the_numbers_are_those_an_independent_measurement_gives() {
    let demo = demo();
    let found = measured(&demo.project);
    let report = demo.json(&format!("logs/{}/R6/metrics.json", demo.run));
    assert_eq!(counts(&report["total"]), found);
    let [lines, covered, branches, taken] = found;
    assert!(branches >= 40 && taken * 10 >= branches * 8, "{found:?}");
    let summary = demo.text(".team-loop/reports/session-summary.md");
    assert!(summary.contains(&format!("→{covered}/{lines}, branches 0/{branches}→{taken}/{branches}")), "{summary}");
    let snapshot = demo.json(".team-loop/state-snapshots/6-t1.json");
    let share = |n: u64, of: u64| (n as f64 / of as f64 * 10_000.0).round() / 10_000.0;
    assert_eq!(snapshot["coverage"]["current_branch"].as_f64(), Some(share(taken, branches)));
    assert_eq!(snapshot["coverage"]["current_line"].as_f64(), Some(share(covered, lines)));
    // A rejected attempt's figures do not count.
    let (before, after) = (demo.json(".team-loop/state-snapshots/1-t1.json"), demo.json(".team-loop/state-snapshots/2-t1.json"));
    assert_eq!(before["coverage"], after["coverage"]);
    let rejected = demo.json(&format!("logs/{}/R2/metrics.json", demo.run));
    assert_eq!((rejected["tests"]["total"].as_u64(), rejected["tests"]["passed"].as_u64()), (Some(5), Some(4)));
}

#[test]
fn every_log_record_has_the_fifteen_fields_and_each_round_its_seven_confirmations() {
    let demo = demo();
    let fields = [
        "interaction_id",
        "session_id",
        "round",
        "timestamp",
        "level",
        "agent",
        "intent",
        "message",
        "tools_used",
        "tool_calls",
        "failures",
        "latency_ms",
        "tokens_in",
        "tokens_out",
        "risk_flags",
    ];
    for round in 1..=6 {
        let records: Vec<Value> = ROLES.iter().flat_map(|role| demo.lines(round, role)).collect();
        for record in &records {
            assert_eq!(record.as_object().expect("an object").keys().collect::<Vec<_>>(), fields);
            assert_eq!(record["interaction_id"], demo.id());
            assert_eq!(record["round"], round);
            let session = record["session_id"].as_str().expect("text");
            assert!(session.starts_with(&format!("{}/", demo.id())) && session.contains(&format!("-R{round}")), "{session}");
            assert!(["DEBUG", "INFO", "WARNING", "ERROR"].contains(&record["level"].as_str().expect("text")));
        }
        let confirmed: BTreeSet<&str> = records.iter().filter(|r| r["level"] == "INFO").filter_map(|r| r["agent"].as_str()).collect();
        let wanted: BTreeSet<&str> = ["coder", "reviewer", "tester", "auditor", "publicist", "main_seq3", "main_seq10"].into();
        assert_eq!((confirmed, records.iter().filter(|r| r["level"] == "INFO").count()), (wanted, 7), "round {round}");
        for role in ROLES {
            let people = demo.text(&format!("logs/{}/R{round}/{role}.log", demo.run));
            assert_eq!(people.lines().count(), demo.lines(round, role).len());
        }
    }
    let coder = &demo.lines(2, "coder")[0];
    assert_eq!((coder["tool_calls"].as_u64(), coder["tokens_in"].as_u64()), (Some(4), Some(27_500)), "{coder}");
}

#[test]
fn the_papers_agree_with_each_other() {
    let demo = demo();
    let summary = demo.text(".team-loop/reports/session-summary.md");
    let [mut input, mut output] = [0, 0];
    for round in 1..=6_u64 {
        let report = demo.json(&format!(".team-loop/reports/token-R{round}.json"));
        let of = |value: &Value, key: &str| value[key].as_u64().expect("a number");
        let agents = report["consumption"].as_object().expect("agents");
        let sums = ["in", "out"].map(|key| agents.values().filter_map(|agent| agent[key].as_u64()).sum::<u64>());
        assert_eq!(sums, ["in", "out"].map(|key| of(&report["round_total"], key)), "round {round}");
        assert!(agents.iter().all(|(name, agent)| name == "main_prog" || agent["model"].is_string()));
        input += sums[0];
        output += sums[1];
        assert_eq!([input, output], ["in", "out"].map(|key| of(&report["cumulative"], key)), "round {round}");
        for half in ["t0", "t1"] {
            let snapshot = demo.json(&format!(".team-loop/state-snapshots/{round}-{half}.json"));
            assert_eq!((&snapshot["interaction_id"], &snapshot["round"]), (&json!(demo.id()), &json!(round)));
            assert!(snapshot["kr_id"].is_string());
        }
        let cr = demo.json(&format!(".team-loop/cr/CR-{round}.json"));
        assert_eq!((&cr["cr_id"], &cr["interaction_id"]), (&json!(round), &json!(demo.id())));
        assert_eq!(cr["patch_path"].is_string(), round == 2);
        assert_eq!(
            demo.text(&format!(".team-loop/reports/R{round}-summary.md")),
            demo.text(&format!("logs/{}/R{round}/round-summary.md", demo.run))
        );
        assert_eq!(report["interaction_id"], demo.id());
    }
    let account = summary.lines().find(|line| line.starts_with("- Account:")).expect("an account");
    let numbers: Vec<u64> = account.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let [told_in, told_out, late_in, late_out, all_in, all_out] = numbers[..] else { panic!("{account}") };
    assert_eq!([told_in, told_out], [input, output], "{account}");
    assert_eq!([told_in + late_in, told_out + late_out], [all_in, all_out], "{account}");
    assert!(summary.contains(&format!("({all_in}/{all_out} tokens)")), "{summary}");
    assert!(!demo.project.join(".team-loop/cr/CR-7.json").exists());
    for kind in ["task-unit", "task-result", "verdict-reviewer", "verdict-tester", "verdict-auditor"] {
        let schema = json_file(&home().join(format!("schemas/team-loop/{kind}.json")));
        assert!(schema["required"].as_array().expect("a list").contains(&json!("interaction_id")), "{kind}");
    }
    let state = demo.text(".team-loop/STATE.md");
    assert!(state.contains(demo.id()) && state.contains("terminated") && state.trim_end().ends_with("SUCCESS"), "{state}");
}

#[test]
fn memory_reads_back_as_turtle_and_holds_each_outcome() {
    let demo = demo();
    let parse = |path: &str| -> Vec<[String; 3]> {
        use sophia::api::prelude::*;
        let text = demo.text(path);
        let triples =
            sophia::turtle::parser::turtle::parse_str(&text).collect_triples::<Vec<[sophia::api::term::SimpleTerm<'static>; 3]>>();
        let triples = triples.unwrap_or_else(|error| panic!("{path}: {error}"));
        triples.into_iter().map(|triple| triple.map(|term| format!("{term:?}"))).collect()
    };
    let memory = parse("rdf/business/memory.ttl");
    for (subject, outcome) in [("kr:K1.1_R1", "Passed"), ("kr:K2.1_R2", "Failed"), ("kr:K2.1_R3", "Passed"), ("kr:K3.1_R6", "Passed")] {
        let held = memory.iter().filter(|[s, p, _]| s.contains(subject) && p.contains("outcome")).collect::<Vec<_>>();
        assert!(held.len() == 1 && held[0][2].contains(outcome), "{subject}: {held:?}");
        assert!(memory.iter().any(|[s, p, _]| s.contains(subject) && p.contains("lessons")), "{subject}");
    }
    assert!(!parse("rdf/business/patterns.ttl").is_empty() && !parse("rdf/business/anti-patterns.ttl").is_empty());
    assert!(!parse("rdf/ast/index.ttl").is_empty());
}

#[test]
fn the_repository_is_clean_and_holds_nothing_of_the_run_directory() {
    let demo = demo();
    assert_eq!(git(&demo.project, &["status", "--short", "--untracked-files=all"]), "");
    let tracked = git(&demo.project, &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(tracked.contains("rdf/business/memory.ttl") && tracked.contains("tests/test_pricing.py"), "{tracked}");
    assert!(!tracked.lines().any(|path| path.starts_with(".team-loop") || path.starts_with("logs")), "{tracked}");
    let before = fs::read_to_string(home().join("samples/team-loop/project/.gitignore")).expect("the sample's");
    assert_eq!(demo.text(".gitignore"), before, "what is kept out is no change of the project");
    let excluded = demo.text(".git/info/exclude");
    assert!(excluded.contains("/.team-loop/") && excluded.contains("/logs/"), "{excluded}");
    for line in git(&demo.project, &["log", "--format=%s"]).lines().filter(|line| line.starts_with("[KR-")) {
        assert!(line.contains(" | round=") && line.ends_with(&format!(" | interaction_id={}", demo.id())), "{line}");
    }
}

/// A Python that sees the packages of this one and, as an editable install would make it, the sources of `project`.
fn editable(folder: &Path, project: &Path) -> PathBuf {
    let said = |args: &[&str]| {
        let run = Command::new("python3").args(args).output().expect("python3 runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    };
    let venv = folder.join("venv");
    said(&["-m", "venv", "--without-pip", &venv.to_string_lossy()]);
    let packages = said(&["-c", "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)))"]);
    let name = said(&["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]);
    let site = venv.join("lib").join(name).join("site-packages");
    fs::write(site.join("editable.pth"), format!("{}\n{packages}\n", project.join("src").display())).expect("written");
    venv.join("bin/python")
}

/// Another sample, another script, an editable install and a stray PYTHONPATH: other numbers, and the checkout's sources are the ones tested.
#[test]
fn other_tests_give_other_numbers_and_the_original_tree_is_never_imported() {
    let temp = tempfile::tempdir().expect("a folder");
    let project = sample(temp.path());
    // A sample with more tests than ours.
    let test = project.join("tests/test_lines_before.py");
    fs::write(
        &test,
        "from orders.lines import parse_line\n\n\ndef test_a_line():\n    assert parse_line('apple x 3 @ 120') == ('apple', 3, 120)\n",
    )
    .expect("written");
    commit_all(&project, "Sample project");
    let baseline = measured(&project);
    let mut script = json_file(&home().join("samples/team-loop/script.json"));
    let here = "from pathlib import Path\n\nimport orders\n\n\ndef test_the_tree_under_test_is_imported():\n    assert Path(orders.__file__).resolve().is_relative_to(Path.cwd().resolve())\n";
    let weaker = json!({
        "role": "coder", "turn": 1,
        "reply": { "calls": [{ "tool": "write", "arguments": { "path": "tests/test_infrastructure.py", "text": here } }] }
    });
    let done = json!({ "role": "coder", "turn": 2, "reply": { "json": { "status": "done", "brief": "weaker", "reasoning": "less" } } });
    script["answers"].as_array_mut().expect("answers").splice(0..0, [weaker, done]);
    let workflow = bundle(&temp.path().join("bundle"), &script);
    let python = editable(temp.path(), &project).to_string_lossy().into_owned();
    let settings = temp.path().join("settings.json");
    let providers =
        json!({ "deepseek": null, "zai": null, "scripted": { "wire": "scripted", "models": ["*"], "script": "samples/script.json" } });
    fs::write(&settings, json!({ "config": { "python": python, "providers": providers } }).to_string()).expect("written");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (workflow, repo, settings) = (text(&workflow), text(&project), text(&settings));
    let args =
        ["run", &workflow, "branch coverage ≥ 80%, max_rounds=1", "--repo", &repo, "--config", &settings, "--yes", "--format", "json"];
    let ran = rsf(&args, temp.path(), |_| {});
    assert_eq!(ran.ended()["result"], "MAX_ROUNDS", "{}", ran.stderr);
    let run = ran.events[0]["run"].as_str().expect("a run");
    let report = json_file(&project.join(format!("logs/{run}/R1/metrics.json")));
    let summary = fs::read_to_string(project.join(".team-loop/reports/R1-summary.md")).expect("a summary");
    assert!(summary.contains("reviewer=✓, tester=✓, auditor=✓"), "{summary}");
    assert_eq!((report["tests"]["total"].as_u64(), report["tests"]["passed"].as_u64()), (Some(3), Some(3)), "{report}");
    let start = json_file(&project.join(".team-loop/state-snapshots/1-t0.json"));
    let share = |n: u64, of: u64| (n as f64 / of as f64 * 10_000.0).round() / 10_000.0;
    assert_eq!(start["coverage"]["baseline_branch"].as_f64(), Some(share(baseline[3], baseline[2])));
    assert!(baseline[3] > 0, "this sample begins with another figure than ours: {baseline:?}");
    assert_eq!(counts(&report["total"]), measured(&project));
    // The rounds of the unchanged sample and script gave other figures.
    assert_ne!(counts(&report["total"]), counts(&demo().json(&format!("logs/{}/R1/metrics.json", demo().run))["total"]));
}
