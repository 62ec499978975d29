//! Commands that start runs: layers of settings, parameters, placing files, the demo's folder.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests; what they cannot do is a failed test")]

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rsf::cli::demo::{self, DemoError, Programs};
use rsf::cli::place::{PlaceError, Placed, place};
use rsf::cli::run::{Format, Overrides};
use rsf::cli::settings::{Settings, SettingsError, resolve};
use rsf::cli::{init, params, reference};
use rsf::model::tool::{Descriptor, EffectClass, Permission};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cases(path: &str) -> (Value, Vec<Value>) {
    let mut all: Value = serde_json::from_str(&read(path)).expect("JSON");
    let cases = all["cases"].take();
    (all, cases.as_array().cloned().expect("a list"))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn layered(document: &Value, case: &Value) -> Result<(Settings, Vec<String>), SettingsError> {
    let overrides = Overrides {
        profile: case["profile"].as_str().map(str::to_owned),
        config: case["file"].as_str().map(|_| "extra.json".into()),
        sets: texts(&case["sets"]),
        budget: case["budget"].as_str().map(str::to_owned),
        params: Vec::new(),
    };
    let layers = overrides.layers(&map(&document["profiles"]), |_| Ok(case["file"].as_str().unwrap_or_default().to_owned()))?;
    let start = Settings { config: document["config"].clone(), limits: map(&document["limits"]), params: Some(document["params"].clone()) };
    resolve(start, &layers)
}

fn defaults(schema: &Value) -> Value {
    let properties = map(&schema["properties"]);
    properties.iter().filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone()))).collect::<Map<_, _>>().into()
}

#[test]
fn layers_merge_in_order_and_only_where_they_may() {
    let (all, cases) = cases("settings/layers.json");
    for case in cases {
        match layered(&all["document"], &case) {
            Ok((settings, notes)) => {
                let got = json!({ "config": settings.config, "limits": settings.limits, "defaults": defaults(&settings.params.expect("a schema")) });
                assert_eq!(got, case["expect"], "{}", case["name"]);
                let note = case["note"].as_str();
                assert_eq!(notes.len(), usize::from(note.is_some()), "{}: {notes:?}", case["name"]);
                assert!(note.is_none_or(|note| notes[0].contains(note)), "{notes:?}");
            }
            Err(error) => assert_error(&case, &error),
        }
    }
}

#[test]
fn parameters_become_values_of_their_types() {
    let (all, cases) = cases("settings/params.json");
    for case in cases {
        match params::gather(Some(&all["schema"]), case["goal"].as_str(), &texts(&case["params"])) {
            Ok(values) => assert_eq!(Value::Object(values), case["expect"], "{}", case["name"]),
            Err(error) => assert_error(&case, &error),
        }
    }
}

fn assert_error(case: &Value, error: &SettingsError) {
    let expected = case["error"].as_str().unwrap_or_else(|| panic!("{}: refused: {error}", case["name"]));
    assert!(error.to_string().contains(expected), "{}: {error}", case["name"]);
}

#[test]
fn a_workflow_without_parameters_takes_no_text() {
    assert!(params::gather(None, Some("goal"), &[]).is_err());
    assert_eq!(params::gather(None, None, &[]), Ok(Map::new()));
}

#[test]
fn a_patch_of_any_depth_is_refused_not_followed() {
    let mut deep = json!(1);
    for _ in 0..10_000 {
        deep = Value::Array(vec![deep]);
    }
    let layer = rsf::cli::settings::Layer { name: "test".to_owned(), patch: Map::from_iter([("config".to_owned(), deep)]) };
    let error = resolve(Settings::default(), std::slice::from_ref(&layer)).expect_err("too deep");
    assert!(error.message.contains("nested deeper"), "{error}");
    // Dropping a value this deep recurses inside the JSON library; take it apart level by level.
    let mut rest = layer.patch.into_iter().map(|(_, value)| value).next();
    while let Some(Value::Array(mut items)) = rest {
        rest = items.pop();
    }
}

