//! What people and programs see of a run: progress, events as JSON lines, the last screen, graphs.
//!
//! Reporters consume [`crate::driver::Event`] and give text; recorded events go through the same reporters. They show what the document's `view`
//! names and know no workflow. Nothing here decides anything about a run, and nothing but [`console`] and [`watch`] writes anywhere.

pub mod board;
pub mod briefing;
pub mod console;
pub mod diagnostics;
pub mod events;
pub mod formats;
pub mod graph;
pub mod progress;
mod sheet;
pub mod summary;
pub mod text;
pub mod view;
pub mod watch;

pub use sheet::{Drawing, Sheet};
