//! Expressions, templates and decision tables over MiniJinja: native values, strict undefined, bounded size and fuel, no loader.
//!
//! An [`Engine`] is filled while a document is checked and only evaluates texts it was given then: what runs was checked.
//! Pure: no I/O, no clock, no randomness. Data is never rendered as a template.

mod cover;
mod engine;
mod environment;
mod error;
mod functions;
pub mod grammar;
mod guard;
mod names;
mod scan;
mod scope;
mod table;
mod value;
mod winners;

pub use cover::{Cover, CoverFinding, CoverKind, cover};
pub use engine::{Engine, Leaves, Limits};
pub use error::{ExprError, ExprErrorKind};
pub use functions::{Entry, EntryKind, reference};
pub use names::Names;
pub use scope::Scope;
pub use table::{CompiledTable, TableError, TableErrorKind, evaluate};
pub use value::{to_json, to_val};
pub use winners::{Meeting, winners};

/// A value of the expression language.
pub type Val = minijinja::Value;
