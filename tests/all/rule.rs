//! The rule room from outside: functions and texts as data, bounds on a thread with 2 MB of stack, tables against brute force.

use proptest::prelude::*;
use rsf::model::{HitPolicy, Rule, Table};
use rsf::rule::{CompiledTable, Engine, ExprError, ExprErrorKind, Leaves, Limits, Scope, TableErrorKind, evaluate, reference, to_json};
use serde_json::{Map, Value, json};

fn scope(value: &Value) -> Scope {
    let mut scope = Scope::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        scope.set_json(name, value);
    }
    scope
}

fn compare(shown: &str, case: &Value, got: Result<Value, ExprError>) {
    match (got, case.get("error").and_then(Value::as_str)) {
        (Ok(value), None) => assert_eq!(value.to_string(), case["expect"].to_string(), "{shown}"),
        (Err(error), Some(kind)) => assert_eq!(format!("{:?}", error.kind), kind, "{shown}: {error}"),
        (got, _) => panic!("{shown}: {got:?}"),
    }
}

#[test]
fn functions_give_what_the_table_says() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../cases/rule/functions.json")).unwrap();
    for case in &cases {
        let source = case["expr"].as_str().unwrap();
        let mut engine = Engine::new(Limits::default());
        let got = engine.add_expression(source).and_then(|_| engine.eval(source, &scope(&case["scope"]))).and_then(|value| to_json(&value));
        compare(source, case, got);
    }
    for entry in reference() {
        let name = entry.form.split('(').next().unwrap().rsplit('|').next().unwrap();
        let used = cases.iter().any(|case| case["expr"].as_str().unwrap().contains(name));
        assert!(used, "no case uses {name}");
    }
}

#[test]
fn texts_keep_native_values_and_are_strict() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../cases/rule/texts.json")).unwrap();
    let scope = scope(&json!({"n": 3, "list": [1, null, {"a": true}], "hostile": "{{ n }} <b>"}));
    for case in &cases {
        let source = case["text"].as_str().unwrap();
        let mut engine = Engine::new(Limits::default());
        let got = engine.add_text(source).and_then(|_| engine.text(source, &scope)).and_then(|value| to_json(&value));
        compare(source, case, got);
    }
}

#[test]
fn only_registered_texts_evaluate() {
    let mut engine = Engine::new(Limits::default());
    engine.add_text("{{ 1 }}").unwrap();
    assert_eq!(engine.text("{{ 2 }}", &Scope::new()).unwrap_err().kind, ExprErrorKind::NotInPlan);
    assert_eq!(engine.text("plain", &Scope::new()).unwrap_err().kind, ExprErrorKind::NotInPlan);
    assert_eq!(engine.eval("2", &Scope::new()).unwrap_err().kind, ExprErrorKind::NotInPlan);
    assert_eq!(engine.file("f", &Scope::new()).unwrap_err().kind, ExprErrorKind::NotInPlan);
    assert_eq!(engine.truth("3", &Scope::new()).unwrap_err().kind, ExprErrorKind::NotInPlan);
}

#[test]
fn a_condition_is_true_or_false() {
    let mut engine = Engine::new(Limits::default());
    engine.add_expression("1").unwrap();
    engine.add_expression("1 < 2").unwrap();
    assert_eq!(engine.truth("1", &Scope::new()).unwrap_err().kind, ExprErrorKind::Type);
    assert!(engine.truth("1 < 2", &Scope::new()).unwrap());
}

#[test]
fn names_say_what_a_text_uses_and_where() {
    let mut engine = Engine::new(Limits::default());
    let names = engine.add_expression("config.a.b + items[1:]|sum_by(key) + cost(n, rate=1e3) + inputs['x y'].z").unwrap();
    let found: Vec<&str> = names.variables.keys().map(String::as_str).collect();
    assert_eq!(found, ["config.a.b", "inputs", "items", "key", "n"]);
    assert_eq!(names.variables["config.a.b"], (0, 10));
    assert!(names.functions.contains_key("cost") && names.filters.contains_key("sum_by"));
    let text = "{% for i in things %}{{ i.x }}{{ other.y }}{{ render('a/b.md') }}{% endfor %}{{ i }}";
    let names = engine.add_text(text).unwrap();
    let found: Vec<&str> = names.variables.keys().map(String::as_str).collect();
    assert_eq!(found, ["i", "other.y", "things"]);
    assert!(names.renders.contains_key("a/b.md") && !names.renders_computed);
}

