//! The journal by itself: what is written reads back, what is damaged is seen, what is torn is cut, and nothing is invented.

use crate::fake::{all_outcomes, header};
use proptest::prelude::*;
use rsf::agent::{Asker, Message, ModelRequest};
use rsf::base::Timestamp;
use rsf::journal::{
    Blobs, Disk, Durability, Entry, FileDisk, Journal, JournalError, Reader, Record, RunLock, canonical, full_requests, run_folder,
};
use rsf::machine::{EffectId, Input, LogRequest, Note, NoteEvent, Outcome, Place, Request, StoreRequest};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const T0: Timestamp = Timestamp(1_700_000_000_000);

fn effect(index: usize, outcome: Outcome) -> Input {
    Input::Effect { id: EffectId(format!("a@1.r1.a1/{index}")), at: T0, outcome }
}

fn log_request(text: &str) -> Request {
    Request::Log(LogRequest { path: "l.jsonl".into(), record: serde_json::Map::new(), text: text.into() })
}

/// A small journal with every kind of record; closed. Gives its folder.
fn small(folder: &Path) -> PathBuf {
    let folder = folder.join("run");
    let mut journal = Journal::create(&folder, header("run-1"), T0, Durability::None).unwrap();
    journal.append_input(T0, &Input::Start { at: T0, project: json!({"root": "/p/q", "name": "q"}) }).unwrap();
    journal.append_request(T0, &EffectId("a@1.r1.a1/0".into()), "def", &log_request("x")).unwrap();
    journal.append_note(T0, &Note { place: Place::default(), event: NoteEvent::Round { round: 1 } }).unwrap();
    journal.commit().unwrap();
    for (index, outcome) in all_outcomes().into_iter().enumerate() {
        journal.append_input(T0, &effect(index, outcome)).unwrap();
        journal.commit().unwrap();
    }
    journal.append(T0, &Entry::End { result: "DONE".into(), reason: None }).unwrap();
    journal.close().unwrap();
    folder
}

fn open(folder: &Path) -> Result<(Vec<Record>, Vec<String>), JournalError> {
    Journal::open(folder, Durability::None).map(|opened| (opened.records, opened.notes))
}

#[test]
fn what_is_written_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = small(folder.path());
    let (records, notes) = open(&folder).unwrap();
    assert!(notes.is_empty());
    assert_eq!(records.len(), 12);
    assert!(records.iter().enumerate().all(|(n, record)| record.seq == n as u64 && record.at == T0));
    let outcomes: Vec<Outcome> = records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Input(input) => match input.as_ref() {
                Input::Effect { outcome, .. } => Some(outcome.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, all_outcomes());
    assert_eq!(Reader::open(&folder).unwrap().poll().unwrap(), records);
    let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line["hash"].is_string())));
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_back_and_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let file = folder.join("journal.jsonl");
    let whole = std::fs::read(&file).unwrap();
    let (records, _) = open(&folder).unwrap();
    let header_end = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    for cut in 0..whole.len() {
        for zeros in [0, 700] {
            let mut torn = whole[..cut].to_vec();
            torn.resize(cut + zeros, 0);
            std::fs::write(&file, &torn).unwrap();
            if cut < header_end {
                assert!(matches!(open(&folder), Err(JournalError::Damaged { good: None, .. })), "cut at {cut}");
                continue;
            }
            let mut opened = Journal::open(&folder, Durability::None).unwrap();
            let kept = whole[..cut].iter().filter(|b| **b == b'\n').count();
            assert_eq!(opened.records, records[..kept], "cut at {cut}");
            assert_eq!(opened.notes.len(), usize::from(whole[cut - 1] != b'\n'), "cut at {cut}");
            if cut % 50 == 0 {
                opened.journal.append_input(T0, &Input::Resume { at: T0 }).unwrap();
                opened.journal.close().unwrap();
                let (again, notes) = open(&folder).unwrap();
                assert_eq!((again.len(), notes.len()), (kept + 1, 0));
            }
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let file = folder.join("journal.jsonl");
    let whole = std::fs::read(&file).unwrap();
    let (records, _) = open(&folder).unwrap();
    let last_line = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for at in 0..whole.len() {
        for flip in [0x20, whole[at] ^ b'\n'] {
            if flip == 0 {
                continue;
            }
            let mut flipped = whole.clone();
            flipped[at] ^= flip;
            std::fs::write(&file, &flipped).unwrap();
            let line = whole[..at].iter().filter(|b| **b == b'\n').count() as u64;
            match open(&folder) {
                Ok((kept, notes)) => {
                    // A line feed that is no more makes one broken line of the last two.
                    let gone = if at + 1 == last_line { 2 } else { 1 };
                    assert!(at + 1 >= last_line, "byte {at} ^ {flip}: only the last line may be taken for a torn one");
                    assert_eq!(kept, records[..records.len() - gone], "byte {at} ^ {flip}");
                    assert_eq!(notes.len(), 1);
                }
                Err(JournalError::Damaged { good, .. }) => assert_eq!(good, line.checked_sub(1), "byte {at} ^ {flip}"),
                Err(other) => panic!("byte {at} ^ {flip}: {other}"),
            }
        }
    }
}

#[test]
fn a_missing_a_doubled_and_a_moved_line_are_seen() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let file = folder.join("journal.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for at in 0..lines.len() - 1 {
        let mut missing = lines.clone();
        missing.remove(at);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        for (name, changed) in [("missing", missing), ("doubled", doubled), ("moved", moved)] {
            std::fs::write(&file, changed.concat()).unwrap();
            match open(&folder) {
                Err(JournalError::Damaged { .. }) => {}
                // At the very end it is a torn tail: nothing but the last line can be concerned.
                Ok((kept, notes)) => assert!(at + 3 >= lines.len() && kept.len() + 2 >= lines.len() && notes.len() == 1, "{name} at {at}"),
                Err(other) => panic!("{name} at {at}: {other}"),
            }
        }
    }
}

