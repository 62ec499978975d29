//! What stands in a Python source: functions, classes, imports, fixtures, tests. Reads syntax only; nothing is imported or run.
//!
//! A source with faults gives what can be recognised around them.

use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Largest source that is parsed, in bytes.
pub const SOURCE_BYTES: usize = 1024 * 1024;
/// Calls of the parser's progress hook before it is stopped (it calls about every hundred steps).
const PARSE_TICKS: u32 = 500_000;
/// Deepest nesting of definitions.
const DEPTH: usize = 32;
/// Symbols of one file.
const SYMBOLS: usize = 5_000;
/// Longest signature or note kept, in characters.
const TEXT_CHARS: usize = 300;

/// What kind of thing a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A class.
    Class,
    /// A function or a method.
    Function,
    /// A function marked as a fixture.
    Fixture,
}

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
    /// Names around it, outermost first.
    pub scope: Vec<String>,
    /// Parameters and result, or base classes.
    pub signature: String,
    /// First line, from 1 (of the `def`, not of its decorators).
    pub line: usize,
    /// Last line.
    pub end_line: usize,
    /// A class's fields, in order.
    pub fields: Vec<String>,
    /// A fixture's `scope=`.
    pub fixture_scope: Option<String>,
    /// How a test goes about it; `None` for everything that is no test.
    pub approach: Option<String>,
}

/// One source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Definitions, by line.
    pub symbols: Vec<Symbol>,
    /// Imported names, sorted.
    pub imports: Vec<String>,
    /// The parser met faults.
    pub faulty: bool,
    /// There was more than is listed.
    pub truncated: bool,
}