#[test]
fn errors_point_into_the_text() {
    let mut engine = Engine::new(Limits::default());
    let source = "ab + {{ ok }} {{ missing.x }}";
    engine.add_text(source).unwrap();
    let error = engine.text(source, &scope(&json!({"ok": 1}))).unwrap_err();
    let (start, end) = error.range.unwrap();
    assert!(source[start..end].contains("missing"), "{error:?}");
    engine.add_text("{{ 1 + nope }}").unwrap();
    let error = engine.text("{{ 1 + nope }}", &Scope::new()).unwrap_err();
    assert_eq!(error.source, "{{ 1 + nope }}");
    let (start, end) = error.range.unwrap();
    assert!("{{ 1 + nope }}"[start..end].contains("nope"), "{error:?}");
}

#[test]
fn files_render_each_other_with_the_present_scope() {
    let mut engine = Engine::new(Limits::default());
    engine.add_file("part.html", "<{{ kr }}&{{ goal }}>\n").unwrap();
    engine.add_file("all.md", "head\n{% for kr in krs %}\n{{ render('part.html') }}{% endfor %}\ntail\n").unwrap();
    let scope = scope(&json!({"krs": [1, 2], "goal": "<g>"}));
    assert_eq!(engine.file("all.md", &scope).unwrap(), "head\n<1&<g>>\n<2&<g>>\ntail\n");
    assert_eq!(engine.add_file("part.html", "other").unwrap_err().kind, ExprErrorKind::Other);
    engine.add_file("part.html", "<{{ kr }}&{{ goal }}>\n").unwrap();
    engine.add_file("bad.md", "\n{{ render('part.html') }}").unwrap();
    let error = engine.file("bad.md", &scope).unwrap_err();
    assert_eq!((error.kind, error.source.as_str(), error.range), (ExprErrorKind::Undefined, "part.html", Some((4, 6))));
}

#[test]
fn trees_are_evaluated_leaf_by_leaf() {
    let mut engine = Engine::new(Limits::default());
    let tree = json!({"{{ key }}": ["{{ n }}", 4, {"a/b": "v{{ n }}"}], "z": null});
    assert!(engine.add_tree(&tree, Leaves::Templates).is_empty());
    let got = engine.tree(&tree, Leaves::Templates, &scope(&json!({"n": 1}))).unwrap();
    assert_eq!(got.to_string(), json!({"{{ key }}": [1, 4, {"a/b": "v1"}], "z": null}).to_string());
    let failed = engine.add_tree(&json!({"a/b": ["1", "1 +"]}), Leaves::Expressions);
    assert_eq!(failed.iter().map(|(at, error)| (at.as_str(), error.kind)).collect::<Vec<_>>(), [("/a~1b/1", ExprErrorKind::Syntax)]);
}

#[test]
fn a_child_scope_leaves_its_parent_alone() {
    let mut outer = scope(&json!({"a": 1, "b": 2}));
    let mut inner = outer.child();
    inner.set_json("a", &json!(3));
    outer.set_json("b", &json!(4));
    let number = |scope: &Scope, name: &str| scope.get(name).map(|value| to_json(&value).unwrap());
    assert_eq!((number(&inner, "a"), number(&inner, "b")), (Some(json!(3)), Some(json!(2))));
    assert_eq!((number(&outer, "a"), number(&outer, "b")), (Some(json!(1)), Some(json!(4))));
}

/// Runs on a thread with the stack that test and worker threads have.
fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(work).unwrap().join().unwrap()
}

fn render(source: String) -> Option<ExprErrorKind> {
    on_small_stack(move || {
        let mut engine = Engine::new(Limits::default());
        let added = engine.add_file("f", &source).and_then(|_| engine.file("f", &scope(&json!({"x": [1, 2, 3]}))));
        added.err().map(|error| error.kind)
    })
}

fn print(expression: &str) -> Option<ExprErrorKind> {
    render(format!("{{{{ {expression} }}}}"))
}

#[test]
fn chains_as_long_as_allowed_survive_and_longer_ones_are_refused() {
    let chains: [(&str, &str, usize); 9] = [
        ("1", "+1", 1),
        ("x", "|list", 1),
        ("1", "<2", 1),
        ("x", "[0:]", 1),
        ("x", "~x", 1),
        ("x", "+x", 1),
        ("", "-", 1),
        ("", "not ", 1),
        ("1", " if true else 1", 2),
    ];
    for (start, link, operators) in chains {
        let tail = if start.is_empty() { "1" } else { "" };
        let chain = |times: usize| format!("{start}{}{tail}", link.repeat(times));
        assert_eq!(print(&chain(390 / operators)), None, "{link}");
        assert_eq!(print(&chain(410 / operators)), Some(ExprErrorKind::TooLarge), "{link}");
    }
    assert_eq!(print(&("[".repeat(64) + &"]".repeat(64))), None);
    assert_eq!(print(&("[".repeat(65) + &"]".repeat(65))), Some(ExprErrorKind::TooLarge));
    assert_eq!(print(&format!("'{}'", "x".repeat(5000))), Some(ExprErrorKind::TooLarge));
    assert_eq!(render("x".repeat(300_000)), Some(ExprErrorKind::TooLarge));
}

