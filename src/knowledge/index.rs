//! The index of a project's Python sources as three Turtle documents: what there is, what runs around it, and tests as examples.
//!
//! Sources are only pointed at (file, lines, signature), never copied. The same sources always give the same bytes.

use super::graph::Graph;
use super::python::{Kind, Outline, Symbol, outline};
use super::term::{Literal, Node, RDF_TYPE, Triple};
use super::vocabulary::{Vocabulary, word};
use super::write::{Prefixes, document};
use crate::base::digest_bytes;
use std::collections::BTreeMap;

/// One source file.
#[derive(Clone, Copy, Debug)]
pub struct IndexSource<'a> {
    /// Path in the project.
    pub path: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The documents and what they hold.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Files → functions, classes → lines.
    pub sources: String,
    /// Fixtures, imports, fields.
    pub context: String,
    /// Tests as examples.
    pub examples: String,
    /// Definitions indexed.
    pub symbols: usize,
    /// Path → digest of its bytes.
    pub digests: BTreeMap<String, String>,
    /// What a reader should know, as lower-case sentences.
    pub notes: Vec<String>,
}

/// Indexes sources of a project.
#[must_use]
pub fn index(project: &str, files: &[IndexSource<'_>]) -> Index {
    let words = Vocabulary::of(project);
    let mut index = Index::default();
    if words.mangled {
        index.notes.push(format!("`{}` is no legal prefix; `{}` stands for it", project.escape_debug(), words.prefix));
    }
    let mut builder = Builder { words: &words, sources: Graph::default(), context: Graph::default(), examples: Graph::default() };
    for file in files {
        let digest = digest_bytes(file.bytes);
        index.digests.insert(file.path.to_owned(), digest.clone());
        builder.file(file.path, &digest);
        let text = String::from_utf8_lossy(file.bytes);
        let Some(outline) = outline(&text) else {
            index.notes.push(format!("{} is too large to be parsed", file.path.escape_debug()));
            continue;
        };
        if outline.faulty {
            index.notes.push(format!("{} has faults of syntax: what stands around them is indexed", file.path.escape_debug()));
        }
        if outline.truncated {
            index.notes.push(format!("{} defines more than is indexed", file.path.escape_debug()));
        }
        index.symbols += outline.symbols.len();
        builder.outline(file.path, &outline);
    }
    let prefixes = Prefixes::from([(words.prefix.clone(), words.namespace.clone())]);
    index.sources = document(&builder.sources, &[], &prefixes);
    index.context = document(&builder.context, &[], &prefixes);
    index.examples = document(&builder.examples, &[], &prefixes);
    index
}

/// Path → digest as an earlier index of the same project recorded them.
#[must_use]
pub fn recorded(project: &str, earlier: &Graph) -> BTreeMap<String, String> {
    let words = Vocabulary::of(project);
    let (file, digest) = (words.word(word::FILE_PATH), words.word(word::DIGEST));
    let mut paths: BTreeMap<&Node, [Option<&str>; 2]> = BTreeMap::new();
    for triple in earlier.iter() {
        let Node::Literal(literal) = &triple.object else { continue };
        if triple.predicate == file {
            paths.entry(&triple.subject).or_default()[0] = Some(&literal.text);
        } else if triple.predicate == digest {
            paths.entry(&triple.subject).or_default()[1] = Some(&literal.text);
        }
    }
    paths.into_values().filter_map(|[path, digest]| Some((path?.to_owned(), digest?.to_owned()))).collect()
}

struct Builder<'a> {
    words: &'a Vocabulary,
    sources: Graph,
    context: Graph,
    examples: Graph,
}

/// One of the builder's graphs and a subject in it.
struct About<'a> {
    words: &'a Vocabulary,
    graph: &'a mut Graph,
    subject: Node,
}

