//! rsf: roles-steps-flows workflows, proved before they run, durable while they run.
//!
//! The house in flow order: source text → [`syntax`] → [`model`] → [`check`] → plan → [`machine`] → driver → executors → journal → reports.

pub mod agent;
pub mod base;
pub mod driver;
pub mod machine;
pub mod model;
pub mod tool;
pub mod world;
