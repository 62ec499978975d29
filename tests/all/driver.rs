//! The driver with a small machine: order of finishing, crashes at every write, timers, stops, interrupts, panics.

use crate::fake::{Death, FakeClock, FakeCore, FakeExecutor, Log, MortalDisk, SMALL, Shape, TINY, header, options};
use rsf::base::Timestamp;
use rsf::driver::{Driver, DriverError, Event, Options, RunEnd, past_events};
use rsf::journal::{Blobs, Durability, FileDisk, Journal, JournalError, MemoryDisk, Record, canonical};
use rsf::machine::NoteEvent;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;

fn create(folder: &Path) -> Journal {
    Journal::create(folder, header("run-1"), Timestamp(0), Durability::None).unwrap()
}

fn records(folder: &Path) -> Vec<Record> {
    let records = Journal::open(folder, Durability::None).unwrap().records;
    assert!(records.windows(2).all(|pair| pair[0].at <= pair[1].at), "time went back");
    records
}

fn canonical_of(folder: &Path) -> Vec<Value> {
    canonical(&records(folder), &Blobs::of(folder)).unwrap()
}

fn log_of(executor: &FakeExecutor) -> Arc<Mutex<Log>> {
    Arc::clone(&executor.log)
}

async fn run(folder: &Path, shape: Shape, executor: FakeExecutor) -> Result<RunEnd, DriverError> {
    let (events, _watching) = unbounded_channel();
    Driver::new(FakeCore::new(shape), create(folder), Arc::new(executor), options(FakeClock::default()), events).run().await
}

async fn resume(folder: &Path, core: FakeCore, executor: FakeExecutor) -> Result<RunEnd, DriverError> {
    let opened = Journal::open(folder, Durability::None)?;
    let (events, _watching) = unbounded_channel();
    Driver::new(core, opened.journal, Arc::new(executor), options(FakeClock::default()), events).resume(&opened.records).await
}

#[tokio::test]
async fn the_order_of_finishing_changes_nothing() {
    let mut first = None;
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let executor = FakeExecutor { seed, watch: Some(folder.path().to_owned()), ..FakeExecutor::default() };
        let log = log_of(&executor);
        let end = run(folder.path(), SMALL, executor).await.unwrap();
        assert_eq!(log.lock().unwrap().too_early, Vec::<String>::new(), "an effect left before it was durable");
        assert!(log.lock().unwrap().performed.values().all(|times| *times == 1));
        orders.insert(format!("{:?}", records(folder.path()).iter().map(|r| r.entry.kind()).collect::<Vec<_>>()));
        let found = (end, canonical_of(folder.path()));
        let expected = first.get_or_insert_with(|| found.clone());
        assert_eq!(&found, expected);
    }
    assert!(orders.len() > 1, "the seeds must give different orders, else this shows nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_runs_on_many_threads_and_in_memory() {
    let disk = MemoryDisk::default();
    let journal = Journal::create_on("memory", Box::new(disk.clone()), header("run-1"), Timestamp(0)).unwrap();
    let (events, mut watching) = unbounded_channel();
    let driver = Driver::new(FakeCore::new(SMALL), journal, Arc::new(FakeExecutor::default()), options(FakeClock::default()), events);
    assert!(matches!(driver.run().await.unwrap(), RunEnd::Ended { result, .. } if result == "DONE"));
    assert!(!disk.bytes().is_empty() && disk.bytes().ends_with(b"\"}\n"));
    let mut seen = Vec::new();
    while let Ok(event) = watching.try_recv() {
        seen.push(event);
    }
    assert!(matches!(seen.first(), Some(Event::Started { resumed: false, .. })));
    assert!(matches!(seen.last(), Some(Event::Ended { exit: 0, .. })));
    let begun = seen.iter().filter(|event| matches!(event, Event::EffectStarted { .. })).count();
    let done = seen.iter().filter(|event| matches!(event, Event::EffectDone { ok: true, .. })).count();
    assert_eq!((begun, done), (36, 36));
}