impl About<'_> {
    fn is(&mut self, class: &str) {
        let object = Node::Iri(self.words.word(class));
        self.graph.insert(Triple { subject: self.subject.clone(), predicate: RDF_TYPE.to_owned(), object });
    }

    fn has(&mut self, predicate: &str, object: Node) {
        self.graph.insert(Triple { subject: self.subject.clone(), predicate: self.words.word(predicate), object });
    }

    fn text(&mut self, predicate: &str, text: &str) {
        self.has(predicate, Node::Literal(Literal::text(text.replace('\0', "\u{fffd}"))));
    }

    fn number(&mut self, predicate: &str, number: usize) {
        self.has(predicate, Node::Literal(Literal::integer(number)));
    }
}

impl Builder<'_> {
    fn file(&mut self, path: &str, digest: &str) {
        let subject = Node::Iri(self.words.file(path));
        let mut about = About { words: self.words, graph: &mut self.sources, subject };
        about.is(word::FILE);
        about.text(word::FILE_PATH, path);
        about.text(word::DIGEST, digest);
    }

    fn outline(&mut self, path: &str, outline: &Outline) {
        let file = Node::Iri(self.words.file(path));
        let mut about = About { words: self.words, graph: &mut self.context, subject: file.clone() };
        for import in &outline.imports {
            about.text(word::HAS_IMPORT, import);
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for symbol in &outline.symbols {
            let qualified = symbol.scope.iter().chain([&symbol.name]).map(String::as_str).collect::<Vec<_>>().join(".");
            let times = seen.entry(qualified.clone()).or_default();
            *times += 1;
            // A name defined again in the same place (overloads, branches) is another symbol.
            let qualified = if *times > 1 { format!("{qualified}~{times}") } else { qualified };
            let iri = Node::Iri(self.words.symbol(path, &qualified));
            self.symbol(path, &file, iri, symbol);
        }
    }

    fn symbol(&mut self, path: &str, file: &Node, iri: Node, symbol: &Symbol) {
        let (class, link) = match symbol.kind {
            Kind::Class => (word::CLASS, word::HAS_CLASS),
            Kind::Function => (word::FUNCTION, word::HAS_FUNCTION),
            Kind::Fixture => (word::FIXTURE, word::HAS_FIXTURE),
        };
        let graph = if symbol.kind == Kind::Fixture { &mut self.context } else { &mut self.sources };
        About { words: self.words, graph, subject: file.clone() }.has(link, iri.clone());
        let mut about = About { words: self.words, graph, subject: iri.clone() };
        about.is(class);
        about.text(word::NAME, &symbol.name);
        about.text(word::SIGNATURE, &symbol.signature);
        about.text(word::SOURCE, &format!("{path}:{}-{}", symbol.line, symbol.end_line));
        about.number(word::LINE, symbol.line);
        about.number(word::END_LINE, symbol.end_line);
        let around = if symbol.scope.is_empty() { "module".to_owned() } else { symbol.scope.join(".") };
        about.text(word::SCOPE, symbol.fixture_scope.as_deref().unwrap_or(&around));
        if !symbol.fields.is_empty() {
            let mut about = About { words: self.words, graph: &mut self.context, subject: iri.clone() };
            about.text(word::FIELDS, &symbol.fields.join(", "));
        }
        if let Some(approach) = &symbol.approach {
            let mut about = About { words: self.words, graph: &mut self.examples, subject: iri };
            about.is(word::EXAMPLE);
            about.text(word::MODULE, &module(path));
            about.text(word::FUNCTION_NAME, &symbol.name);
            about.text(word::APPROACH, approach);
            about.text(word::FILE_PATH, path);
            about.number(word::LINE, symbol.line);
            about.has(word::EXAMPLE_FILE, file.clone());
        }
    }
}

fn module(path: &str) -> String {
    let path = path.strip_suffix(".py").unwrap_or(path);
    path.strip_suffix("/__init__").unwrap_or(path).replace('/', ".")
}