fn folder() -> (tempfile::TempDir, Dir) {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).expect("it opens");
    (temp, dir)
}

#[test]
fn placing_overwrites_nothing_unasked_and_then_writes_nothing_at_all() {
    let (_temp, dir) = folder();
    dir.write("b", "mine").expect("written");
    let files = [("a/x", "1"), ("b", "2")];
    match place(&dir, &files, false) {
        Err(PlaceError::Exists(clashes)) => assert_eq!(clashes, ["b"]),
        other => panic!("{other:?}"),
    }
    assert!(!dir.exists("a"), "nothing may be written when something is refused");
    let placed = place(&dir, &files, true).expect("forced");
    assert_eq!(placed, [("a/x".to_owned(), Placed::Written), ("b".to_owned(), Placed::Replaced)]);
    let again = place(&dir, &files, false).expect("the same content is no clash");
    assert!(again.iter().all(|(_, placed)| *placed == Placed::Same));
    assert_eq!(dir.read_to_string("b").expect("read"), "2");
}

#[test]
fn placing_stays_inside_the_folder() {
    let (temp, dir) = folder();
    for path in ["../out", "/etc/out", "", "a/../../out", "c:\\out", "a\0b"] {
        assert!(matches!(place(&dir, &[(path, "x")], true), Err(PlaceError::Outside(_))), "{path:?}");
    }
    let outside = tempfile::tempdir().expect("a temporary folder");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), temp.path().join("link")).expect("a link");
        assert!(place(&dir, &[("link/out", "x")], true).is_err());
        std::os::unix::fs::symlink(outside.path().join("file"), temp.path().join("dangling")).expect("a link");
        assert!(place(&dir, &[("dangling", "x")], true).is_err());
    }
    assert_eq!(std::fs::read_dir(outside.path()).expect("listed").count(), 0);
}

#[test]
fn init_takes_what_belongs_to_the_workflow_and_nothing_else() {
    let files: [(&str, &[u8]); 8] = [
        (
            "workflows/a.json",
            b"{\"rules\": {\"t\": \"workflows/a/t.json\"}, \"x\": \"prompts/shared/s.md\", \"sub\": \"workflows/b.json\"}",
        ),
        ("workflows/a/t.json", b"{}"),
        ("workflows/b.json", b"{\"prompt\": \"prompts/b/p.md\"}"),
        ("workflows/c.json", b"{}"),
        ("prompts/a/p.md", b"render('prompts/shared/deep.md')"),
        ("prompts/shared/deep.md", b""),
        ("prompts/shared/s.md", b""),
        ("prompts/b/p.md", b""),
    ];
    let chosen: Vec<&str> = init::belonging("a", &files).expect("it is there").into_iter().map(|(path, _)| path).collect();
    let mut expected: Vec<&str> = files.iter().map(|(path, _)| *path).filter(|path| *path != "workflows/c.json").collect();
    expected.sort_unstable();
    assert_eq!(chosen, expected);
    let error = init::belonging("d", &files).expect_err("unknown");
    assert_eq!(error.to_string(), "there is no built-in workflow `d`; there are a, b, c");
    let (_temp, dir) = folder();
    let said = init::write(&dir, "c", &files, false).expect("written");
    assert_eq!(said, ["wrote workflows/c.json", "1 file; check them with: rsf validate workflows/c.json"]);
    dir.write("workflows/c.json", "{\"changed\": 1}").expect("written");
    let error = init::write(&dir, "c", &files, false).expect_err("it is the user's now");
    assert_eq!(error.to_string(), "one file is there already and would be overwritten: workflows/c.json; use --force to overwrite");
}

/// Programs that only remember what they were asked; the one whose number is `broken` fails.
#[derive(Default)]
struct Fake {
    asked: Vec<String>,
    broken: Option<usize>,
}

