//! A document from its path to its findings: what every command does first.

use crate::base::{Label, Problem, Severity, SourceFile, Sources};
use crate::bundle::{self, Bundle, BundleError};
use crate::check::{self, BundleFile};
use crate::model::{self, Workflow};
use crate::syntax::{self, Node, Tree};
use std::collections::BTreeMap;
use std::path::Path;

/// A document that was read and looked at.
#[derive(Debug)]
pub struct Loaded {
    /// The document and its files.
    pub bundle: Bundle,
    /// The typed document; what could not be read is absent.
    pub workflow: Workflow,
    /// Everything found, in document order.
    pub problems: Vec<Problem>,
    /// The texts that findings point into.
    pub sources: Sources,
    /// The document with its places.
    pub tree: Tree,
    /// Whether it is a decision table in a file of its own, which can be checked and cannot run.
    pub is_table: bool,
}

impl Loaded {
    /// The JSON pointer of a place in the document.
    #[must_use]
    pub fn pointer(&self, label: &Label) -> Option<String> {
        (label.file == self.tree.file && self.tree.root.is_some()).then(|| self.tree.pointer_at(label.span.start))
    }
}

/// Reads the document at `path` (`-`: standard input; a name that is no file: the built-in workflow of that name) and checks it.
///
/// # Errors
/// The file cannot be read.
pub fn load(path: &str) -> Result<Loaded, BundleError> {
    let bundle = if path == "-" {
        Bundle::from_stdin(bundle::read_stdin()?)
    } else {
        match Bundle::load(Path::new(path)) {
            Ok(bundle) => bundle,
            Err(error) => Bundle::embedded(path).ok_or(error)?,
        }
    };
    Ok(examine(bundle))
}

/// [`load`], in parts.
///
/// # Errors
/// The file cannot be read.
pub fn load_checked(path: &str) -> Result<(Bundle, Workflow, Vec<Problem>, Sources), BundleError> {
    load(path).map(|loaded| (loaded.bundle, loaded.workflow, loaded.problems, loaded.sources))
}

/// Checks a document that was read.
#[must_use]
pub fn examine(bundle: Bundle) -> Loaded {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new(bundle.document_path.clone(), bundle.document.clone()));
    let files: BTreeMap<String, BundleFile> = bundle
        .files
        .iter()
        .map(|(path, text)| (path.clone(), BundleFile { id: sources.add(SourceFile::new(path.clone(), text.clone())), text: text.clone() }))
        .collect();
    let (tree, mut problems) = syntax::parse(bundle.bytes(), id);
    // After a fault of syntax the rest may mean anything; only a repeated key leaves the meaning of everything else as it is.
    let readable = problems.iter().all(|problem| matches!(problem.code, "RSF105" | "RSF114"));
    let mut workflow = Workflow::default();
    let root = tree.root.as_ref().filter(|root| root.get("format").and_then(Node::as_str) == Some("decision-table"));
    if let Some(root) = root.filter(|_| readable) {
        let (table, shape) = model::decode_table(root, id, "");
        let misshapen = shape.iter().any(|problem| problem.severity == Severity::Error);
        problems.extend(shape);
        if !misshapen {
            // What came on standard input has no bundle.
            let known = bundle.root.is_some() || !files.is_empty();
            problems.extend(check::check_table(&tree, &table, known.then_some(&files)));
        }
    } else if readable {
        let tools: Vec<&str> = crate::model::tools::descriptors().iter().map(|tool| tool.name).collect();
        let repeated = problems.iter().any(|problem| problem.code == "RSF105");
        let (decoded, shape) = model::decode(&tree);
        let mut found = shape;
        found.extend(check::check(&tree, &decoded, &files, &tools));
        found.extend(check::prove(&tree, &decoded, &files, &tools, &found));
        // Which of two values was meant is not known, so what merely is odd about the first is left unsaid.
        problems.extend(found.into_iter().filter(|problem| !repeated || problem.severity == Severity::Error));
        problems.sort_by_key(|problem| problem.labels.first().map(|label| (label.file, label.span.start)));
        workflow = decoded;
    }
    let is_table = root.is_some();
    Loaded { bundle, workflow, problems, sources, tree, is_table }
}
