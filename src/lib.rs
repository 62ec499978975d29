//! rsf: roles-steps-flows workflows, proved before they run, durable while they run.
//!
//! The house in flow order: source text → `syntax` → [`model`] → `check` → plan → [`machine`] → driver → executors → journal → reports.
//! The rooms up to `simulate` are pure; the two lints beside them keep clocks, files, processes and unordered maps out (clippy.toml).

#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod agent;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod base;
pub mod cli;
pub mod driver;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod machine;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod model;
pub mod report;
pub mod tool;