/// The syntax tree of a Python source; `None` when it is too large or takes too long.
#[must_use]
pub fn parse(text: &str) -> Option<Tree> {
    if text.len() > SOURCE_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    let mut ticks = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        ticks += 1;
        if ticks > PARSE_TICKS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut options = ParseOptions::new();
    options.progress_callback = Some(&mut progress);
    let bytes = text.as_bytes();
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// The outline of a source; `None` when it can't be parsed within bounds.
#[must_use]
pub fn outline(text: &str) -> Option<Outline> {
    let tree = parse(text)?;
    let mut outline = Outline { faulty: tree.root_node().has_error(), ..Outline::default() };
    let mut open: Vec<(Node<'_>, Vec<String>)> = vec![(tree.root_node(), Vec::new())];
    while let Some((node, scope)) = open.pop() {
        if outline.symbols.len() >= SYMBOLS {
            outline.truncated = true;
            break;
        }
        let inner = visit(node, &scope, text, &mut outline);
        if inner.len() > DEPTH {
            outline.truncated = true;
            continue;
        }
        open.extend(children(node).into_iter().filter(|n| holds_definitions(n.kind())).map(|n| (n, inner.clone())));
    }
    outline.symbols.sort_by(|a, b| (a.line, &a.name).cmp(&(b.line, &b.name)));
    outline.imports.sort();
    outline.imports.dedup();
    Some(outline)
}

/// Records what the node defines and gives the scope of what is within it.
fn visit(node: Node<'_>, scope: &[String], text: &str, outline: &mut Outline) -> Vec<String> {
    match node.kind() {
        "function_definition" | "class_definition" => {
            let Some(symbol) = symbol(node, scope, text) else { return scope.to_vec() };
            let mut inner = scope.to_vec();
            inner.push(symbol.name.clone());
            outline.symbols.push(symbol);
            inner
        }
        "import_statement" => {
            outline.imports.extend(children(node).into_iter().map(|name| clip(text_of(module_of(name), text))));
            scope.to_vec()
        }
        "import_from_statement" => {
            let from = node.child_by_field_name("module_name").map_or("", |n| text_of(n, text));
            let mut cursor = node.walk();
            let names: Vec<_> = node.children_by_field_name("name", &mut cursor).map(|n| text_of(module_of(n), text)).collect();
            let dot = if from.ends_with('.') { "" } else { "." };
            if names.is_empty() {
                outline.imports.push(clip(&format!("{from}{dot}*")));
            }
            outline.imports.extend(names.into_iter().map(|name| clip(&format!("{from}{dot}{name}"))));
            scope.to_vec()
        }
        _ => scope.to_vec(),
    }
}

fn holds_definitions(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "class_definition"
            | "decorated_definition"
            | "block"
            | "import_statement"
            | "import_from_statement"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "try_statement"
            | "except_clause"
            | "finally_clause"
            | "with_statement"
            | "for_statement"
            | "while_statement"
            | "ERROR"
    )
}

fn symbol(node: Node<'_>, scope: &[String], text: &str) -> Option<Symbol> {
    let name = text_of(node.child_by_field_name("name")?, text).to_owned();
    if name.is_empty() {
        return None;
    }
    let body = node.child_by_field_name("body");
    let decorators = decorators(node, text);
    let is_class = node.kind() == "class_definition";
    let fixture = (!is_class).then(|| decorators.iter().find(|d| is_fixture(d))).flatten();
    Some(Symbol {
        kind: if is_class {
            Kind::Class
        } else if fixture.is_some() {
            Kind::Fixture
        } else {
            Kind::Function
        },
        signature: signature(node, text),
        line: node.start_position().row + 1,
        end_line: node.end_position().row + 1,
        fields: if is_class { body.map_or(Vec::new(), |body| fields(body, text)) } else { Vec::new() },
        fixture_scope: fixture.map(|d| fixture_scope(d)),
        approach: (!is_class && fixture.is_none() && name.starts_with("test")).then(|| approach(body, &decorators, text)),
        scope: scope.to_vec(),
        name,
    })
}

fn signature(node: Node<'_>, text: &str) -> String {
    let field = |name: &str| node.child_by_field_name(name).map_or("", |n| text_of(n, text));
    let written = if node.kind() == "class_definition" {
        format!("class {}{}", field("name"), field("superclasses"))
    } else {
        let result = field("return_type");
        let arrow = if result.is_empty() { "" } else { " -> " };
        let parameters = node.child_by_field_name("parameters").map_or(String::new(), |n| without_comments(n, text));
        format!("def {}{parameters}{arrow}{result}", field("name"))
    };
    clip(&written.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn without_comments(node: Node<'_>, text: &str) -> String {
    let mut kept = String::new();
    let mut at = node.start_byte();
    for comment in children(node).into_iter().filter(|n| n.kind() == "comment") {
        kept.push_str(text.get(at..comment.start_byte()).unwrap_or_default());
        at = comment.end_byte();
    }
    kept.push_str(text.get(at..node.end_byte()).unwrap_or_default());
    kept
}

fn decorators<'a>(node: Node<'_>, text: &'a str) -> Vec<&'a str> {
    let Some(parent) = node.parent().filter(|p| p.kind() == "decorated_definition") else { return Vec::new() };
    children(parent).into_iter().filter(|n| n.kind() == "decorator").map(|n| text_of(n, text)).collect()
}

fn is_fixture(decorator: &str) -> bool {
    let name = decorator.trim_start_matches('@').split('(').next().unwrap_or_default().trim();
    name == "fixture" || name.ends_with(".fixture")
}

fn fixture_scope(decorator: &str) -> String {
    let quoted = decorator.split("scope").nth(1).and_then(|rest| rest.split(['"', '\'']).nth(1));
    clip(quoted.unwrap_or("function"))
}

/// Names assigned in a class's body.
fn fields(body: Node<'_>, text: &str) -> Vec<String> {
    let statements = children(body).into_iter().filter(|n| n.kind() == "expression_statement");
    let assigned = statements.filter_map(|n| n.named_child(0).filter(|c| c.kind() == "assignment"));
    assigned
        .filter_map(|n| n.child_by_field_name("left").filter(|left| left.kind() == "identifier"))
        .map(|left| text_of(left, text).to_owned())
        .take(100)
        .collect()
}

/// A test's first line of documentation, else what its form tells.
fn approach(body: Option<Node<'_>>, decorators: &[&str], text: &str) -> String {
    let first = body.and_then(|body| body.named_child(0)).filter(|n| n.kind() == "expression_statement").and_then(|n| n.named_child(0));
    if let Some(documentation) = first.filter(|n| n.kind() == "string") {
        let written = text_of(documentation, text).trim_matches(|c| "rRuUbBfF".contains(c)).trim_matches(['"', '\'']);
        if let Some(line) = written.lines().map(str::trim).find(|line| !line.is_empty()) {
            return clip(line);
        }
    }
    let written = body.map_or("", |body| text_of(body, text));
    let signs = [
        (decorators.iter().any(|d| d.contains("parametrize")), "parametrised"),
        (written.contains("raises("), "expects an exception"),
        (written.contains("mock") || written.contains("monkeypatch"), "replaces parts"),
    ];
    let told: Vec<&str> = signs.iter().filter(|(holds, _)| *holds).map(|(_, words)| *words).collect();
    if told.is_empty() { "asserts directly".to_owned() } else { told.join(", ") }
}

/// `x` of `x as y`.
fn module_of(node: Node<'_>) -> Node<'_> {
    if node.kind() == "aliased_import" { node.child_by_field_name("name").unwrap_or(node) } else { node }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

fn clip(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}