#[test]
fn statements_and_values_do_not_nest_without_end() {
    assert_eq!(render("{% if true %}".repeat(40) + &"{% endif %}".repeat(40)), None);
    assert_eq!(render("{% if true %}".repeat(41) + &"{% endif %}".repeat(41)), Some(ExprErrorKind::TooLarge));
    assert_eq!(render("{% if false %}".to_owned() + &"{% elif false %}".repeat(5000) + "{% endif %}"), Some(ExprErrorKind::TooLarge));
    let nested = format!("{{% set x = {}x{} %}}", "[".repeat(60), "]".repeat(60));
    assert_eq!(render(nested.repeat(6) + "{{ x == [x[0]] }}{{ x|length }}"), None);
    assert_eq!(render(nested.repeat(7)), Some(ExprErrorKind::TooLarge));
    assert_eq!(render("{% set x = [x, x] %}".repeat(20) + "{{ x }}"), Some(ExprErrorKind::TooLarge));
    assert_eq!(render("{% set x = [x, x] %}".repeat(21) + "{{ x ~ '' }}"), Some(ExprErrorKind::TooLarge));
    assert_eq!(render("{% set x = {'a': x} %}".repeat(60) + "{{ x }}"), None);
}

#[test]
fn recursion_and_growth_end() {
    let too_large = Some(ExprErrorKind::TooLarge);
    let fuel = Some(ExprErrorKind::Fuel);
    assert_eq!(render("{% macro m(n) %}{{ m(n+1) }}{% endmacro %}{{ m(0) }}".into()), too_large);
    assert_eq!(render("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}".into()), too_large);
    assert_eq!(render("{{ render('f') }}".into()), too_large);
    let both = "{% macro m(n) %}{% if n > 9 %}{{ render('f') }}{% else %}{{ m(n+1) }}{% endif %}{% endmacro %}{{ m(0) }}";
    assert_eq!(render(both.into()), too_large);
    assert_eq!(render("{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}".into()), fuel);
    assert_eq!(print("'x' * 99000000"), fuel);
    assert_eq!(print("'a'|indent(99000000, true)"), fuel);
    assert_eq!(print("('x'*10000)|replace('x', 'y'*100000)"), fuel);
    assert_eq!(print("range(100000)|map('string')|join('y'*100000)"), fuel);
    // A value that stands in many places costs nothing and is as large as their number; comparing or writing it pays no fuel.
    let unknown = Some(ExprErrorKind::Unknown);
    assert_eq!(print("x|batch(100000000, 'x')|list|length"), unknown);
    assert_eq!(print("range(9)|map(attribute='q', default=x)|list"), unknown);
    let list = Some(ExprErrorKind::Type);
    for source in ["([[[1]*1000]*1000]*1000) ~ ''", "1000 * [1]", "2 * 3 * [1]|list", "x * 100000 == x", "(1, 2) * 3"] {
        assert_eq!(print(source), list, "{source}");
    }
    assert_eq!(print("2 * 3 ** 2 * -1.5|abs == 27 and 'ab' * 2 == 'abab' and [2 * 2, 3]|sum == 7"), None);
    assert_eq!(print("range(1000000000)"), Some(ExprErrorKind::Type));
}

fn rule(id: &str, priority: i64, when: Option<&str>, then: Value) -> Rule {
    Rule { id: id.into(), priority, when: when.map(str::to_owned), then, at: String::new() }
}

fn table(hit_policy: HitPolicy, rules: Vec<Rule>) -> Table {
    let inputs = json!({"n": {"type": "integer", "minimum": 0}}).as_object().unwrap().clone();
    Table { hit_policy, inputs, rules, ..Table::default() }
}

fn decide(table: &Table, inputs: Value) -> Result<Value, (TableErrorKind, Option<String>)> {
    let mut engine = Engine::new(Limits::default());
    let compiled = CompiledTable::compile(table, &mut engine).map_err(|faults| (faults[0].kind, faults[0].row.clone()))?;
    let inputs: Map<String, Value> = inputs.as_object().unwrap().clone();
    evaluate(&engine, &compiled, &inputs).map_err(|error| (error.kind, error.row))
}

fn rows() -> Vec<Rule> {
    vec![
        rule("small", 1, Some("n > 0"), json!({"a": "{{ n + 1 }}"})),
        rule("big", 5, Some("n > 10"), json!({"a": "big", "id": "own"})),
        rule("also", 5, Some("n > 10"), json!("x{{ n }}")),
    ]
}

