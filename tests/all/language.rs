//! The reference page against the program: every operation, filter, function, tool, limit, failure and finding stands on it, and nothing else does.

use rsf::agent::FailureKind;
use rsf::base::Limits;
use rsf::cli::reference::{Args, Word, collect};
use rsf::rule::{EntryKind, reference};
use std::collections::BTreeSet;
use std::path::Path;

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// The text of a section, from its heading to the next one of the same depth.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(heading).unwrap_or_else(|| panic!("no section {heading}"));
    let depth = heading.split(' ').next().unwrap();
    let rest = &page[start + heading.len()..];
    let end = rest.find(&format!("\n{depth} ")).unwrap_or(rest.len());
    &rest[..end]
}

/// First column of every table row: what stands in code there.
fn coded(section: &str) -> Vec<String> {
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|line| {
        let line = line.replace("\\|", "\u{0}");
        let cell = line.split('|').nth(1).unwrap_or_default().replace('\u{0}', "|");
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

fn name_of(form: &str) -> String {
    let head = form.split('(').next().unwrap();
    head.rsplit('|').next().unwrap().trim().to_owned()
}

fn words() -> Vec<Word> {
    collect([], rsf::model::tools::descriptors())
}

#[test]
fn operations_are_those_of_the_program() {
    let page = page("language.md");
    let told: BTreeSet<String> =
        coded(section(&page, "## 4. Operations")).iter().filter_map(|form| form.split('"').nth(1).map(str::to_owned)).collect();
    let known: BTreeSet<String> =
        words().iter().filter(|word| word.kind == "operations").filter_map(|word| word.form.split('"').nth(1).map(str::to_owned)).collect();
    assert_eq!(told, known);
}

#[test]
fn filters_and_functions_are_those_of_the_program() {
    let page = page("language.md");
    let table = section(section(&page, "## 5. Expressions and templates"), "Beside MiniJinja's own filters and functions");
    let told: BTreeSet<String> = coded(table).iter().map(|form| name_of(form)).collect();
    let forms = |entry: &rsf::rule::Entry| match entry.kind {
        EntryKind::Function => vec![entry.form],
        EntryKind::Filter => entry.form.split(", ").filter(|form| form.contains('|')).collect(),
    };
    let known: BTreeSet<String> = reference().iter().flat_map(forms).map(name_of).collect();
    assert_eq!(told, known);
}

#[test]
fn tools_and_their_arguments_are_those_of_the_program() {
    let page = page("language.md");
    let tools = section(&page, "## 7. Tools");
    let told: BTreeSet<String> = coded(tools).into_iter().collect();
    let known: BTreeSet<String> = rsf::model::tools::descriptors().iter().map(|tool| tool.name.to_owned()).collect();
    assert_eq!(told, known);
    for tool in rsf::model::tools::descriptors() {
        let row = tools.lines().find(|line| line.starts_with(&format!("| `{}`", tool.name))).unwrap();
        let given = row.split('|').nth(2).unwrap();
        for argument in tool.arguments["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            assert!(given.contains(&format!("`{argument}")), "{} takes `{argument}`, the page says {given}", tool.name);
        }
    }
}

#[test]
fn limits_and_failures_are_all_told() {
    let page = page("language.md");
    for limit in Limits::NAMES {
        assert!(section(&page, "## 3. Keys of the execution part").contains(&format!("`{limit}`")), "{limit}");
    }
    let kinds = page.lines().find(|line| line.starts_with("Kinds of failure")).unwrap();
    for kind in [
        FailureKind::Timeout,
        FailureKind::Spawn,
        FailureKind::Refusal,
        FailureKind::Crash,
        FailureKind::Schema,
        FailureKind::Fail,
        FailureKind::Tool,
        FailureKind::Money,
        FailureKind::Incomplete,
    ] {
        assert!(kinds.contains(&format!("`{}`", kind.name())), "{}", kind.name());
    }
}

/// Every code in the source has a manual, and every manual belongs to a code in the source.
#[test]
fn every_finding_can_be_explained() {
    let mut used = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let quoted = text.match_indices("\"RSF").filter_map(|(at, _)| text.get(at + 1..at + 7));
            used.extend(quoted.filter(|code| code[3..].bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned));
        }
    }
    let told: BTreeSet<String> = rsf::check::codes().into_iter().map(|(code, _)| code).collect();
    assert_eq!(used, told);
    for code in told {
        let manual = rsf::check::explain(&code).unwrap();
        assert!(manual.lines().count() >= 2, "{manual}");
    }
}

#[test]
fn a_word_can_be_looked_up() {
    let shown = rsf::cli::reference::render(&words(), &Args { word: Some("git.".to_owned()), ..Args::default() });
    assert!(shown.contains("git.commit(") && !shown.contains("exec("), "{shown}");
}