/// Runs until the disk dies, resuming as often as it takes; gives the end and how often it died.
async fn run_through_deaths(folder: &Path, deaths: &[(usize, Death)], runs: &mut Vec<Arc<Mutex<Log>>>) -> (RunEnd, usize) {
    let mut died = 0;
    let mut pending = deaths.iter();
    loop {
        let (left, death) = pending.next().copied().unwrap_or((usize::MAX, Death::Before));
        let left = Arc::new(AtomicUsize::new(left));
        let seed = died as u64;
        let executor = FakeExecutor { seed, ..FakeExecutor::default() };
        runs.push(log_of(&executor));
        let outcome = attempt(folder, left, death, executor).await;
        match outcome {
            Ok(end) => return (end, died),
            Err(DriverError::Journal(JournalError::Io { .. } | JournalError::Closed { .. })) => died += 1,
            // The header itself was not written: the run is started again under its name.
            Err(DriverError::Journal(JournalError::Damaged { good: None, .. })) => std::fs::remove_dir_all(folder).unwrap(),
            Err(other) => panic!("{other}"),
        }
    }
}

async fn attempt(folder: &Path, left: Arc<AtomicUsize>, death: Death, executor: FakeExecutor) -> Result<RunEnd, DriverError> {
    let mortal = |disk| Box::new(MortalDisk { disk, left: Arc::clone(&left), death });
    let (events, _watching) = unbounded_channel();
    let core = FakeCore::new(TINY);
    if !folder.join("journal.jsonl").exists() {
        let disk = mortal(FileDisk::create(folder, Durability::None).unwrap());
        let journal = Journal::create_on(folder.join("journal.jsonl"), disk, header("run-1"), Timestamp(0))?;
        return Driver::new(core, journal, Arc::new(executor), options(FakeClock::default()), events).run().await;
    }
    let disk = mortal(FileDisk::open(folder, Durability::None).unwrap());
    let opened = Journal::open_on(folder, disk)?;
    let driver = Driver::new(core, opened.journal, Arc::new(executor), options(FakeClock::default()), events);
    driver.resume(&opened.records).await
}

#[tokio::test]
async fn a_crash_at_any_write_changes_nothing() {
    let undisturbed = tempfile::tempdir().unwrap();
    let end = run(undisturbed.path(), TINY, FakeExecutor::default()).await.unwrap();
    let expected = canonical_of(undisturbed.path());
    let (mut points, mut reruns) = (0, 0);
    for death in [Death::Before, Death::Half, Death::After] {
        for left in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("run");
            let mut runs = Vec::new();
            let (found, died) = run_through_deaths(&folder, &[(left, death)], &mut runs).await;
            assert_eq!(found, end, "{death:?} after {left} operations");
            assert_eq!(canonical_of(&folder), expected, "{death:?} after {left} operations");
            reruns += runs.iter().map(|log| log.lock().unwrap().reruns).sum::<usize>();
            if died == 0 {
                break;
            }
            points += 1;
        }
    }
    println!("crash points survived: {points}");
    assert!(points > 100, "only {points} points");
    assert!(reruns > points, "effects under way must be performed again ({reruns})");
}

#[tokio::test]
async fn two_crashes_in_a_row_change_nothing() {
    let undisturbed = tempfile::tempdir().unwrap();
    let end = run(undisturbed.path(), TINY, FakeExecutor::default()).await.unwrap();
    let expected = canonical_of(undisturbed.path());
    for first in (0..60).step_by(7) {
        for second in [0, 1, 2, 3, 9, 20] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("run");
            let (found, _) = run_through_deaths(&folder, &[(first, Death::Half), (second, Death::After)], &mut Vec::new()).await;
            assert_eq!((found, canonical_of(&folder)), (end.clone(), expected.clone()), "{first}, then {second}");
        }
    }
}

