//! rsf: roles-steps-flows workflows, proved before they run, durable while they run.
//!
//! The house in flow order: source text → [`syntax`] → [`model`] → [`check`] → plan → [`machine`] → driver → executors → journal → reports.

pub mod agent;
pub mod base;
pub mod cell;
pub mod check;
pub mod cli;
pub mod driver;
pub mod executor;
pub mod journal;
pub mod machine;
pub mod model;
pub mod provider;
pub mod report;
pub mod rule;
pub mod schema;
pub mod simulate;
pub mod syntax;
pub mod tool;
pub mod world;
