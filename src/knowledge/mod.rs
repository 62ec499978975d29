//! RDF: reading and writing Turtle, adding to a file without harming what stands there, asking with SPARQL.
//!
//! Texts and bytes come in, texts and values go out: this room opens no file. It invents no vocabulary but that of the index of
//! sources ([`vocabulary`]), and it never lets a text become syntax: terms are values until the writer escapes them.

mod append;
mod bind;
mod budget;
mod graph;
mod index;
mod iri;
pub mod python;
mod query;
mod read;
mod term;
pub mod vocabulary;
mod write;

pub use append::{Appended, append};
pub use graph::{Graph, Nested, Statement};
pub use index::{Index, IndexSource, index, recorded};
pub use iri::{absolute, legal_prefix, mangled_prefix, percent_encoded, plain_local};
pub use query::{Answer, Bounds, QueryError, QueryErrorKind, ask};
pub use read::{ReadError, ReadErrorKind, read, rescue};
pub use term::{Literal, Node, Triple};
pub use write::{Prefixes, block, document, literal};
