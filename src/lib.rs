//! rsf: roles-steps-flows workflows, proved before they run, durable while they run.
//!
//! The house in flow order: source text → [`syntax`] → [`model`] → [`check`] → plan → [`machine`] → driver → executors → journal → reports.

pub mod agent;
pub mod base;
pub mod bundle;
pub mod check;
pub mod cli;
pub mod driver;
pub mod machine;
pub mod model;
pub mod report;
pub mod schema;
pub mod syntax;
pub mod tool;
