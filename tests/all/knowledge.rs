//! RDF as tools see it: Turtle files good and bad, terms that try to be syntax, queries that cost too much.

use crate::desk::{MemoryDesk, case, case_text};
use rsf::knowledge::{Bounds, Graph, Node, QueryErrorKind, ReadErrorKind, ask, read, rescue};
use rsf::model::tool::{ToolError, ToolErrorKind};
use rsf::tool::{rdf_index, rdf_insert, rdf_query};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn literals(graph: &Graph) -> Vec<String> {
    let texts = graph.iter().filter_map(|t| match &t.object {
        Node::Literal(literal) => Some(literal.text.clone()),
        _ => None,
    });
    texts.collect()
}

fn insert(desk: &MemoryDesk, file: &str, triples: Value) -> Result<Value, ToolError> {
    rdf_insert::run(desk, &json!({ "file": file, "prefixes": { "mem": "urn:mem:", "m": "urn:m:" }, "triples": triples }))
}

fn select(desk: &MemoryDesk, query: &str, bind: Value) -> Result<Value, ToolError> {
    rdf_query::run(desk, &json!({ "query": query, "files": ["**/*.ttl"], "bind": bind }))
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn good_files_give_their_statements() {
    let counts = [
        ("ok-bnodes", 3),
        ("ok-comment-at-end", 1),
        ("ok-dotted-local", 1),
        ("ok-foreign-prefix", 1),
        ("ok-no-final-newline", 1),
        ("ok-prefix-redefined", 2),
        ("decide-bom-crlf", 1),
        ("ok-escapes", 1),
        ("ok-memory", 5),
    ];
    for (name, count) in counts {
        let graph = read(name, &case(&format!("rdf/{name}.ttl"))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(graph.len(), count, "{name}");
    }
    let escapes = read("", &case("rdf/ok-escapes.ttl")).unwrap();
    assert_eq!(literals(&escapes), ["a\r\t\u{7}\u{1F600}\u{2028}\u{FEFF}\\ \""]);
}

#[test]
fn bad_files_are_refused_with_their_place() {
    let places = [
        ("bad-iri-space", "bad-iri-space:1:"),
        ("bad-local-ends-dot-dash", "bad-local-ends-dot-dash:2:"),
        ("bad-raw-newline-literal", "bad-raw-newline-literal:1:"),
        ("bad-sample-shape", "bad-sample-shape:1:"),
        ("bad-torn-tail", "bad-torn-tail:3:"),
        ("bad-merge-marks", "bad-merge-marks:1:"),
        ("bad-undefined-prefix", "bad-undefined-prefix:1:"),
        ("bad-relative-iri", "bad-relative-iri:2:2:"),
        ("bad-latin1", "offset 34"),
    ];
    for (name, place) in places {
        let fault = read(name, &case(&format!("rdf/{name}.ttl"))).expect_err(name);
        assert_eq!(fault.kind, ReadErrorKind::Broken, "{name}");
        assert!(fault.message.contains(place), "{name}: {}", fault.message);
    }
}

#[test]
fn any_damage_ends_in_an_answer() {
    let names = ["ok-memory", "ok-escapes", "ok-foreign-prefix", "bad-torn-tail"];
    let odd = [b'"', b'<', b'\\', b'[', b'.', 0, 0xff, b'@', b'\n'];
    for name in names {
        let whole = case(&format!("rdf/{name}.ttl"));
        for at in 0..whole.len() {
            let _ = rescue(name, &whole[..at]);
            for byte in odd {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                let _ = rescue(name, &damaged);
                damaged.insert(at, byte);
                let _ = rescue(name, &damaged);
            }
        }
    }
    for odd in [
        "<urn:s> <urn:p> \"\\u00é0\" .",
        "<urn:\\U0000é> <urn:p> 1 .",
        "<urn:s> <urn:p> \"\\u000é\" .",
        "<urn:s> <urn:p> \"\\",
        "<urn:s> <urn:p> \"",
        "<urn:s> <urn:p> 1 . <\\",
    ] {
        let fault = read("odd", odd.as_bytes()).expect_err(odd);
        assert_eq!(fault.kind, ReadErrorKind::Broken, "{odd}");
    }
    for deep in ["(", "[ <urn:p> ", "<urn:s> <urn:p> \"", "<<( ", "@prefix "] {
        let _ = rescue("deep", deep.repeat(10_000).as_bytes());
    }
}

// ── inserting ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn what_stands_in_a_file_keeps_its_bytes() {
    for name in [
        "ok-bnodes",
        "ok-comment-at-end",
        "ok-dotted-local",
        "ok-foreign-prefix",
        "ok-no-final-newline",
        "ok-prefix-redefined",
        "decide-bom-crlf",
        "ok-memory",
    ] {
        let old = case(&format!("rdf/{name}.ttl"));
        let desk = MemoryDesk::new().with("rdf/f.ttl", old.clone());
        let triples = json!([
            ["mem:K2.1_R3", "mem:lesson", {"value": "He said \"no\" \\ then\nleft\r\t\u{7}"}],
            ["<kr:K2.>", "mem:seenIn", [["mem:round", {"value": 3}], ["mem:of", [["mem:name", {"value": "deep", "lang": "en"}]]]]],
        ]);
        let result = insert(&desk, "rdf/f.ttl", triples.clone()).unwrap();
        assert_eq!(result["added"], 2, "{name}");
        assert_eq!(result["set_aside"], Value::Null);
        let new = desk.bytes("rdf/f.ttl");
        assert!(new.starts_with(&old), "{name}: the old bytes changed");
        let (before, after) = (read("old", &old).unwrap(), read("new", &new).unwrap());
        assert_eq!(after.len(), before.len() + 5, "{name}");
        assert!(after.iter().any(|t| t.subject == Node::Iri("urn:mem:K2.1_R3".to_owned())), "{name}: our statement has another subject");
        assert!(literals(&after).contains(&"He said \"no\" \\ then\nleft\r\t\u{7}".to_owned()));
        let again = insert(&desk, "rdf/f.ttl", triples).unwrap();
        assert_eq!(again["added"], 0, "{name}: the same statements were added twice");
        assert_eq!(desk.bytes("rdf/f.ttl"), new);
    }
}

#[test]
fn a_new_file_is_short_and_sorted() {
    let desk = MemoryDesk::new();
    let triples = json!([
        ["mem:b", "mem:round", {"value": 3}],
        ["mem:a", "a", "mem:Entry"],
        ["mem:b", "mem:done", {"value": true}],
        ["mem:b", "mem:rate", {"value": 0.5}],
        ["mem:b", "mem:file", "<src/a b>"],
    ]);
    let refused = insert(&desk, "f.ttl", triples).unwrap_err();
    assert_eq!(refused.kind, ToolErrorKind::Arguments);
    assert!(refused.message.starts_with("triple 5") && refused.message.contains("absolute"), "{}", refused.message);
    let triples = json!([
        ["mem:b", "mem:round", {"value": 3}],
        ["mem:a", "a", "mem:Entry"],
        ["mem:b", "mem:done", {"value": true}],
        ["mem:b", "mem:rate", {"value": 0.5}],
        ["mem:b", "mem:on", {"value": "2026-06-28", "type": "xsd:date"}],
        ["mem:b", "mem:of", "mem:-K"],
        ["mem:b", "mem:of", "mem:K/1"],
        ["mem:b", "mem:of", "<urn:file:src/a b/{x}|^.py>"],
    ]);
    insert(&desk, "f.ttl", triples).unwrap();
    assert_eq!(desk.text("f.ttl"), case_text("rdf/expected-new-file.ttl"));
}

#[test]
fn a_broken_file_is_set_aside_and_what_is_whole_survives() {
    for (name, rescued) in
        [("bad-torn-tail", 1), ("bad-merge-marks", 0), ("bad-sample-shape", 0), ("bad-latin1", 0), ("bad-undefined-prefix", 0)]
    {
        let old = case(&format!("rdf/{name}.ttl"));
        let desk = MemoryDesk::new().with("rdf/f.ttl", old.clone());
        let result = insert(&desk, "rdf/f.ttl", json!([["mem:k9", "mem:lesson", {"value": "new"}]])).unwrap();
        let aside = result["set_aside"].as_str().expect("set aside").to_owned();
        assert!(aside.starts_with("rdf/f.ttl.bad-"), "{aside}");
        assert_eq!(desk.bytes(&aside), old, "{name}: the old bytes are lost");
        let graph = read("f.ttl", &desk.bytes("rdf/f.ttl")).unwrap();
        assert_eq!(graph.len(), rescued + 1, "{name}");
        assert!(result["notes"][0].as_str().unwrap().contains("set aside"), "{result}");
    }
}

#[test]
fn terms_are_never_guessed() {
    let desk = MemoryDesk::new();
    let cases = [
        (json!([["kr:K1", "mem:p", {"value": 1}]]), "prefix `kr`"),
        (json!([["mem:a", "mem:p", "no colon"]]), "is no term"),
        (json!([["_:b0", "mem:p", "mem:c"]]), "blank nodes"),
        (json!([[{"value": "x"}, "mem:p", "mem:c"]]), "subject"),
        (json!([["mem:a", {"value": "x"}, "mem:c"]]), "predicate"),
        (json!([["mem:a", "mem:p"]]), "[subject, predicate, object]"),
        (json!([["mem:a", "mem:p", null]]), "null"),
        (json!([["mem:a", "mem:p", {"value": "x", "lang": "en\" . <urn:evil> <urn:p> <urn:o> ."}]]), "language tag"),
        (json!([["<urn:a> <urn:p> <urn:o", "mem:p", {"value": "x"}]]), "isn't closed"),
        (json!([["mem:a", "mem:p", {"value": [1]}]]), "literal"),
    ];
    for (triples, words) in cases {
        let fault = insert(&desk, "f.ttl", triples.clone()).expect_err("a wrong term");
        assert_eq!(fault.kind, ToolErrorKind::Arguments);
        assert!(fault.message.contains(words), "{triples}: {}", fault.message);
    }
    let odd = rdf_insert::run(&desk, &json!({ "file": "f.ttl", "prefixes": { "3d": "urn:x:" }, "triples": [] })).unwrap_err();
    assert!(odd.message.contains("no legal prefix"));
    assert!(desk.bytes("f.ttl").is_empty());
    // What tries to be syntax is only text, and NUL is replaced with a note.
    let evil = "x\" . <urn:evil> <urn:p> <urn:o> . # \u{0}\\";
    let result =
        insert(&desk, "f.ttl", json!([["mem:a", "mem:p", {"value": evil}], ["<urn:a> . <urn:b>", "mem:p", {"value": "\\"}]])).unwrap();
    assert_eq!(result["notes"].as_array().map(Vec::len), Some(1));
    let graph = read("f.ttl", &desk.bytes("f.ttl")).unwrap();
    assert_eq!(graph.len(), 2);
    assert!(literals(&graph).contains(&evil.replace('\0', "\u{fffd}")));
}

// ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

fn store() -> MemoryDesk {
    MemoryDesk::new()
        .with("a.ttl", case("rdf/ok-memory.ttl"))
        .with("b.ttl", case("rdf/bad-torn-tail.ttl"))
        .with("c.ttl", case("rdf/query-data.ttl"))
}

#[test]
fn values_are_bound_never_pasted() {
    let desk = store();
    let query = "SELECT ?k ?name WHERE { ?k <urn:q:name> ?name FILTER(?name = ?wanted) }";
    let one = select(&desk, query, json!({ "wanted": { "value": "one" } })).unwrap();
    assert_eq!(one["rows"], json!([{ "k": "urn:q:1", "name": "one" }]));
    let evil = select(&desk, query, json!({ "wanted": { "value": "one\" || true || \"" } })).unwrap();
    assert_eq!(evil["rows"], json!([]));
    let quoted = select(&desk, query, json!({ "wanted": { "value": "a \"quoted\" \\ name\n" } })).unwrap();
    assert_eq!(quoted["rows"].as_array().map(Vec::len), Some(1));
    let subject = select(&desk, "SELECT ?k ?n { ?k <urn:q:name> ?n }", json!({ "k": "<urn:q:2>" })).unwrap();
    assert_eq!(subject["rows"], json!([{ "k": "urn:q:2", "n": "two" }]));
    let absent =
        select(&desk, "SELECT ?n { ?k <urn:q:name> ?n FILTER NOT EXISTS { ?k <urn:q:after> ?prior } }", json!({ "prior": "<urn:q:1>" }))
            .unwrap();
    assert_eq!(absent["rows"], json!([{ "n": "a \"quoted\" \\ name\n" }, { "n": "one" }]));
    let number = select(&desk, "SELECT ?k { ?k <urn:q:round> ?r FILTER(?r >= ?from) }", json!({ "from": { "value": 2 } })).unwrap();
    assert_eq!(number["rows"], json!([{ "k": "urn:q:2" }, { "k": "urn:q:3" }]));
}

#[test]
fn answers_of_all_kinds() {
    let desk = store();
    let truth = select(&desk, "ASK { <urn:q:1> ?p ?o }", Value::Null).unwrap();
    assert_eq!(truth["answer"], true);
    assert!(truth["notes"][0].as_str().unwrap().starts_with("b.ttl:3:"), "{truth}");
    let count = select(&desk, "SELECT (COUNT(*) AS ?n) { ?k <urn:q:name> ?x }", Value::Null).unwrap();
    assert_eq!(count["rows"], json!([{ "n": "3" }]));
    let open = select(&desk, "SELECT ?k ?prior { ?k <urn:q:name> ?x OPTIONAL { ?k <urn:q:after> ?prior } } ORDER BY DESC(?k)", Value::Null)
        .unwrap();
    assert_eq!(open["rows"][0], json!({ "k": "urn:q:3", "prior": null }));
    let path = select(&desk, "SELECT ?k { ?k <urn:q:after>+ <urn:q:1> }", Value::Null).unwrap();
    assert_eq!(path["rows"], json!([{ "k": "urn:q:2" }]));
    let rescued = select(&desk, "SELECT ?l { ?k <urn:rsf:mem:lesson> ?l }", Value::Null).unwrap();
    assert_eq!(rescued["rows"], json!([{ "l": "whole" }]));
    let few = rdf_query::run(&desk, &json!({ "query": "SELECT * { ?s ?p ?o }", "files": "c.ttl", "max": 2 })).unwrap();
    assert_eq!((few["rows"].as_array().map(Vec::len), &few["truncated"]), (Some(2), &json!(true)));
}

#[test]
fn the_same_question_has_the_same_answer() {
    let many: String = (0..40).map(|n| format!("<urn:s:{n:02}> <urn:kind> \"k{:02}\" ; <urn:in> \"x\" .\n", n / 2)).collect();
    let desk = MemoryDesk::new().with("many.ttl", many);
    let counted = "SELECT ?k (COUNT(?s) AS ?n) { ?s <urn:kind> ?k } GROUP BY ?k";
    for query in [
        counted.to_owned(),
        format!("{counted} LIMIT 3"),
        format!("{counted} ORDER BY ?n LIMIT 3"),
        format!("{counted} HAVING(COUNT(?s) > 1) ORDER BY DESC(?n)"),
    ] {
        let rows = select(&desk, &query, Value::Null).unwrap()["rows"].clone();
        assert_eq!(rows[0], json!({ "k": "k00", "n": "2" }), "{query}");
        assert_eq!(rows[2], json!({ "k": "k02", "n": "2" }), "{query}");
    }
}

#[test]
fn queries_that_are_refused() {
    let desk = store();
    let cases = [
        ("SELECT ?x WHERE { SERVICE <http://x.example/> { ?x ?y ?z } }", json!({}), "SERVICE"),
        ("DELETE WHERE { ?s ?p ?o }", json!({}), "update is refused"),
        ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", json!({}), "update is refused"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", json!({}), "SELECT and ASK"),
        ("SELECT ?x FROM <urn:g> { ?x ?y ?z }", json!({}), "FROM"),
        ("SELECT ?x { GRAPH ?g { ?x ?y ?z } }", json!({}), "GRAPH"),
        ("SELECT ?x { ?x nope:y ?z }", json!({}), "can't be read"),
        ("SELECT ?x {", json!({}), "can't be read"),
        ("SELECT ?x { ?x ?p ?z BIND(1 AS ?v) }", json!({ "v": { "value": 2 } }), "gives it a value itself"),
        ("SELECT ?x { ?x ?p ?z VALUES ?v { 1 } }", json!({ "v": { "value": 2 } }), "lists values"),
        ("SELECT ?x { ?x ?p ?z MINUS { ?x ?p ?v } }", json!({ "v": { "value": 2 } }), "MINUS"),
        ("SELECT ?x { ?x ?p ?z }", json!({ "p": { "value": "text" } }), "must be bound to an IRI"),
        ("SELECT ?x { ?x ?p ?z }", json!({ "p } #": { "value": "text" } }), "no variable"),
        ("SELECT ?x { ?x ?p ?z }", json!({ "x": [["<urn:p>", "<urn:o>"]] }), "blank node"),
    ];
    for (query, bind, words) in cases {
        let fault = select(&desk, query, bind).expect_err(query);
        assert_eq!(fault.kind, ToolErrorKind::Arguments, "{query}");
        assert!(fault.message.contains(words), "{query}: {}", fault.message);
    }
}