#[test]
fn a_line_of_another_run_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let other = home.path().join("other");
    let mut journal = Journal::create(&other, header("run-2"), T0, Durability::None).unwrap();
    journal.append_input(T0, &Input::Stop { at: T0 }).unwrap();
    journal.close().unwrap();
    let foreign = std::fs::read_to_string(other.join("journal.jsonl")).unwrap();
    let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines[1] = foreign.split_inclusive('\n').nth(1).unwrap();
    std::fs::write(folder.join("journal.jsonl"), lines.concat()).unwrap();
    let error = open(&folder).unwrap_err();
    assert!(error.to_string().contains("record 1 does not follow the one before it"), "{error}");
}

#[test]
fn a_long_torn_tail_leaves_nothing_behind_a_short_line() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let file = folder.join("journal.jsonl");
    let torn = [std::fs::read(&file).unwrap(), vec![b'x'; 5000]].concat();
    std::fs::write(&file, torn).unwrap();
    let mut opened = Journal::open(&folder, Durability::None).unwrap();
    assert_eq!(opened.notes.len(), 1);
    opened.journal.append_input(T0, &Input::Resume { at: T0 }).unwrap();
    opened.journal.commit().unwrap();
    drop(opened); // the process dies here
    let (records, notes) = open(&folder).unwrap();
    assert_eq!((records.len(), notes), (13, vec![]));
}

#[test]
fn faults_have_their_names() {
    let home = tempfile::tempdir().unwrap();
    assert!(matches!(open(home.path()), Err(JournalError::Missing { .. })));
    let folder = small(home.path());
    let again = Journal::create(&folder, header("run-1"), T0, Durability::None);
    assert!(matches!(again, Err(JournalError::Exists { .. })));
    let newer =
        Journal::create(&home.path().join("newer"), rsf::journal::Header { format: 2, ..header("n") }, T0, Durability::None).unwrap();
    newer.close().unwrap();
    let error = open(&home.path().join("newer")).unwrap_err();
    assert!(matches!(error, JournalError::Unknown { .. }) && error.to_string().contains("format 2"), "{error}");
    std::fs::write(folder.join("journal.jsonl"), "{\"body\":{\"format\":9,\"program\":\"3.1\"}}\n").unwrap();
    assert!(open(&folder).unwrap_err().to_string().contains("written by version 3.1"));
    for bad in ["", "..", "a/b", ".hidden", "a\u{202e}b", "a b"] {
        assert!(matches!(run_folder(home.path(), bad), Err(JournalError::RunName { .. })), "{bad}");
    }
    assert!(run_folder(home.path(), "loop_20260628T143500-迭代.1").unwrap().starts_with(home.path().join("runs")));
}

