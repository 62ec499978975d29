//! `rsf resume` after a real SIGKILL: the same canonical record and the same files as a run that nobody disturbed.

use crate::program::{Ended, Place, case};
use rsf::journal::{Blobs, Reader, canonical};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

const SLOW: &str = r#"config.providers={"deepseek":null,"zai":null,"x":{"wire":"scripted","models":["*"],"script":"samples/slow.json"}}"#;

/// The built-in workflow beside a script that takes its time; its path and the folder it lies in.
pub fn slow_bundle(place: &Place) -> (String, std::path::PathBuf) {
    let folder = place.folder().join("bundle");
    std::fs::create_dir_all(&folder).unwrap();
    assert!(place.rsf(&["init", "writer-editor", "../bundle"]).output().unwrap().status.success());
    std::fs::create_dir_all(folder.join("samples")).unwrap();
    std::fs::copy(case("samples/slow.json"), folder.join("samples/slow.json")).unwrap();
    (folder.join("workflows/writer-editor.json").to_string_lossy().into_owned(), folder)
}

fn record(folder: &Path) -> Vec<Value> {
    let records = Reader::open(folder).and_then(|mut reader| reader.poll()).unwrap();
    canonical(&records, &Blobs::of(folder)).unwrap()
}

/// Starts a run and kills it when the `nth` line that holds `word` has come.
fn killed(place: &Place, args: &[&str], word: &str, nth: usize) {
    let mut child = place.rsf(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.filter(|line| line.contains(word)).nth(nth).is_some(), "the run ended before it could be killed");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it must have died of the signal");
}

fn disturbed(word: &str, nth: usize, expected: &(Vec<Value>, String)) {
    let place = Place::new();
    let (workflow, _) = slow_bundle(&place);
    let args = ["run", &workflow, "why rivers bend", "--yes", "--format", "json", "--set", SLOW];
    killed(&place, &args, word, nth);
    let resumed = place.run(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{word} {nth}: {resumed:?}");
    // The last screen is of the whole run, not of what was left of it.
    assert!(resumed.out.contains("2 rounds, 4 cells"), "{word} {nth}: {resumed:?}");
    let folder = place.run_folder(".rsf");
    assert_eq!(record(&folder), expected.0, "{word} {nth}");
    assert_eq!(place.read("drafts/final.md"), expected.1, "{word} {nth}");
    let again = place.run(&["resume", &folder.file_name().unwrap().to_string_lossy()]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("has ended with APPROVED") && again.err.contains("nothing to go on with"), "{again:?}");
    assert_eq!(place.run(&["resume"]).code, Some(2));
}

#[test]
fn a_run_that_was_killed_goes_on_as_if_nothing_had_happened() {
    let place = Place::new();
    let (workflow, _) = slow_bundle(&place);
    let ended = place.run(&["run", &workflow, "why rivers bend", "--yes", "--set", SLOW]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let expected = (record(&place.run_folder(".rsf")), place.read("drafts/final.md"));
    assert!(expected.0.len() > 10);
    for (word, nth) in [("\"started\"", 0), ("effect-started", 0), ("effect-done", 1), ("effect-started", 3), ("\"store\"", 0)] {
        disturbed(word, nth, &expected);
    }
}

#[test]
fn a_document_that_changed_since_is_refused_and_the_journal_stays_as_it_is() {
    let place = Place::new();
    let (workflow, bundle) = slow_bundle(&place);
    killed(&place, &["run", &workflow, "why rivers bend", "--yes", "--format", "json", "--set", SLOW], "effect-started", 1);
    for path in ["prompts/writer-editor/judge.md", "workflows/writer-editor.json"] {
        let path = bundle.join(path);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("draft", "DRAFT")).unwrap();
        let refused = place.run(&["resume"]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.err.contains("changed since run"), "{}: {refused:?}", path.display());
        assert!(!place.project().join("drafts").exists());
        std::fs::write(&path, text).unwrap();
    }
    let resumed = place.run(&["resume"]);
    assert_eq!(resumed.code, Some(0), "put back, it goes on: {resumed:?}");
}

/// Waits until the program of the run says by a file that it has begun; a run that ends before that has failed.
pub fn until_begun(place: &Place, child: &mut Child) {
    while !place.project().join("src/begun").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its program began");
        std::thread::yield_now();
    }
}

#[test]
fn a_program_that_was_cut_off_runs_again_and_its_result_says_so() {
    let place = Place::new();
    let args = ["run", &case("workflows/rerun.json"), "x", "--yes", "--format", "json"];
    let mut child = place.rsf(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("effect-started")));
    until_begun(&place, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = place.run(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let answer: Value = serde_json::from_str(&place.read("answer.json")).unwrap();
    assert_eq!(answer, serde_json::json!({ "rerun": true, "said": "again\n" }));
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let place = Place::new();
    let args = ["run", &case("workflows/rerun.json"), "x", "--yes"];
    let mut child = place.rsf(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_begun(&place, &mut child);
    let pid = child.id().to_string();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let signal = || assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    signal();
    let mut line = String::new();
    while !line.contains("a stop was asked for") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0);
    }
    signal();
    let mut output = child.wait_with_output().unwrap();
    std::io::Read::read_to_end(&mut err, &mut output.stderr).unwrap();
    let ended = Ended::of(&output);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.err.contains("rsf resume"), "{ended:?}");
    assert_eq!(place.run(&["resume"]).code, Some(0));
}