#[tokio::test]
async fn a_journal_cut_behind_any_record_resumes_to_the_same_end() {
    let undisturbed = tempfile::tempdir().unwrap();
    let shape = Shape { rounds: 1, cells: 2, ..SMALL };
    let end = run(undisturbed.path(), shape, FakeExecutor::default()).await.unwrap();
    let expected = canonical_of(undisturbed.path());
    let bytes = std::fs::read(undisturbed.path().join("journal.jsonl")).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
    for cut in ends {
        let folder = tempfile::tempdir().unwrap();
        copy_blobs(undisturbed.path(), folder.path());
        std::fs::write(folder.path().join("journal.jsonl"), &bytes[..cut]).unwrap();
        let executor = FakeExecutor::default();
        let log = log_of(&executor);
        assert_eq!(resume(folder.path(), FakeCore::new(shape), executor).await.unwrap(), end);
        assert_eq!(canonical_of(folder.path()), expected, "cut at {cut}");
        assert!(log.lock().unwrap().performed.values().all(|times| *times == 1));
    }
}

fn copy_blobs(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("blobs")).unwrap();
    for blob in std::fs::read_dir(from.join("blobs")).unwrap() {
        let blob = blob.unwrap();
        std::fs::copy(blob.path(), to.join("blobs").join(blob.file_name())).unwrap();
    }
}

#[tokio::test]
async fn a_finished_effect_is_never_performed_again_and_an_ended_run_gives_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let end = run(folder.path(), SMALL, FakeExecutor::default()).await.unwrap();
    let before = std::fs::read(folder.path().join("journal.jsonl")).unwrap();
    let executor = FakeExecutor::default();
    let log = log_of(&executor);
    assert_eq!(resume(folder.path(), FakeCore::new(SMALL), executor).await.unwrap(), end);
    assert!(log.lock().unwrap().performed.is_empty());
    assert_eq!(std::fs::read(folder.path().join("journal.jsonl")).unwrap(), before);
}

#[tokio::test]
async fn a_changed_request_stops_the_resume_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), SMALL, FakeExecutor::default()).await.unwrap();
    let before = std::fs::read(folder.path().join("journal.jsonl")).unwrap();
    let executor = FakeExecutor::default();
    let log = log_of(&executor);
    let mut changed = FakeCore::new(SMALL);
    changed.salt = "other";
    let error = resume(folder.path(), changed, executor).await.unwrap_err();
    assert!(matches!(&error, DriverError::Journal(JournalError::RequestChanged { id, .. }) if id.0.ends_with(".r1.a1/1")), "{error}");
    assert!(error.to_string().contains("is no longer the recorded one"), "{error}");
    let longer = FakeCore::new(Shape { steps: 7, ..SMALL });
    let error = resume(folder.path(), longer, FakeExecutor::default()).await.unwrap_err();
    assert!(error.to_string().contains("was not made then"), "{error}");
    let shorter = FakeCore::new(Shape { rounds: 1, ..SMALL });
    let error = resume(folder.path(), shorter, FakeExecutor::default()).await.unwrap_err();
    assert!(error.to_string().contains("not made any more"), "{error}");
    assert!(log.lock().unwrap().performed.is_empty());
    assert_eq!(std::fs::read(folder.path().join("journal.jsonl")).unwrap(), before);
}

#[tokio::test]
async fn a_timer_cancels_and_the_late_outcome_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let shape = Shape { rounds: 1, cells: 2, steps: 2, timer_ms: 30 };
    let executor = FakeExecutor { hang: Some("role1@1.r1.a1/1"), ..FakeExecutor::default() };
    let log = log_of(&executor);
    // With so short a timer others may ring as well; the machine panics on any outcome or timer that it does not wait for.
    assert!(matches!(run(folder.path(), shape, executor).await.unwrap(), RunEnd::Ended { .. }));
    assert_eq!(log.lock().unwrap().cancelled, ["role1@1.r1.a1/1"]);
    assert!(log.lock().unwrap().released.contains(&"role1@1.r1.a1".to_owned()));
    let events = past_events(&records(folder.path()), "j", |_| 0);
    let failed =
        events.iter().filter(|event| matches!(event, Event::Note { note, .. } if matches!(note.event, NoteEvent::Fail { .. }))).count();
    let done = |id: &str| events.iter().any(|event| matches!(event, Event::EffectDone { id: found, .. } if found.0 == id));
    assert!(failed >= 1 && !done("role1@1.r1.a1/1") && done("role1@1.r1.a2/1"));
}