#[test]
fn a_reader_follows_a_growing_journal() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("run");
    let mut journal = Journal::create(&folder, header("run-1"), T0, Durability::Full).unwrap();
    let mut reader = Reader::open(&folder).unwrap();
    assert_eq!(reader.poll().unwrap().len(), 1);
    assert!(reader.poll().unwrap().is_empty());
    for n in 0..20 {
        journal.append_input(T0, &effect(n, Outcome::Tool(json!({"text": "t".repeat(n * 1000)})))).unwrap();
        assert!(reader.poll().unwrap().is_empty(), "what is not committed is not seen");
        journal.commit().unwrap();
        let seen = reader.poll().unwrap();
        assert!(matches!(&seen[..], [record] if record.seq == n as u64 + 1));
    }
    assert_eq!(std::fs::metadata(folder.join("journal.jsonl")).unwrap().len() % 4096, 0, "space is reserved ahead");
    let whole = std::fs::metadata(folder.join("journal.jsonl")).unwrap().len();
    journal.close().unwrap();
    assert!(std::fs::metadata(folder.join("journal.jsonl")).unwrap().len() < whole, "and given back");
    assert!(reader.poll().unwrap().is_empty());
}

#[test]
fn a_reader_waits_for_the_rest_of_a_line_and_refuses_damage() {
    let home = tempfile::tempdir().unwrap();
    let folder = small(home.path());
    let file = folder.join("journal.jsonl");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"").unwrap();
    let mut reader = Reader::open(&folder).unwrap();
    let mut seen = 0;
    for end in (0..=whole.len()).step_by(13).chain([whole.len()]) {
        let mut visible = whole[..end].to_vec();
        // The second half of a line may be seen before its first half.
        let unseen = whole[end..].iter().position(|b| *b == b'\n').unwrap_or(0);
        if unseen > 0 {
            visible.extend(std::iter::repeat_n(0, unseen));
            visible.push(b'\n');
        }
        visible.resize(whole.len() + 64, 0);
        std::fs::write(&file, &visible).unwrap();
        seen += reader.poll().unwrap().len();
        assert_eq!(seen, whole[..end].iter().filter(|b| **b == b'\n').count());
    }
    assert_eq!(seen, 12);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    let mut reader = Reader::open(&folder).unwrap();
    reader.poll().unwrap();
    assert!(matches!(reader.poll(), Err(JournalError::Damaged { .. })));
}