#[test]
fn policies_choose_as_the_language_says() {
    use HitPolicy::{Any, Collect, First, Priority, Unique};
    let small = json!({"a": 2, "id": "small"});
    for policy in [Unique, First, Priority, Any] {
        assert_eq!(decide(&table(policy, rows()), json!({"n": 1})), Ok(small.clone()), "{policy:?}");
        assert_eq!(decide(&table(policy, rows()), json!({"n": 0})), Ok(Value::Null), "{policy:?}");
    }
    let n = json!({"n": 11});
    assert_eq!(decide(&table(First, rows()), n.clone()), Ok(json!({"a": 12, "id": "small"})));
    assert_eq!(decide(&table(Priority, rows()), n.clone()), Ok(json!({"a": "big", "id": "own"})));
    assert_eq!(decide(&table(Collect, rows()), n.clone()), Ok(json!([{"a": 12, "id": "small"}, {"a": "big", "id": "own"}, "x11"])));
    assert_eq!(decide(&table(Collect, rows()), json!({"n": 0})), Ok(json!([])));
    assert_eq!(decide(&table(Unique, rows()), n.clone()), Err((TableErrorKind::Matches, Some("big".into()))));
    assert_eq!(decide(&table(Any, rows()), n.clone()), Err((TableErrorKind::Matches, Some("big".into()))));
    let agreeing = vec![rule("p", 0, Some("n > 1"), json!({"a": 1})), rule("q", 0, None, json!({"a": 1}))];
    assert_eq!(decide(&table(Any, agreeing), n), Ok(json!({"a": 1, "id": "p"})));
}

#[test]
fn faults_of_tables_name_their_row() {
    let first = |when: &str, then: Value| table(HitPolicy::First, vec![rule("r", 0, Some(when), then)]);
    let row = || Some("r".to_owned());
    assert_eq!(decide(&first("n > 'x'|length + m", json!(1)), json!({"n": 1})), Err((TableErrorKind::Condition, row())));
    assert_eq!(decide(&first("n / (n - n) > 1", json!(1)), json!({"n": 1})), Err((TableErrorKind::Condition, row())));
    assert_eq!(decide(&first("n", json!(1)), json!({"n": 1})), Err((TableErrorKind::Condition, row())));
    assert_eq!(decide(&first("true", json!(["{{ m }}"])), json!({"n": 1})), Err((TableErrorKind::Result, row())));
    assert_eq!(decide(&first("true", json!(1)), json!({})), Err((TableErrorKind::Input, None)));
    assert_eq!(decide(&first("true", json!(1)), json!({"n": -1})), Err((TableErrorKind::Input, None)));
    assert_eq!(decide(&first("true", json!(1)), json!({"n": 1, "m": 1})), Err((TableErrorKind::Input, None)));
    let twins = table(HitPolicy::First, vec![rule("r", 0, None, json!(1)), rule("r", 0, None, json!(1))]);
    assert_eq!(decide(&twins, json!({"n": 1})), Err((TableErrorKind::Id, row())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_short_text_panics(source in "([\\[\\](){}%#|.,:~*/+<>=! \n'\"0-9a-z_é-]|\\{\\{|\\}\\}|\\{%|%\\}| not | in | is | if | else | for | set |x|raw|endraw|list){0,30}") {
        let mut engine = Engine::new(Limits { fuel: 10_000, ..Limits::default() });
        let scope = scope(&json!({"x": [1, {"a": "b"}], "a": 1.5}));
        if engine.add_expression(&source).is_ok() {
            let _ = engine.eval(&source, &scope);
        }
        if engine.add_text(&source).is_ok() {
            let _ = engine.text(&source, &scope);
        }
        if engine.add_file("f", &source).is_ok() {
            let _ = engine.file("f", &scope);
        }
    }

    #[test]
    fn priority_is_the_highest_match_and_the_first_of_equals(rows in prop::collection::vec((0_i64..4, 0_u32..10, 2_u32..10), 0..8), n in 0_u32..12) {
        let rules = rows.iter().enumerate().map(|(index, (priority, from, width))| {
            rule(&index.to_string(), *priority, Some(&format!("n >= {from} and n < {}", from + width)), json!(index))
        });
        let mut best: Option<(i64, usize)> = None;
        for (index, (priority, from, width)) in rows.iter().enumerate() {
            if (*from..from + width).contains(&n) && best.is_none_or(|(highest, _)| *priority > highest) {
                best = Some((*priority, index));
            }
        }
        let expected = best.map_or(Value::Null, |(_, index)| json!(index));
        prop_assert_eq!(decide(&table(HitPolicy::Priority, rules.collect()), json!({"n": n})), Ok(expected));
    }
}
