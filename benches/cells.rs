//! What the engine costs by itself: cells whose one call does nothing, through machine, driver and journal, over 1,000 rounds of a document with
//! six roles and eleven steps (`benches/cells.json`). Run with `cargo bench --bench cells`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement that cannot go on has failed")]

use divan::counter::ItemsCount;
use rsf::base::{Severity, digest_bytes};
use rsf::check::plan::{Plan, Settings};
use rsf::driver::{Driver, Event, Options, RunEnd};
use rsf::executor::{BoxFuture, Executor, Task};
use rsf::journal::{Durability, FORMAT, Header, Journal, MemoryDisk};
use rsf::machine::{Machine, NoteEvent, Outcome, Prepared, prepare};
use rsf::world::{Clock, SystemClock};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const DOCUMENT: &str = include_str!("cells.json");

fn main() {
    divan::main();
}

/// Answers at once and does nothing.
struct Nothing;

impl Executor for Nothing {
    fn perform(&self, _task: Task) -> BoxFuture<Outcome> {
        Box::pin(async { Outcome::Tool(json!({ "value": 1 })) })
    }

    fn release(&self, _owner: &str) {}
}

fn plan(rounds: u64) -> Arc<Plan> {
    let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
    document["config"]["rounds"] = rounds.into();
    let text = document.to_string();
    let (tree, problems) = rsf::syntax::parse(text.as_bytes(), rsf::base::FileId(0));
    assert!(problems.iter().all(|problem| problem.severity != Severity::Error));
    let (workflow, _) = rsf::model::decode(&tree);
    let execution = &workflow.execution;
    let settings = Settings { config: execution.config.clone(), limits: execution.limits.clone(), params: Map::new() };
    Arc::new(Plan::seal(workflow, &document, &BTreeMap::new(), settings, &|_| Err("no tables".to_owned())).unwrap())
}

fn header(prepared: &Prepared) -> Header {
    Header {
        format: FORMAT,
        program: String::new(),
        run: prepared.run_id.clone(),
        workflow: "cells".to_owned(),
        document: digest_bytes(DOCUMENT.as_bytes()),
        config: String::new(),
        params: json!({}),
        seed: 0,
        settings: json!({}),
    }
}

/// Runs the document and gives the number of cells that succeeded.
fn run(plan: &Arc<Plan>, journal: impl FnOnce(Header) -> Journal) -> usize {
    let prepared = prepare(plan, SystemClock.now(), "seed", &json!({})).unwrap();
    let journal = journal(header(&prepared));
    let options = Options {
        run: prepared.run_id.clone(),
        journal: String::new(),
        project: json!({ "root": "/", "name": "bench" }),
        stop_requested: Arc::new(|| false),
        clock: Arc::new(SystemClock),
        exit: Arc::new(|_| 0),
        facts: Vec::new(),
        abort: None,
        heartbeat: None,
        disk_full: None,
        grace: Duration::from_secs(1),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let machine = Machine::new(Arc::clone(plan), prepared);
    let end = runtime.block_on(async { Driver::new(machine, journal, Arc::new(Nothing), options, sender).run().await }).unwrap();
    assert!(matches!(end, RunEnd::Ended { result, .. } if result == "DONE"));
    let mut cells = 0;
    while let Ok(event) = events.try_recv() {
        cells += usize::from(matches!(event, Event::Note { note, .. } if matches!(note.event, NoteEvent::Done { .. })));
    }
    cells
}

fn in_memory_run(plan: &Arc<Plan>) -> usize {
    run(plan, |header| Journal::create_on("memory", Box::new(MemoryDisk::default()), header, SystemClock.now()).unwrap())
}

/// 100 rounds beside 1,000 show whether a round costs more the longer a run lasts.
#[divan::bench(args = [100, 1000], sample_count = 3, sample_size = 1)]
fn in_memory(bencher: divan::Bencher, rounds: u64) {
    let plan = plan(rounds);
    bencher.counter(ItemsCount::new(in_memory_run(&plan))).bench_local(|| in_memory_run(&plan));
}

/// On the disk that holds the build folder: one `fdatasync` for each turn of the driver.
#[divan::bench(args = [100, 1000], sample_count = 3, sample_size = 1)]
fn durable(bencher: divan::Bencher, rounds: u64) {
    let plan = plan(rounds);
    let cells = in_memory_run(&plan);
    bencher.counter(ItemsCount::new(cells)).bench_local(|| {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        run(&plan, |header| Journal::create(&folder.path().join("run"), header, SystemClock.now(), Durability::Full).unwrap())
    });
}