#[test]
fn large_values_lie_in_blobs_once_and_damage_to_them_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("run");
    let mut journal = Journal::create(&folder, header("run-1"), T0, Durability::Full).unwrap();
    let large = json!({"text": "é".repeat(3000), "list": (0..5000).collect::<Vec<_>>(), "$blob": 1});
    for n in 0..3 {
        journal.append_input(T0, &effect(n, Outcome::Tool(large.clone()))).unwrap();
    }
    let store = Request::Store(StoreRequest { name: "T".into(), paths: vec!["t".into()], text: "é".repeat(3000) });
    journal.append_request(T0, &EffectId("a@1.r1.a1/9".into()), "d", &store).unwrap();
    journal.close().unwrap();
    let blobs: Vec<PathBuf> = std::fs::read_dir(folder.join("blobs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(blobs.len(), 2, "the same content is written once: {blobs:?}");
    assert!(std::fs::metadata(folder.join("journal.jsonl")).unwrap().len() < 4000);
    let (records, _) = open(&folder).unwrap();
    assert!(matches!(&records[1].entry, Entry::Input(input) if **input == effect(0, Outcome::Tool(large.clone()))));
    assert_eq!(full_requests(&records, &Blobs::of(&folder)).unwrap()[0].1, store);
    for blob in blobs {
        let content = std::fs::read(&blob).unwrap();
        for damage in [b"x".as_slice(), &[content.as_slice(), b"x"].concat(), &content[1..]] {
            std::fs::write(&blob, damage).unwrap();
            let error = open(&folder).map(|_| ()).unwrap_err();
            assert!(matches!(error, JournalError::Damaged { good: Some(0), .. }), "{error}");
        }
        std::fs::remove_file(&blob).unwrap();
        assert!(open(&folder).unwrap_err().to_string().contains("cannot be read"));
        std::fs::write(&blob, content).unwrap();
    }
    open(&folder).unwrap();
}

fn turn(messages: &[Message], turn: u32, system: &str) -> Request {
    let asker = Asker { role: "a".into(), cell: "a@1".into(), round: 1, attempt: 1, item: None, session: 1, turn };
    Request::Model(ModelRequest {
        asker,
        session_id: "s".into(),
        model: "m".into(),
        system: system.into(),
        messages: Arc::new(messages.to_vec()),
        tools: Vec::new(),
        output: json!({"type": "object"}),
        timeout_ms: 1000 + u64::from(turn),
    })
}

#[test]
fn a_session_is_recorded_by_what_is_new_and_can_be_put_together_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("run");
    let say = |n: usize| Message::User { text: format!("message number {n} {}", "x".repeat(n)) };
    let history: Vec<Message> = (0..9).map(say).collect();
    let mut asked: Vec<Request> = (1..6).map(|n| turn(&history[..n], n as u32, "be brief")).collect();
    asked.push(turn(&history[3..6], 6, "be brief")); // shortened by the session itself
    asked.push(turn(&history[3..7], 7, "be long")); // other frame
    let mut journal = Journal::create(&folder, header("run-1"), T0, Durability::None).unwrap();
    for (n, request) in asked.iter().enumerate() {
        if n == 3 {
            journal.close().unwrap();
            journal = Journal::open(&folder, Durability::None).unwrap().journal;
        }
        journal.append_request(T0, &EffectId(format!("a@1.r1.a1/{n}")), "d", request).unwrap();
    }
    journal.close().unwrap();
    let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    assert_eq!(text.matches("message number 1 ").count(), 1, "a message is recorded once, also by the process that goes on");
    assert_eq!(text.matches("message number 4 ").count(), 2, "unless the history was rewritten");
    assert_eq!(text.matches("be brief").count(), 1);
    let (records, _) = open(&folder).unwrap();
    let restored: Vec<Request> = full_requests(&records, &Blobs::of(&folder)).unwrap().into_iter().map(|(_, request)| request).collect();
    assert_eq!(restored, asked);
}

