//! The typed document: roles, steps, cells, flows and the execution part, as plain data.
//!
//! Every item carries the JSON pointer it was read from (`at`), so that a check can find its place in the source.
//! Nothing here evaluates, checks a rule of RSF or does I/O; texts that are expressions or templates are kept as written.

mod document;
mod operation;
mod policy;
mod table;
mod term;
pub mod tool;
pub mod tools;

pub use document::*;
pub use operation::*;
pub use policy::*;
pub use table::*;
pub use term::*;

/// A JSON pointer (RFC 6901) into the document, e.g. `/flows/items/3/what`.
pub type Pointer = String;
