//! Reports and sources as tools see them: real reports of pytest and coverage.py, torn ones, and none at all.

use crate::desk::{MemoryDesk, case, case_text};
use rsf::model::tool::{ToolError, ToolErrorKind};
use rsf::tool::{rdf_index, reports_coverage, reports_tests, syntax_query};
use serde_json::{Value, json};

// ── syntax ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

fn syntax(query: &str) -> Result<Value, ToolError> {
    let desk = MemoryDesk::new().with("tests/test_sample.py", case("syntax/test_sample.py")).with("tests/bad.py", "def (:\n\u{0}");
    syntax_query::run(&desk, &json!({ "language": "python", "query": query, "files": ["tests/**/*.py"] }))
}

#[test]
fn queries_of_a_workflow_find_what_they_should() {
    let found = syntax(&case_text("syntax/no-assert.scm")).unwrap();
    let names: Vec<&str> = found["matches"].as_array().unwrap().iter().filter_map(|m| m["captures"]["name"].as_str()).collect();
    assert_eq!(names, ["test_without_assert", "test_method_without"]);
    let found = syntax(&case_text("syntax/constant-assert.scm")).unwrap();
    let lines: Vec<u64> = found["matches"].as_array().unwrap().iter().filter_map(|m| m["line"].as_u64()).collect();
    assert_eq!(lines, [14, 15, 20]);
    assert_eq!(found["matches"][0]["path"], "tests/test_sample.py");
}

#[test]
fn queries_that_are_wrong_say_where() {
    let cases = [
        ("(function_definition", "1:"),
        ("\n  (no_such_node)", "2:4"),
        ("(call function: (identifier) @f (#match? @f \"(\"))", "1:"),
        ("((identifier) @f (#nope? @f \"x\"))", "#nope?"),
        ("((identifier) @f (#lacks? @f \"no_such_node\"))", "no_such_node"),
        ("((identifier) @f (#lacks? @f \"call\" \"(\"))", "#lacks?"),
    ];
    for (query, words) in cases {
        let fault = syntax(query).expect_err(query);
        assert_eq!(fault.kind, ToolErrorKind::Arguments);
        assert!(fault.message.contains(words), "{query}: {}", fault.message);
    }
    let desk = MemoryDesk::new();
    let fault = syntax_query::run(&desk, &json!({ "language": "cobol", "query": "(x)", "files": ["*"] })).unwrap_err();
    assert!(fault.message.contains("known: python"));
}

#[test]
fn deep_sources_end() {
    let deep = format!("x = {}1{}\n", "(".repeat(20_000), ")".repeat(20_000));
    let nested: String = (0..300).map(|n| format!("{}def f{n}():\n", " ".repeat(n))).collect();
    let desk = MemoryDesk::new().with("deep.py", deep).with("nested.py", nested);
    let query = json!({ "language": "python", "query": "(parenthesized_expression) @p", "files": "*.py", "max": 5 });
    assert_eq!(syntax_query::run(&desk, &query).unwrap()["truncated"], true);
    assert!(rdf_index::run(&desk, &json!({})).unwrap()["symbols"].as_u64().unwrap() > 20);
}

// ── reports ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

fn tests_of(name: &str) -> Value {
    reports_tests::run(&MemoryDesk::new(), &json!({ "text": case_text(&format!("reports/{name}")) })).unwrap()
}

fn counts(report: &Value) -> [u64; 5] {
    ["total", "passed", "failed", "errors", "skipped"].map(|name| report[name].as_u64().unwrap())
}

#[test]
fn tests_are_counted_from_their_cases() {
    let report = tests_of("junit.xml");
    assert_eq!(report["readable"], true);
    assert_eq!(counts(&report), [14, 6, 4, 2, 2]);
    let of = |name: &str| report["tests"].as_array().unwrap().iter().find(|t| t["name"] == name).cloned().unwrap_or_default();
    assert_eq!(of("tests.test_core::test_both")["outcome"], "failed");
    assert_eq!(of("tests.test_core::test_teardown")["outcome"], "error");
    assert_eq!(of("tests.test_core::test_xfail")["outcome"], "skipped");
    assert_eq!(of("tests.test_core::test_xpass_strict")["outcome"], "failed");
    let message = of("tests.test_core::test_fails")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("AssertionError: a < b & \"c\"\nassert 1.0 == 2"), "{message}");
    assert_eq!(counts(&tests_of("junit-ok.xml")), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&tests_of("junit-none.xml")), [0, 0, 0, 0, 0]);
    assert_eq!(counts(&tests_of("junit-missing.xml")), [1, 0, 0, 1, 0]);
    let exit = tests_of("junit-exit.xml");
    assert_eq!((counts(&exit), exit["notes"].as_array().map(Vec::len)), ([0; 5], Some(1)));
    let foreign = tests_of("junit-foreign.xml");
    assert_eq!(counts(&foreign), [3, 1, 1, 0, 1]);
    assert_eq!(foreign["tests"][1]["message"], "&b;", "entities are not expanded");
}

#[test]
fn no_report_is_a_result() {
    for (name, words) in [("junit-torn.xml", ""), ("junit-not-junit.xml", "<html>"), ("coverage-line.json", "no JUnit")] {
        let report = tests_of(name);
        assert_eq!((&report["readable"], counts(&report)), (&json!(false), [0; 5]), "{name}");
        let reason = report["reason"].as_str().unwrap();
        assert!(!reason.is_empty() && (words.is_empty() || reason.contains(words) || reason.contains("no element")), "{name}: {reason}");
    }
    for text in [Value::Null, json!(""), json!(" \n")] {
        let report = reports_tests::run(&MemoryDesk::new(), &json!({ "text": text })).unwrap();
        assert_eq!((&report["readable"], &report["total"]), (&json!(false), &json!(0)));
        let report = reports_coverage::run(&MemoryDesk::new(), &json!({ "text": text })).unwrap();
        assert_eq!((&report["readable"], &report["total"]["lines"]["total"]), (&json!(false), &json!(0)));
    }
    assert_eq!(reports_tests::run(&MemoryDesk::new(), &json!({ "text": 3 })).unwrap_err().kind, ToolErrorKind::Arguments);
}