impl Programs for Fake {
    fn run(&mut self, argv: &[OsString], _folder: &Path) -> Result<(), String> {
        let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        self.asked.push(words.join(" "));
        if self.broken == Some(self.asked.len()) { Err("it broke".to_owned()) } else { Ok(()) }
    }
}

fn prepare(dir: Option<&str>, below: &Path, programs: &mut Fake) -> Result<demo::PreparedDemo, DemoError> {
    let (code, needs, notes) =
        (read("samples/project/src/sums.py"), read("samples/project/requirements.txt"), read("samples/project/gitignore"));
    let embedded: [(&str, &[u8]); 4] = [
        ("samples/sums/project/src/sums.py", code.as_bytes()),
        ("samples/sums/project/requirements.txt", needs.as_bytes()),
        ("samples/sums/project/.gitignore", notes.as_bytes()),
        ("samples/other/file", b""),
    ];
    let sample = demo::choose(&read("samples/index.json"), None)?;
    demo::prepare(dir.map(Path::new), below, sample, &embedded, programs, &mut |_| {})
}

#[test]
fn the_demo_is_a_clean_repository_beside_its_interpreter() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let mut programs = Fake::default();
    let ready = prepare(None, temp.path(), &mut programs).expect("prepared");
    assert!(ready.folder.ends_with("rsf-demo") && ready.project == ready.folder.join("project"));
    let repository = git2::Repository::open(&ready.project).expect("a repository");
    let head = repository.head().expect("a branch").peel_to_commit().expect("a commit");
    assert_eq!((head.parent_count(), head.author().email().map(str::to_owned).ok()), (0, Some("demo@rsf.invalid".to_owned())));
    let tree = head.tree().expect("a tree");
    assert!([".gitignore", "requirements.txt", "src/sums.py"].iter().all(|path| tree.get_path(Path::new(path)).is_ok()));
    assert!(repository.statuses(None).expect("a status").is_empty(), "the tree must be clean");
    assert_eq!(programs.asked.len(), 3, "{:?}", programs.asked);
    let args = ready.run_args(Format::Json);
    assert_eq!(
        (args.workflow.as_str(), args.goal.as_deref(), args.yes, args.format),
        ("workflows/sums.json", Some("cover the sums"), true, Format::Json)
    );
    let ready_look = ready.look();
    let python = ready.python.expect("an interpreter");
    assert!(python.starts_with(&ready.folder) && !python.starts_with(&ready.project));
    assert_eq!(args.overrides.sets, [format!("config.python={}", json!(python.to_string_lossy()))]);
    assert_eq!(ready_look, [format!("cd '{}'", ready.project.display()), "git log --oneline".to_owned()]);
    let next = prepare(None, temp.path(), &mut Fake::default()).expect("prepared again");
    assert!(next.folder.ends_with("rsf-demo-2"), "an earlier demo is never touched");
}

#[test]
fn the_demo_takes_no_folder_that_holds_anything() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(temp.path().join("full")).expect("made");
    std::fs::write(temp.path().join("full/file"), "mine").expect("written");
    std::fs::create_dir(temp.path().join("empty")).expect("made");
    let error = prepare(Some("full"), temp.path(), &mut Fake::default()).expect_err("it is not empty");
    assert!(matches!(error, DemoError::Folder(_)), "{error}");
    assert_eq!(std::fs::read_dir(temp.path().join("full")).expect("listed").count(), 1);
    assert!(prepare(Some("empty"), temp.path(), &mut Fake::default()).is_ok());
    assert!(prepare(Some("new/deep"), temp.path(), &mut Fake::default()).is_ok());
}