#[tokio::test]
async fn a_panicking_effect_is_a_failure_and_not_a_hang() {
    let folder = tempfile::tempdir().unwrap();
    let executor = FakeExecutor { panic: Some("role0@1.r1.a1/1"), ..FakeExecutor::default() };
    assert!(matches!(run(folder.path(), SMALL, executor).await.unwrap(), RunEnd::Ended { .. }));
    let events = past_events(&records(folder.path()), "j", |_| 0);
    let failed: Vec<_> = events.iter().filter(|event| matches!(event, Event::EffectDone { ok: false, .. })).collect();
    assert!(
        matches!(failed[..], [Event::EffectDone { id, detail, .. }] if id.0 == "role0@1.r1.a1/1" && detail.contains("no way")),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_stop_is_an_input_once_and_the_round_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicBool::new(true));
    let stop = Arc::clone(&asked);
    let options = Options { stop_requested: Arc::new(move || stop.load(Ordering::SeqCst)), ..options(FakeClock::default()) };
    let (events, _watching) = unbounded_channel();
    let driver = Driver::new(FakeCore::new(SMALL), create(folder.path()), Arc::new(FakeExecutor::default()), options, events);
    driver.handle().stop();
    assert!(matches!(driver.run().await.unwrap(), RunEnd::Ended { result, .. } if result == "STOPPED"));
    let text = std::fs::read_to_string(folder.path().join("journal.jsonl")).unwrap();
    assert_eq!(text.matches("\"input\":\"stop\"").count(), 1);
    let lines: Vec<&str> = text.lines().collect();
    let of = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert!(of("\"input\":\"stop\"") < of("\"input\":\"effect\""), "a stop that stands from the start comes before any effect");
}

#[tokio::test]
async fn the_second_signal_interrupts_and_the_run_can_be_resumed() {
    let undisturbed = tempfile::tempdir().unwrap();
    let end = run(undisturbed.path(), SMALL, FakeExecutor::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let executor = FakeExecutor { hang: Some("r2.a1/3"), ..FakeExecutor::default() };
    let log = log_of(&executor);
    let (events, mut watching) = unbounded_channel();
    let driver = Driver::new(FakeCore::new(SMALL), create(folder.path()), Arc::new(executor), options(FakeClock::default()), events);
    let handle = driver.handle();
    let running = tokio::spawn(driver.run());
    let mut hanging = 0;
    while hanging < 3 {
        let event = watching.recv().await.unwrap();
        hanging += usize::from(matches!(event, Event::EffectStarted { id, .. } if id.0.ends_with("r2.a1/3")));
    }
    handle.interrupt();
    assert_eq!(running.await.unwrap().unwrap(), RunEnd::Interrupted);
    assert_eq!(log.lock().unwrap().cancelled.len(), 3, "interrupted effects are cancelled and awaited");
    assert_eq!(resume(folder.path(), FakeCore::new(SMALL), FakeExecutor::default()).await.unwrap(), end);
    assert_eq!(canonical_of(folder.path()), canonical_of(undisturbed.path()));
    handle.signal();
}

#[tokio::test]
async fn the_first_signal_is_a_stop_that_a_resume_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let executor = FakeExecutor { hang: Some("r1.a1/2"), ..FakeExecutor::default() };
    let (events, mut watching) = unbounded_channel();
    let driver = Driver::new(FakeCore::new(SMALL), create(folder.path()), Arc::new(executor), options(FakeClock::default()), events);
    let handle = driver.handle();
    handle.fact("weather", Value::from("fair"));
    handle.signal();
    let running = tokio::spawn(driver.run());
    while !matches!(watching.recv().await.unwrap(), Event::EffectStarted { id, .. } if id.0.ends_with("r1.a1/2")) {}
    handle.signal();
    assert_eq!(running.await.unwrap().unwrap(), RunEnd::Interrupted);
    let end = resume(folder.path(), FakeCore::new(SMALL), FakeExecutor::default()).await.unwrap();
    assert!(
        matches!(&end, RunEnd::Ended { result, reason: Some(reason) } if result == "STOPPED" && reason.starts_with("1 facts")),
        "{end:?}"
    );
}