fn coverage_of(name: &str) -> Value {
    reports_coverage::run(&MemoryDesk::new(), &json!({ "text": case_text(&format!("reports/{name}")) })).unwrap()
}

#[test]
fn three_formats_of_one_run_agree() {
    let json_report = coverage_of("coverage-branch.json");
    assert_eq!(json_report["format"], "coverage.py");
    assert_eq!(json_report["has_branches"], true);
    assert_eq!(json_report["total"]["branches"], json!({ "total": 6, "covered": 4, "partial": 2 }));
    assert_eq!(json_report["total"]["excluded"], 2);
    let core = &json_report["files"]["src/calc/core.py"];
    assert_eq!((&core["missing_lines"], &core["partial_lines"]), (&json!([6]), &json!([5, 13])));
    let theirs: Value = serde_json::from_slice(&case("reports/coverage-branch.json")).unwrap();
    for (ours, name) in [
        ("/total/lines/total", "num_statements"),
        ("/total/lines/covered", "covered_lines"),
        ("/total/branches/total", "num_branches"),
        ("/total/branches/covered", "covered_branches"),
    ] {
        assert_eq!(json_report.pointer(ours), theirs.pointer(&format!("/totals/{name}")), "{name}");
    }
    for other in ["coverage-branch.lcov", "coverage-branch.xml"] {
        let report = coverage_of(other);
        assert_eq!(report["has_branches"], true, "{other}");
        let core = &report["files"]["src/calc/core.py"];
        assert_eq!((&core["missing_lines"], &core["partial_lines"]), (&json!([6]), &json!([5, 13])), "{other}");
        assert_eq!(core["branches"], json!({ "total": 6, "covered": 4, "partial": 2 }), "{other}");
        assert_eq!(core["lines"], json!({ "total": 10, "covered": 9 }), "{other}");
    }
}

#[test]
fn without_branch_measurement_no_branch_is_counted() {
    for name in ["coverage-line.json", "coverage-line.lcov", "coverage-line.xml"] {
        let report = coverage_of(name);
        assert_eq!((&report["readable"], &report["has_branches"]), (&json!(true), &json!(false)), "{name}");
        assert_eq!(report["total"]["branches"]["total"], 0, "{name}");
        assert!(report["total"]["lines"]["total"].as_u64().unwrap() > 0, "{name}");
        assert_eq!(report["files"]["src/calc/core.py"]["missing_lines"], json!([6]), "{name}");
    }
}

#[test]
fn reports_of_other_writers() {
    let windows = coverage_of("coverage-windows-format2.json");
    assert_eq!(windows["files"]["src/calc/core.py"]["partial_lines"], json!([5, 13]), "{windows}");
    let merged = coverage_of("lcov-merged.lcov");
    assert_eq!(
        merged["files"],
        json!({ "src/lib.c": {
        "lines": { "total": 2, "covered": 2 }, "branches": { "total": 3, "covered": 1, "partial": 2 }, "excluded": 0,
        "missing_lines": [], "partial_lines": [1] } })
    );
    let methods = coverage_of("cobertura-methods.xml");
    assert_eq!(methods["files"]["a/b.cs"]["lines"], json!({ "total": 3, "covered": 2 }));
    assert_eq!(methods["has_branches"], false);
    for (name, words) in [("coverage-torn.json", "JSON"), ("lcov-torn.lcov", "cut off"), ("junit.xml", "Cobertura")] {
        let report = coverage_of(name);
        assert_eq!(report["readable"], false, "{name}");
        assert!(report["reason"].as_str().unwrap().contains(words), "{name}: {report}");
    }
    let fault = reports_coverage::run(&MemoryDesk::new(), &json!({ "text": "x", "format": "gcov" })).unwrap_err();
    assert!(fault.message.contains("known"));
}

// ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn results_are_what_the_descriptors_say() {
    for name in ["junit.xml", "junit-torn.xml"] {
        crate::desk::holds("reports.tests", &tests_of(name));
    }
    for name in ["coverage-branch.json", "coverage-line.lcov", "coverage-branch.xml", "coverage-torn.json"] {
        crate::desk::holds("reports.coverage", &coverage_of(name));
    }
    crate::desk::holds("syntax.query", &syntax("(identifier) @i").unwrap());
}

#[test]
fn any_damage_ends_in_an_answer() {
    for name in ["junit-foreign.xml", "coverage-line.lcov", "cobertura-methods.xml", "coverage-torn.json"] {
        let whole = case_text(&format!("reports/{name}"));
        for (at, _) in whole.char_indices() {
            for odd in ["", "<", "&", "\"", "\u{0}", "é", "-", "99999999999999999999"] {
                let damaged = format!("{}{odd}{}", &whole[..at], if at % 2 == 0 { &whole[at..] } else { "" });
                for result in [
                    reports_tests::run(&MemoryDesk::new(), &json!({ "text": damaged })),
                    reports_coverage::run(&MemoryDesk::new(), &json!({ "text": damaged })),
                ] {
                    assert!(result.is_ok_and(|r| r["readable"].is_boolean()), "{name}: {damaged}");
                }
            }
        }
    }
}
