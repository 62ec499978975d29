//! The manual of every finding, taken from the docs of the files that make them, so that it cannot stand apart from them.

/// The files whose docs describe codes.
const SOURCES: [&str; 20] = [
    include_str!("../syntax/manual.rs"),
    include_str!("../model/decode/mod.rs"),
    include_str!("../model/decode/operation.rs"),
    include_str!("references.rs"),
    include_str!("typing.rs"),
    include_str!("flows.rs"),
    include_str!("annotations.rs"),
    include_str!("data.rs"),
    include_str!("names.rs"),
    include_str!("execution.rs"),
    include_str!("operations.rs"),
    include_str!("files.rs"),
    include_str!("table.rs"),
    include_str!("sealing.rs"),
    include_str!("tables.rs"),
    include_str!("proof/mod.rs"),
    include_str!("texts/mod.rs"),
    include_str!("worst.rs"),
    include_str!("emission.rs"),
    include_str!("rights.rs"),
];

/// The manual of one code, title first; `None` for a code nobody knows.
#[must_use]
pub fn explain(code: &str) -> Option<String> {
    let wanted = code.trim().to_ascii_uppercase();
    sections().find(|(found, _)| *found == wanted).map(|(found, text)| format!("{found}: {text}"))
}

/// All codes with their titles, in the order of the passes.
#[must_use]
pub fn codes() -> Vec<(String, String)> {
    let mut codes: Vec<(String, String)> =
        sections().map(|(code, text)| (code, text.lines().next().unwrap_or_default().to_owned())).collect();
    codes.sort();
    codes
}

fn sections() -> impl Iterator<Item = (String, String)> {
    SOURCES.iter().flat_map(|source| {
        let mut found: Vec<(String, String)> = Vec::new();
        let mut inside = false;
        for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            if let Some(heading) = line.strip_prefix("# ") {
                inside = heading.starts_with("RSF");
                if let Some((code, title)) = heading.split_once(' ').filter(|_| inside) {
                    found.push((code.to_owned(), title.to_owned()));
                }
            } else if inside && let Some((_, text)) = found.last_mut() {
                text.push('\n');
                text.push_str(line);
            }
        }
        found
    })
}
