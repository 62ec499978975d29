//! All integration tests in one binary, so that the crate is linked once. Test data lies in `tests/cases`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod architecture;
mod bundle;
mod commands;
mod cover;
mod desk;
mod driver;
mod fake;
mod git;
mod journal;
mod knowledge;
mod machine;
mod messages;
mod money;
mod provider;
mod recording;
mod report;
mod reports;
mod rule;
mod tools;
mod validate;
mod validate_any;
mod workflows;
mod world;
