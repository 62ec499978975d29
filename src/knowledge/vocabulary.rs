//! The words of the index of sources: the only vocabulary this room owns. Each project has them under its own namespace, so that two
//! projects' statements can lie in one store.

use super::iri::{mangled_prefix, path, segment};

/// The words, as local names.
pub mod word {
    /// Class of a source file.
    pub const FILE: &str = "File";
    /// Class of a function or method.
    pub const FUNCTION: &str = "Function";
    /// Class of a class.
    pub const CLASS: &str = "Class";
    /// Class of a fixture of tests.
    pub const FIXTURE: &str = "Fixture";
    /// Class of a test that serves as an example.
    pub const EXAMPLE: &str = "Example";
    /// File → function.
    pub const HAS_FUNCTION: &str = "hasFunction";
    /// File → class.
    pub const HAS_CLASS: &str = "hasClass";
    /// File → fixture.
    pub const HAS_FIXTURE: &str = "hasFixture";
    /// File → text of an imported name.
    pub const HAS_IMPORT: &str = "hasImport";
    /// Name of a symbol.
    pub const NAME: &str = "name";
    /// Parameters and result as written.
    pub const SIGNATURE: &str = "signature";
    /// Where it stands: `path:first-last`.
    pub const SOURCE: &str = "source";
    /// `module`, or the classes and functions around it; of a fixture, its scope.
    pub const SCOPE: &str = "scope";
    /// First line.
    pub const LINE: &str = "line";
    /// Last line.
    pub const END_LINE: &str = "endLine";
    /// A class's fields.
    pub const FIELDS: &str = "fields";
    /// SHA-256 of a file's bytes.
    pub const DIGEST: &str = "digest";
    /// Path of a file.
    pub const FILE_PATH: &str = "file";
    /// Example → file it stands in.
    pub const EXAMPLE_FILE: &str = "exampleFile";
    /// Example → dotted module name.
    pub const MODULE: &str = "module";
    /// Example → function's name.
    pub const FUNCTION_NAME: &str = "function";
    /// Example → how it goes about it.
    pub const APPROACH: &str = "approach";
}

/// The names of one project's index.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// `{project}-ast`, legal in Turtle.
    pub prefix: String,
    /// What the prefix stands for.
    pub namespace: String,
    /// The project's name could not be used as it is.
    pub mangled: bool,
}

impl Vocabulary {
    /// The names for a project.
    #[must_use]
    pub fn of(project: &str) -> Self {
        let (name, mangled) = mangled_prefix(project);
        Self { prefix: format!("{name}-ast"), namespace: format!("urn:rsf:ast:{}:", segment(project)), mangled }
    }

    /// IRI of a word.
    #[must_use]
    pub fn word(&self, word: &str) -> String {
        format!("{}{word}", self.namespace)
    }

    /// IRI of a file: the same path always gives the same one.
    #[must_use]
    pub fn file(&self, file: &str) -> String {
        format!("{}file:{}", self.namespace, path(file))
    }

    /// IRI of a symbol in a file.
    #[must_use]
    pub fn symbol(&self, file: &str, qualified: &str) -> String {
        format!("{}#{}", self.file(file), segment(qualified))
    }
}