#[test]
fn costly_queries_end() {
    let many: String = (0..300).map(|n| format!("<urn:s:{n}> <urn:p> {n} .\n")).collect();
    let graphs = [read("many", many.as_bytes()).unwrap()];
    for product in [
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
        "ASK { ?a ?b ?c . ?d ?e ?f FILTER(1 = 2) }",
        "ASK { ?a <urn:p>* ?b . ?c <urn:p>* ?d FILTER(1 = 2) }",
    ] {
        let fault = ask(product, &graphs, &BTreeMap::new(), Bounds { rows: 10, looks: 5_000 }).expect_err(product);
        assert_eq!(fault.kind, QueryErrorKind::Evaluation, "{product}");
        assert!(fault.message.contains("more than 5000 statements"), "{}", fault.message);
    }
    let desk = MemoryDesk::new().with("many.ttl", "<urn:s> <urn:p> 1 .");
    let unions = format!("SELECT (COUNT(*) AS ?n) {{ {} }}", "{ {} UNION {} } ".repeat(40));
    assert!(select(&desk, &unions, Value::Null).expect_err("unions").message.contains("rows"));
    let growth: String = (1..40).map(|n| format!("BIND(CONCAT(?v{}, ?v{}) AS ?v{n}) ", n - 1, n - 1)).collect();
    let growth = format!("SELECT ?v39 {{ BIND(\"xxxxxxxx\" AS ?v0) {growth} }}");
    assert!(select(&desk, &growth, Value::Null).expect_err("growth").message.contains("at most 8"));
    let deep = format!("SELECT ?x {{ ?x ?y ?z FILTER({}1{}) }}", "(".repeat(200), ")".repeat(200));
    assert!(select(&desk, &deep, Value::Null).expect_err("depth").message.contains("deeper"));
    for brackets in [("(", "1", ")"), ("!(", "true", ")"), ("[ <urn:p> ", "1", "]"), ("{", "", "}"), ("( ", "1", ")")] {
        let nested = format!("{}{}{}", brackets.0.repeat(14), brackets.1, brackets.2.repeat(14));
        let _ = select(&desk, &format!("SELECT ?x {{ ?x ?y ?z FILTER({nested}) }}"), Value::Null);
        let _ = select(&desk, &format!("SELECT ?x {{ ?x ?y {nested} }}"), Value::Null);
        let _ = select(&desk, &format!("SELECT ?x {{ {nested} }}"), Value::Null);
    }
    for chain in ["?x || ", "!", "- ", "?x + "] {
        let long = format!("SELECT ?x {{ ?x ?y ?z FILTER({}?x) }}", chain.repeat(15_000 / chain.len()));
        let _ = select(&desk, &long, Value::Null);
    }
    let long = format!("SELECT ?x {{ {} }}", "OPTIONAL{}".repeat(1500));
    let _ = select(&desk, &long, Value::Null);
}

