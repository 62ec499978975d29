//! Interprets the operations of a cell (or of a program of `on`) as a pure sub-machine.
//!
//! [`Interpreter::start`] and [`Interpreter::resume`] run operations until one needs the world; then they give the effect's request and wait to be
//! resumed with its outcome. Nothing here performs an effect, reads a clock or knows a workflow.

mod contract;
mod emission;
mod grants;
mod interpreter;
mod operations;
mod position;
mod sessions;
mod stores;

pub use emission::{Emitted, OutEntry};
pub use interpreter::{Finished, Host, Interpreter, Mode, Present, Step, Stop, Who};
pub use sessions::same_model;
pub use stores::{LogLine, log_request};
