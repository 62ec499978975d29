//! A document with the files that stand beside it: read from a folder, from standard input, or taken from what is built into the program.
//!
//! Shell: it reads files. It follows no link, reads no device, and never more than a bound; it parses nothing.

mod folder;

use crate::base::limits;
use include_dir::{Dir, include_dir};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

static WORKFLOWS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/workflows");
static PROMPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/prompts");
static SCHEMAS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/schemas");
static SAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/samples");

/// The folders of a bundle; nothing else below its root is read.
pub const FOLDERS: [&str; 4] = ["workflows", "prompts", "schemas", "samples"];

/// A document and its files.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The folder that holds `workflows/`, `prompts/`, `schemas/`; `None` for what is built in or came from standard input.
    pub root: Option<PathBuf>,
    /// How messages name the document.
    pub document_path: String,
    /// The document's text; bytes that are no UTF-8 are replaced.
    pub document: Arc<str>,
    /// Files of the bundle by their path from its root, with `/`.
    pub files: BTreeMap<String, Arc<str>>,
    /// Files that were left out, and why.
    pub skipped: BTreeMap<String, String>,
    /// The document as it was read, where it is no UTF-8.
    raw: Option<Arc<[u8]>>,
}

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct BundleError {
    /// The path as given.
    pub path: String,
    /// Lower-case sentence.
    pub message: String,
}

impl Bundle {
    /// Reads the document at `path` and the files of its bundle.
    ///
    /// # Errors
    /// No such file, not a regular file, too large, unreadable.
    pub fn load(path: &Path) -> Result<Self, BundleError> {
        let bytes = read_document(path)?;
        let root = root_of(path);
        let (files, skipped) = folder::read(&root);
        Ok(Self { root: Some(root), files, skipped, ..Self::of(path.display().to_string(), bytes) })
    }

    /// The built-in workflow of that name, without its ending.
    #[must_use]
    pub fn embedded(name: &str) -> Option<Self> {
        let file = WORKFLOWS.get_file(format!("{name}.json"))?;
        let mut files = BTreeMap::new();
        for (folder, dir) in [("workflows", &WORKFLOWS), ("prompts", &PROMPTS), ("schemas", &SCHEMAS), ("samples", &SAMPLES)] {
            embedded_files(folder, dir, &mut files);
        }
        Some(Self { files, ..Self::of(format!("workflows/{name}.json"), file.contents().to_vec()) })
    }

    /// The text of one built-in file, by its path from the bundle's root.
    #[must_use]
    pub fn embedded_text(path: &str) -> Option<&'static str> {
        let (folder, inner) = path.split_once('/')?;
        let dir = match folder {
            "workflows" => &WORKFLOWS,
            "prompts" => &PROMPTS,
            "schemas" => &SCHEMAS,
            "samples" => &SAMPLES,
            _ => return None,
        };
        dir.get_file(inner)?.contents_utf8()
    }

    /// Names of the built-in workflows, sorted.
    #[must_use]
    pub fn embedded_names() -> Vec<String> {
        let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let workflows = WORKFLOWS.files().filter(|file| file.path().extension().is_some_and(|ending| ending == "json"));
        let documents = workflows.filter(|file| file.contents_utf8().is_some_and(|text| text.contains("\"roles-steps-flows\"")));
        let mut names: Vec<String> = documents.filter_map(|file| stem(file.path())).collect();
        names.sort();
        names
    }

    /// All built-in files with their paths from the bundle's root, sorted.
    #[must_use]
    pub fn embedded_bytes() -> Vec<(String, &'static [u8])> {
        fn walk(folder: &str, dir: &'static Dir<'static>, out: &mut Vec<(String, &'static [u8])>) {
            for file in dir.files() {
                out.push((format!("{folder}/{}", file.path().display()), file.contents()));
            }
            for inner in dir.dirs() {
                walk(folder, inner, out);
            }
        }
        let mut out = Vec::new();
        for (folder, dir) in [("workflows", &WORKFLOWS), ("prompts", &PROMPTS), ("schemas", &SCHEMAS), ("samples", &SAMPLES)] {
            walk(folder, dir, &mut out);
        }
        out.sort();
        out
    }

    /// A document that came from standard input, without files.
    #[must_use]
    pub fn from_stdin(text: impl Into<Vec<u8>>) -> Self {
        Self::of("<stdin>".to_owned(), text.into())
    }

    /// The document as it was read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.document.as_bytes())
    }

    fn of(document_path: String, bytes: Vec<u8>) -> Self {
        let (document, raw): (Arc<str>, _) = match String::from_utf8_lossy(&bytes) {
            Cow::Borrowed(text) => (text.into(), None),
            Cow::Owned(text) => (text.into(), Some(bytes.into())),
        };
        Self { root: None, document_path, document, files: BTreeMap::new(), skipped: BTreeMap::new(), raw }
    }
}

/// Reads standard input to its end.
///
/// # Errors
/// Larger than a document may be, unreadable.
pub fn read_stdin() -> Result<Vec<u8>, BundleError> {
    read_bounded(std::io::stdin().lock(), "<stdin>")
}

fn read_document(path: &Path) -> Result<Vec<u8>, BundleError> {
    let shown = path.display().to_string();
    let failed = |message: String| BundleError { path: shown.clone(), message };
    // Looked at before it is opened: opening a named pipe would wait for a writer.
    let meta = std::fs::metadata(path).map_err(|error| failed(reason(&error)))?;
    if meta.is_dir() {
        return Err(failed("is a folder; name the document in it".to_owned()));
    }
    if !meta.is_file() {
        return Err(failed("is no regular file; use `-` to read standard input".to_owned()));
    }
    let file = File::open(path).map_err(|error| failed(reason(&error)))?;
    read_bounded(file, &shown)
}

fn read_bounded(source: impl Read, shown: &str) -> Result<Vec<u8>, BundleError> {
    let limit = limits::DOCUMENT_BYTES;
    let mut bytes = Vec::new();
    let read = source.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| BundleError { path: shown.to_owned(), message: reason(&error) })?;
    if bytes.len() > limit {
        return Err(BundleError { path: shown.to_owned(), message: format!("is larger than {} MB", limit / 1024 / 1024) });
    }
    Ok(bytes)
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The folder above a `workflows/` folder, else the document's own.
fn root_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("."));
    match folder.parent() {
        Some(above) if folder.file_name().is_some_and(|name| name == "workflows") => above.to_owned(),
        _ => folder.to_owned(),
    }
}

fn embedded_files(prefix: &str, dir: &Dir<'_>, files: &mut BTreeMap<String, Arc<str>>) {
    for file in dir.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
            files.insert(format!("{prefix}/{}", path.replace('\\', "/")), text.into());
        }
    }
    for inner in dir.dirs() {
        embedded_files(prefix, inner, files);
    }
}
