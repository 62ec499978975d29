//! All integration tests in one binary, so that the crate is linked once. Test data lies in `tests/cases`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod architecture;
mod authoring;
mod bundle;
mod commands;
mod cover;
mod demo;
mod desk;
mod driver;
mod durable;
mod endpoint;
mod fake;
mod git;
mod goals;
mod governor;
mod hook;
mod interpret;
mod journal;
mod knowledge;
mod language;
mod loops;
mod machine;
mod program;
mod proof;
mod provider;
mod report;
mod reports;
mod resume;
mod rule;
mod run;
mod tools;
mod validate;
mod validate_any;
mod workflows;
mod world;
