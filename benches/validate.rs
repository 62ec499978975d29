//! What it costs to look at a large document: through the library, and as a whole process. Run with `cargo bench --bench validate`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement that cannot go on has failed")]

use std::process::{Command, Stdio};

const SEED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/seed/team-loop.seed.json");
const EXECUTABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workflows/team-loop.json");

fn main() {
    divan::main();
}

/// Reading, syntax, model and all checks.
#[divan::bench(args = [SEED, EXECUTABLE], sample_count = 20, sample_size = 1)]
fn library(path: &str) -> usize {
    rsf::cli::load::load(path).unwrap().problems.len()
}

/// The same with starting a process and printing.
#[divan::bench(args = [SEED, EXECUTABLE], sample_count = 20, sample_size = 1)]
fn whole_process(path: &str) {
    let status = Command::new(env!("CARGO_BIN_EXE_rsf")).args(["validate", path]).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
}
