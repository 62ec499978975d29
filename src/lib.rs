//! rsf: roles-steps-flows workflows, proved before they run, durable while they run.
//!
//! The house in flow order: source text → [`syntax`] → [`model`] → [`check`] → plan → [`machine`] → [`driver`] → executors → journal → reports.
//! The rooms up to `simulate` are pure; the two lints beside them keep clocks, files, processes and unordered maps out (clippy.toml).

#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod agent;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod base;
pub mod bundle;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod cell;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod check;
pub mod cli;
pub mod driver;
pub mod executor;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod governor;
pub mod hook;
pub mod journal;
pub mod knowledge;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod machine;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod model;
pub mod provider;
pub mod report;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod rule;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod schema;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod simulate;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod syntax;
pub mod tool;
pub mod world;