// ── indexing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn sources_become_an_index_that_can_be_asked() {
    let desk = MemoryDesk::new()
        .with("src/shop/cart.py", case("index/cart.py"))
        .with("tests/test_cart.py", case("index/test_cart.py"))
        .with("src/a b/{x}.py", "def odd(): pass\n")
        .with("src/broken.py", "def fine():\n    pass\n\ndef torn(:\n")
        .with(".venv/lib/x.py", "def foreign(): pass\n")
        .with("notes.txt", "def no(): pass\n");
    let result = rdf_index::run(&desk, &json!({ "project": "shop" })).unwrap();
    assert_eq!(result["files"], 4);
    assert_eq!(result["written"], json!(["rdf/ast/index.ttl", "rdf/ast/runtime-ctx.ttl", "rdf/ast/examples.ttl"]));
    for (file, expected) in [
        ("rdf/ast/index.ttl", "index/expected-index.ttl"),
        ("rdf/ast/runtime-ctx.ttl", "index/expected-runtime-ctx.ttl"),
        ("rdf/ast/examples.ttl", "index/expected-examples.ttl"),
    ] {
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(expected), desk.bytes(file)).unwrap();
        }
        assert_eq!(desk.text(file), case_text(expected), "{file}");
    }
    let query = "PREFIX a: <urn:rsf:ast:shop:> SELECT ?name ?line { ?f a:file ?path ; a:hasFunction ?s . ?s a:name ?name ; a:line ?line }";
    let rows = select(&desk, query, json!({ "path": { "value": "src/shop/cart.py" } })).unwrap();
    assert!(rows["rows"].as_array().unwrap().contains(&json!({ "name": "total", "line": "14" })), "{rows}");
    let again = rdf_index::run(&desk, &json!({ "project": "shop" })).unwrap();
    assert_eq!((&again["written"], &again["unchanged"], &again["changed"]), (&json!([]), &json!(4), &json!([])));
    let desk = desk.with("src/broken.py", "def fine():\n    pass\n");
    desk.files.borrow_mut().remove("src/a b/{x}.py");
    let third = rdf_index::run(&desk, &json!({ "project": "shop" })).unwrap();
    assert_eq!((&third["changed"], &third["removed"]), (&json!(["src/broken.py"]), &json!(["src/a b/{x}.py"])));
}