#[test]
fn a_demo_that_fails_leaves_only_what_was_there_before() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    // 1 asks for the interpreter (a second name is tried), 2 makes the environment, 3 installs into it.
    for broken in [2, 3] {
        let mut programs = Fake { broken: Some(broken), ..Fake::default() };
        let error = prepare(None, temp.path(), &mut programs).expect_err("broken");
        assert!(error.to_string().contains("it broke"), "{error}");
        assert_eq!(error.to_string().contains("PIP_FIND_LINKS"), broken == 3, "without a network it says what would help: {error}");
        assert_eq!(std::fs::read_dir(temp.path()).expect("listed").count(), 0);
    }
    let mut programs = Fake { broken: Some(1), ..Fake::default() };
    assert!(prepare(None, temp.path(), &mut programs).is_ok() && programs.asked[1].starts_with("python "));
}

#[test]
fn what_a_program_said_when_it_failed_is_told() {
    let mut programs = demo::SystemPrograms;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing = programs.run(&["no-such-program-here".into()], here).expect_err("there is none");
    assert!(missing.contains("`no-such-program-here` cannot be started"), "{missing}");
    let failed = programs.run(&["cargo".into(), "no-such-command-here".into()], here).expect_err("it fails");
    assert!(failed.contains("`cargo` failed") && failed.contains("no-such-command-here"), "{failed}");
    assert_eq!(programs.run(&["cargo".into(), "--version".into()], here), Ok(()));
    assert!(programs.run(&[], here).is_err());
}

#[test]
fn a_sample_that_is_not_there_is_named_with_those_that_are() {
    let error = demo::choose(&read("samples/index.json"), Some("smus")).expect_err("unknown");
    assert_eq!(error.to_string(), "there is no sample `smus`; did you mean `sums`?");
    assert!(demo::choose("{", None).is_err());
    let bare = demo::choose(&read("samples/index.json"), Some("bare")).expect("there");
    assert!(demo::prepare(None, Path::new("/nowhere"), bare, &[], &mut Fake::default(), &mut |_| {}).is_err());
}

#[test]
fn the_reference_lists_operations_words_and_tools() {
    let tools = [Descriptor {
        name: "git.commit",
        description: "Commits.",
        arguments: json!({ "properties": { "message": {}, "paths": {} }, "required": ["message"] }),
        result: json!({}),
        permission: Permission::GitWrite,
        effect: EffectClass::Git,
    }];
    let words = reference::collect([reference::Word::new("filters", "text|slug", "lower-case letters")], &tools);
    let text = reference::render(&words, &reference::Args::default());
    assert!(text.starts_with("operations\n  {\"let\"") && text.contains("\nfilters\n  text|slug\n      lower-case letters\n"), "{text}");
    assert!(text.contains("\ntools\n  git.commit(message, paths?)\n      Commits. [changes the repository; needs git: write]\n"), "{text}");
    let only = reference::Args { word: Some("slug".to_owned()), format: reference::Format::Json };
    let rows: Value = serde_json::from_str(&reference::render(&words, &only)).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    let none = reference::Args { word: Some("nothing-like-it".to_owned()), ..reference::Args::default() };
    assert_eq!(reference::render(&words, &none), "no word of the language matches\n");
}

/// The arguments as the command line gives them.
#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    run: rsf::cli::run::Args,
}

#[test]
fn the_command_line_of_a_run_is_read() {
    use clap::Parser as _;
    let words = "rsf w.json goal --repo /p --param a=1 --param b=2 --profile demo --config c.json --set x.y=1 --set z=2 -y --branch b --dry-run --format json --workflows more";
    let args = Line::try_parse_from(words.split(' ')).expect("read").run;
    assert_eq!(args.overrides.params, ["a=1", "b=2"]);
    assert_eq!(args.overrides.sets, ["x.y=1", "z=2"]);
    assert!(args.yes && args.dry_run && args.format == Format::Json && args.branch.as_deref() == Some("b"));
    assert_eq!((args.repo.as_path(), args.overrides.config.as_deref()), (Path::new("/p"), Some(Path::new("c.json"))));
    assert!(Line::try_parse_from(["rsf"]).is_err());
}