#[test]
fn a_failed_commit_closes_the_journal_and_leaves_it_whole() {
    struct Full(FileDisk, bool);
    impl Disk for Full {
        fn write(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
            if self.1 {
                self.0.write(at, &bytes[..3])?;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.1 = true;
            self.0.write(at, bytes)
        }
        fn sync(&mut self) -> std::io::Result<()> {
            self.0.sync()
        }
        fn cut(&mut self, length: u64) -> std::io::Result<()> {
            self.0.cut(length)
        }
        fn blob(&mut self, digest: &str, bytes: &[u8]) -> std::io::Result<()> {
            self.0.blob(digest, bytes)
        }
        fn sync_blobs(&mut self) -> std::io::Result<()> {
            self.0.sync_blobs()
        }
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("run");
    let disk = Full(FileDisk::create(&folder, Durability::None).unwrap(), false);
    let mut journal = Journal::create_on(folder.join("journal.jsonl"), Box::new(disk), header("run-1"), T0).unwrap();
    journal.append_input(T0, &Input::Stop { at: T0 }).unwrap();
    assert!(matches!(journal.commit(), Err(JournalError::DiskFull { .. })));
    assert!(matches!(journal.append_input(T0, &Input::Stop { at: T0 }), Err(JournalError::Closed { .. })));
    assert!(matches!(journal.commit(), Err(JournalError::Closed { .. })));
    let (records, notes) = open(&folder).unwrap();
    assert_eq!((records.len(), notes.len()), (1, 1));
}

#[test]
fn one_run_holds_a_project() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(RunLock::holder(home.path()).unwrap(), None);
    let lock = RunLock::acquire(home.path(), "run-1", T0).unwrap();
    let text = RunLock::acquire(home.path(), "run-2", T0).unwrap_err().to_string();
    assert!(text.contains(&format!("run run-1, pid {}, since 2023-11-14T22:13:20.000Z", std::process::id())), "{text}");
    assert!(RunLock::holder(home.path()).unwrap().is_some_and(|holder| holder.contains("run-1")));
    drop(lock);
    assert_eq!(RunLock::holder(home.path()).unwrap(), None);
    RunLock::acquire(home.path(), "run-2", T0).unwrap();
}

#[test]
fn the_canonical_record_knows_no_times_shas_or_order_of_finishing() {
    let sha = |c: char| c.to_string().repeat(40);
    let record = |root: &str, at: i64, shas: [String; 2], swap: bool| {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        let at = Timestamp(at);
        let mut journal = Journal::create(&folder, header("any"), at, Durability::None).unwrap();
        journal.append_input(at, &Input::Start { at, project: json!({ "root": root }) }).unwrap();
        let answer = |n: usize| {
            let result = json!({"sha": shas[n], "ms": at.0, "stdout": format!("{root}/x at {} in 0.{}s, {}", at.rfc3339(), at.0, shas[1 - n]), "n": n});
            Input::Effect { id: EffectId(format!("r{n}@2.r1.a1/0")), at, outcome: Outcome::Tool(result) }
        };
        for n in if swap { [1, 0] } else { [0, 1] } {
            let done = NoteEvent::Done { cell: format!("r{n}@2"), recovered: false, emitted: vec![] };
            journal.append_input(at, &answer(n)).unwrap();
            journal.append_note(at, &Note { place: Place { round: 1, seq: 2, role: n as u32, index: 9 }, event: done }).unwrap();
        }
        journal.close().unwrap();
        let (records, _) = open(&folder).unwrap();
        canonical(&records, &Blobs::of(&folder)).unwrap()
    };
    let one = record("/home/a", 1_700_000_000_001, [sha('a'), sha('b')], false);
    assert_eq!(record("/tmp/b", 1_800_000_000_002, [sha('c'), sha('d')], true), one);
    assert_ne!(record("/tmp/b", 1_800_000_000_002, [sha('c'), sha('c')], true), one, "which shas are the same matters");
    let text = serde_json::to_string(&one).unwrap();
    assert!(text.contains("<project>/x at <time> in <seconds>, <sha "), "{text}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (4000_usize..5000, any::<char>()).prop_map(|(n, c)| Value::from(c.to_string().repeat(n))),
    ];
    let key = prop_oneof![any::<String>(), Just("$blob".to_owned()), Just("$$blob".to_owned()), Just("bytes".to_owned())];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_value_in_any_batch_reads_back(batches in prop::collection::vec(prop::collection::vec(any_json(), 1..4), 1..4)) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("run");
        let mut journal = Journal::create(&folder, header("run-1"), T0, Durability::None).unwrap();
        let mut written = Vec::new();
        for (n, batch) in batches.iter().enumerate() {
            for value in batch {
                let input = match n % 3 {
                    0 => effect(n, Outcome::Tool(value.clone())),
                    1 => Input::Fact { name: value.to_string(), value: value.clone(), at: T0 },
                    _ => Input::Start { at: T0, project: value.clone() },
                };
                journal.append_input(Timestamp(n as i64), &input).unwrap();
                written.push(input);
            }
            journal.commit().unwrap();
        }
        drop(journal);
        let (records, notes) = open(&folder).unwrap();
        prop_assert!(notes.is_empty());
        let read: Vec<Input> = records.into_iter().filter_map(|record| match record.entry {
            Entry::Input(input) => Some(*input),
            _ => None,
        }).collect();
        prop_assert_eq!(read, written);
    }
}