#[test]
fn odd_project_names_index_apart() {
    let mut texts = std::collections::BTreeSet::new();
    for project in ["my-proj", "3d tool", "我的项目", "a.b.", "", "x/y\" <>"] {
        let desk = MemoryDesk::new().with("a.py", "def f(): pass\n");
        rdf_index::run(&desk, &json!({ "project": project })).unwrap();
        let graph = read(project, &desk.bytes("rdf/ast/index.ttl")).unwrap_or_else(|e| panic!("{project}: {e}"));
        assert_eq!(graph.len(), 11, "{project}");
        assert!(texts.insert(desk.text("rdf/ast/index.ttl")), "{project} shares its names");
    }
}

// ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn results_are_what_the_descriptors_say() {
    let desk = store();
    crate::desk::holds("rdf.query", &select(&desk, "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r } }", Value::Null).unwrap());
    crate::desk::holds("rdf.query", &select(&desk, "ASK { ?s ?p ?o }", Value::Null).unwrap());
    crate::desk::holds("rdf.insert", &insert(&desk, "b.ttl", json!([["mem:a", "mem:p", {"value": 1}]])).unwrap());
    let desk = desk.with("tests/test_cart.py", case("index/test_cart.py"));
    crate::desk::holds("rdf.index", &rdf_index::run(&desk, &json!({})).unwrap());
}
