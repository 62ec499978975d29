//! Descriptors of the tools that read reports, sources and RDF. What they say is what validation, agents and `rsf reference` go by.

use crate::model::tool::{Descriptor, EffectClass, Permission};
use serde_json::{Value, json};

/// `reports.tests`, `reports.coverage`, `rdf.index`, `rdf.query`, `rdf.insert`, `syntax.query`.
#[must_use]
pub fn list() -> Vec<Descriptor> {
    vec![reports_tests(), reports_coverage(), rdf_index(), rdf_query(), rdf_insert(), syntax_query()]
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn globs() -> Value {
    json!({ "anyOf": [ { "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 } ] })
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

fn reports_tests() -> Descriptor {
    Descriptor {
        name: "reports.tests",
        description: "Reads a JUnit XML report into counts and names, counted from its test cases. A report that is missing (null), empty or torn gives `readable: false` and zero tests.",
        arguments: object(
            &["text"],
            json!({ "text": { "type": ["string", "null"], "description": "the JUnit XML, or null where there is none" } }),
        ),
        result: object(
            &["readable", "reason", "total", "passed", "failed", "errors", "skipped", "tests", "truncated", "notes"],
            json!({
                "readable": { "type": "boolean" }, "reason": text_or_null(),
                "total": number(), "passed": number(), "failed": number(), "errors": number(), "skipped": number(),
                "tests": { "type": "array", "items": object(&["name", "outcome", "message"], json!({
                    "name": { "type": "string" }, "outcome": { "enum": ["passed", "failed", "error", "skipped"] }, "message": text_or_null(),
                })) },
                "truncated": { "type": "boolean" }, "notes": texts(),
            }),
        ),
        permission: Permission::Nothing,
        effect: EffectClass::Pure,
    }
}

fn reports_coverage() -> Descriptor {
    let pair = |more: Value| {
        let mut properties = json!({ "total": number(), "covered": number() });
        if let (Value::Object(all), Value::Object(more)) = (&mut properties, more) {
            all.extend(more);
        }
        json!({ "type": "object", "required": ["total", "covered"], "additionalProperties": false, "properties": properties })
    };
    let branches = pair(json!({ "partial": { "type": ["integer", "null"], "minimum": 0 } }));
    let counts = json!({ "lines": pair(json!({})), "branches": branches, "excluded": number() });
    let lines = json!({ "type": "array", "items": number() });
    let mut file = counts.clone();
    if let Value::Object(fields) = &mut file {
        fields.insert("missing_lines".to_owned(), lines.clone());
        fields.insert("partial_lines".to_owned(), lines);
    }
    Descriptor {
        name: "reports.coverage",
        description: "Reads a coverage report (coverage.py JSON, LCOV or Cobertura XML) into counts per file and in total. Divide them yourself: 0 of 0 is no rate. A report that is missing (null) or can't be read gives `readable: false` and zero counts.",
        arguments: object(
            &["text"],
            json!({
                "text": { "type": ["string", "null"], "description": "the report, or null where there is none" },
                "format": { "enum": ["coverage.py", "lcov", "cobertura", null], "description": "recognised when left out" },
            }),
        ),
        result: object(
            &["readable", "reason", "format", "has_branches", "total", "files", "notes"],
            json!({
                "readable": { "type": "boolean" }, "reason": text_or_null(), "format": text_or_null(), "has_branches": { "type": "boolean" },
                "total": object(&["lines", "branches", "excluded"], counts),
                "files": { "type": "object", "additionalProperties": object(&["lines", "branches", "excluded", "missing_lines", "partial_lines"], file) },
                "notes": texts(),
            }),
        ),
        permission: Permission::Nothing,
        effect: EffectClass::Pure,
    }
}

fn rdf_index() -> Descriptor {
    Descriptor {
        name: "rdf.index",
        description: "Indexes the Python sources of the project (functions, classes, fixtures, imports, tests as examples, with their lines) into rdf/ast/index.ttl, runtime-ctx.ttl and examples.ttl. The files only point at the sources.",
        arguments: object(
            &[],
            json!({
                "project": { "type": "string", "description": "name that gives the prefix `{project}-ast:`; default `project`" },
                "paths": globs(),
            }),
        ),
        result: object(
            &["files", "symbols", "written", "changed", "removed", "unchanged", "notes"],
            json!({
                "files": number(), "symbols": number(), "written": texts(), "changed": texts(), "removed": texts(), "unchanged": number(),
                "notes": texts(),
            }),
        ),
        permission: Permission::RdfWrite,
        effect: EffectClass::Writes,
    }
}

fn rdf_query() -> Descriptor {
    Descriptor {
        name: "rdf.query",
        description: "Asks a SPARQL SELECT or ASK of the Turtle files that match. Values go into `bind` (variable → term), never into the text of the query. At most 1000 rows.",
        arguments: object(
            &["query", "files"],
            json!({
                "query": { "type": "string" }, "files": globs(),
                "bind": { "type": ["object", "null"], "description": "variable → `<iri>`, `prefix:name` (of `prefixes`) or {\"value\": v, \"lang\" or \"type\"}" },
                "prefixes": prefixes(), "max": number(),
            }),
        ),
        result: json!({ "anyOf": [
            object(&["vars", "rows", "truncated", "notes"], json!({
                "vars": texts(), "truncated": { "type": "boolean" }, "notes": texts(),
                "rows": { "type": "array", "items": { "type": "object", "additionalProperties": text_or_null() } },
            })),
            object(&["answer", "notes"], json!({ "answer": { "type": "boolean" }, "notes": texts() })),
        ] }),
        permission: Permission::RdfRead,
        effect: EffectClass::Reads,
    }
}

fn prefixes() -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": { "type": "string" }, "description": "prefix → namespace; rdf, rdfs and xsd are known" })
}

fn rdf_insert() -> Descriptor {
    Descriptor {
        name: "rdf.insert",
        description: "Adds statements to a Turtle file; what stands there stays, what is there already is not repeated. A term is `<iri>`, `prefix:name`, {\"value\": v, \"lang\" or \"type\"} for a literal, or a list of [predicate, object] for a blank node. A file that is no Turtle is set aside and a new one begun.",
        arguments: object(
            &["file", "triples"],
            json!({
                "file": { "type": "string" }, "prefixes": prefixes(),
                "triples": { "type": "array", "maxItems": 1000, "items": { "type": "array", "minItems": 3, "maxItems": 3 } },
            }),
        ),
        result: object(
            &["file", "added", "set_aside", "notes"],
            json!({ "file": { "type": "string" }, "added": number(), "set_aside": text_or_null(), "notes": texts() }),
        ),
        permission: Permission::RdfWrite,
        effect: EffectClass::Writes,
    }
}

fn syntax_query() -> Descriptor {
    Descriptor {
        name: "syntax.query",
        description: "Runs a tree-sitter query over source files. Beside tree-sitter's own predicates, (#has? @node \"kind\" \"regex\") and (#lacks? @node \"kind\" \"regex\") ask whether something of a kind, whose text matches the optional regex, lies within a captured node. Known language: python.",
        arguments: object(
            &["language", "query", "files"],
            json!({ "language": { "type": "string" }, "query": { "type": "string" }, "files": globs(), "in": { "type": ["string", "null"] }, "max": number() }),
        ),
        result: object(
            &["matches", "truncated", "notes"],
            json!({
                "matches": { "type": "array", "items": object(&["path", "line", "end_line", "captures"], json!({
                    "path": { "type": "string" }, "line": number(), "end_line": number(),
                    "captures": { "type": "object", "additionalProperties": { "type": "string" } },
                })) },
                "truncated": { "type": "boolean" }, "notes": texts(),
            }),
        ),
        permission: Permission::Read,
        effect: EffectClass::Reads,
    }
}