#[tokio::test]
async fn a_full_disk_is_a_fact_before_the_outcome_that_tells_it() {
    struct Full;
    impl rsf::executor::Executor for Full {
        fn perform(&self, _task: rsf::executor::Task) -> rsf::executor::BoxFuture<rsf::machine::Outcome> {
            Box::pin(async { crate::fake::all_outcomes().swap_remove(3) })
        }
        fn release(&self, _owner: &str) {}
    }
    let folder = tempfile::tempdir().unwrap();
    let (events, _watching) = unbounded_channel();
    let driver = Driver::new(FakeCore::new(SMALL), create(folder.path()), Arc::new(Full), options(FakeClock::default()), events);
    let end = driver.run().await.unwrap();
    assert!(matches!(end, RunEnd::Ended { reason: Some(reason), .. } if reason.starts_with("1 facts")));
}

#[tokio::test]
async fn a_machine_that_waits_for_nothing_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let shape = Shape { cells: 0, ..SMALL };
    let error = run(folder.path(), shape, FakeExecutor::default()).await.unwrap_err();
    assert!(matches!(error, DriverError::Stuck(_)), "{error}");
}

const FROZEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/journal/v1");

/// Writes the frozen journal of the present format: `cargo test --test driver -- --ignored freeze`. To be run once per version of the format,
/// into a new folder; a journal that is frozen is never written again.
#[tokio::test]
#[ignore = "writes test data"]
async fn freeze_an_interrupted_journal() {
    let folder = Path::new(FROZEN);
    assert!(!folder.exists(), "{FROZEN} is frozen already");
    run(folder, TINY, FakeExecutor { seed: 3, ..FakeExecutor::default() }).await.unwrap();
    let file = folder.join("journal.jsonl");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() * 2 / 3]).unwrap();
    let found = Journal::open(folder, Durability::None).unwrap();
    let canonical = canonical(&found.records, &Blobs::of(folder)).unwrap();
    std::fs::write(folder.join("canonical.json"), serde_json::to_string_pretty(&canonical).unwrap()).unwrap();
    let mut torn = std::fs::read(&file).unwrap();
    torn.extend_from_slice(b"{\"seq\":");
    std::fs::write(&file, torn).unwrap();
}

/// A journal of format 1 as it was written when the format was made: it must read and resume for ever.
#[tokio::test]
async fn a_frozen_journal_still_reads_and_resumes() {
    let undisturbed = tempfile::tempdir().unwrap();
    let end = run(undisturbed.path(), TINY, FakeExecutor::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    copy_blobs(Path::new(FROZEN), folder.path());
    std::fs::copy(Path::new(FROZEN).join("journal.jsonl"), folder.path().join("journal.jsonl")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(Path::new(FROZEN).join("canonical.json")).unwrap()).unwrap();
    assert_eq!(canonical_of(folder.path()), expected);
    let executor = FakeExecutor::default();
    let log = log_of(&executor);
    assert_eq!(resume(folder.path(), FakeCore::new(TINY), executor).await.unwrap(), end);
    assert_eq!(canonical_of(folder.path()), canonical_of(undisturbed.path()));
    let performed = log.lock().unwrap().performed.len();
    assert!(performed > 0 && performed < 20, "{performed}");
}
