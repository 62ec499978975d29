//! Rust sources read as text: comments and literals blanked, test modules left out, paths and functions found.

use std::path::{Path, PathBuf};

/// One file of `src/`.
pub struct Source {
    /// Path from the crate's root.
    pub path: String,
    /// Folder of `src/`, or the file's own name there; `None` for lib.rs and main.rs.
    pub room: Option<String>,
    /// As written.
    pub text: String,
    /// With comments, literals and test modules blanked; lines stay where they are.
    code: Vec<char>,
}

/// All files of `src/`, in order.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(&root.join("src"), &mut files);
    files.sort();
    assert!(!files.is_empty(), "no sources found");
    let source = |file: &PathBuf| {
        let path = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        Source::new(&path, &std::fs::read_to_string(file).expect("a readable source"))
    };
    files.iter().map(source).collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let inside = path.trim_start_matches("src/");
        let first = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let room = (!matches!(first, "lib" | "main")).then(|| first.to_owned());
        // A file of tests alone is a test module that stands in a file of its own.
        let tests = inside.ends_with("/tests.rs") || inside.contains("/tests/");
        let code = if tests { Vec::new() } else { without_tests(blank(text)) };
        Self { path: path.to_owned(), room, text: text.to_owned(), code }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.code[..at].iter().filter(|c| **c == '\n').count()
    }

    /// Every `crate::a::b` with its line; groups are taken apart, `self` in a group is the path before it.
    pub fn crate_paths(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for at in words(&self.code, "crate") {
            if let Some(rest) = after(&self.code, at + 5, "::") {
                let mut paths = Vec::new();
                tree(&self.code, rest, "", &mut paths);
                found.extend(paths.into_iter().map(|path| (self.line(at), path)));
            }
        }
        found
    }

    /// `super::` chains that reach the crate's root, outside of test modules.
    pub fn climbing(&self) -> Vec<String> {
        let depth = self.path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
        let mut faults = Vec::new();
        let mut done = 0;
        for at in words(&self.code, "super") {
            if at < done {
                continue;
            }
            let (mut count, mut end) = (0, at);
            while starts(&self.code, end, "super") {
                count += 1;
                end = after(&self.code, end + 5, "::").unwrap_or(self.code.len());
            }
            done = end;
            if count >= depth && self.room.is_some() {
                faults.push(format!("{}:{}: `super` climbs out of the room; write `crate::`", self.path, self.line(at)));
            }
        }
        faults
    }

    /// Lines whose code names `word` (a path such as `std::fs` also inside a group: `std::{io, fs}`).
    pub fn lines_naming(&self, word: &str) -> Vec<usize> {
        let (first, last) = word.split_once("::").unwrap_or((word, ""));
        let mut lines = Vec::new();
        for at in words(&self.code, first) {
            let named = last.is_empty()
                || after(&self.code, at + first.len(), "::").is_some_and(|rest| {
                    let mut paths = Vec::new();
                    tree(&self.code, rest, "", &mut paths);
                    paths.iter().any(|path| path == last || path.starts_with(&format!("{last}::")))
                });
            if named {
                lines.push(self.line(at));
            }
        }
        lines.dedup();
        lines
    }

    /// The line as written, with the line before it: where a reason would stand.
    pub fn comment_near(&self, line: usize) -> String {
        let lines: Vec<&str> = self.text.lines().collect();
        let before =
            line.checked_sub(2).and_then(|at| lines.get(at)).filter(|text| text.trim_start().starts_with("//") || text.contains("reason"));
        format!("{}\n{}", before.unwrap_or(&""), lines.get(line - 1).unwrap_or(&""))
    }

    /// Line, name and number of lines of every function with a body.
    pub fn functions(&self) -> Vec<(usize, String, usize)> {
        let mut found = Vec::new();
        for at in words(&self.code, "fn") {
            let name: String = self.code[at + 2..].iter().skip_while(|c| c.is_whitespace()).take_while(|c| is_word(**c)).collect();
            let Some(open) = body(&self.code, at) else { continue };
            if !name.is_empty() {
                let (first, last) = (self.line(at), self.line(close(&self.code, open)));
                found.push((first, name, last - first + 1));
            }
        }
        found
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn starts(code: &[char], at: usize, text: &str) -> bool {
    text.chars().enumerate().all(|(offset, c)| code.get(at + offset) == Some(&c))
}

/// Places where `word` stands as a whole word.
fn words(code: &[char], word: &str) -> Vec<usize> {
    let edge = |at: Option<&char>| at.is_none_or(|c| !is_word(*c));
    let whole = |at: &usize| starts(code, *at, word) && edge(code.get(at + word.len())) && (*at == 0 || edge(code.get(at - 1)));
    (0..code.len()).filter(whole).collect()
}

/// The place behind `sign` if it stands at `at`, spaces skipped on both sides.
fn after(code: &[char], at: usize, sign: &str) -> Option<usize> {
    let skip = |at: usize| at + code[at.min(code.len())..].iter().take_while(|c| c.is_whitespace()).count();
    let at = skip(at);
    starts(code, at, sign).then(|| skip(at + sign.chars().count()))
}

/// Reads a path or a group of paths at `at`; gives the place behind it.
fn tree(code: &[char], at: usize, prefix: &str, paths: &mut Vec<String>) -> usize {
    if code.get(at) == Some(&'{') {
        let mut at = at + 1;
        while let Some(c) = code.get(at) {
            match c {
                '}' => return at + 1,
                c if is_word(*c) => at = tree(code, at, prefix, paths),
                _ => at += 1,
            }
        }
        return at;
    }
    let word: String = code[at.min(code.len())..].iter().take_while(|c| is_word(**c)).collect();
    let end = at + word.chars().count();
    let path = match (prefix, word.as_str()) {
        (prefix, "self") => prefix.to_owned(),
        ("", word) => word.to_owned(),
        (prefix, word) => format!("{prefix}::{word}"),
    };
    match after(code, end, "::") {
        Some(rest) if code.get(rest).is_some_and(|c| is_word(*c) || *c == '{') => tree(code, rest, &path, paths),
        _ => {
            paths.push(path);
            // `as name` belongs to the path before it.
            after(code, end, "as ").map_or(end, |name| name + code[name..].iter().take_while(|c| is_word(**c)).count())
        }
    }
}

/// The brace that opens a function's body; `None` for a declaration.
fn body(code: &[char], at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (offset, c) in code[at..].iter().enumerate() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at + offset),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The brace that closes the one at `open`.
fn close(code: &[char], open: usize) -> usize {
    let mut depth = 0_i32;
    for (offset, c) in code[open..].iter().enumerate() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + offset;
        }
    }
    code.len() - 1
}

/// Blanks `#[cfg(test)] mod … { … }`.
fn without_tests(mut code: Vec<char>) -> Vec<char> {
    let marks: Vec<usize> = (0..code.len()).filter(|at| starts(&code, *at, "#[cfg(test)]")).collect();
    for mark in marks {
        let module = after(&code, mark + "#[cfg(test)]".len(), "mod ");
        if let Some(open) = module.and_then(|at| body(&code, at)) {
            let end = close(&code, open);
            code[mark..=end].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
        }
    }
    code
}

/// Comments and literals as spaces. Lifetimes are told from characters by what follows.
fn blank(text: &str) -> Vec<char> {
    let mut code: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < code.len() {
        let end = match code[at] {
            '/' if starts(&code, at, "//") => at + code[at..].iter().take_while(|c| **c != '\n').count(),
            '/' if starts(&code, at, "/*") => comment(&code, at),
            'r' if !(at > 0 && is_word(code[at - 1]) && code[at - 1] != 'b') => raw(&code, at),
            '"' => string(&code, at),
            '\'' => character(&code, at),
            _ => at,
        };
        let end = end.min(code.len());
        code[at..end].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
        at = end.max(at + 1);
    }
    code
}

fn comment(code: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < code.len() {
        if starts(code, at, "/*") {
            depth += 1;
            at += 2;
        } else if starts(code, at, "*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The place behind `r"…"` or `r#"…"#`; `at` itself where there is none.
fn raw(code: &[char], at: usize) -> usize {
    let marks = code[at + 1..].iter().take_while(|c| **c == '#').count();
    if code.get(at + 1 + marks) != Some(&'"') {
        return at;
    }
    let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', marks)).collect();
    let from = at + marks + 2;
    (from..code.len()).find(|place| starts(code, *place, &end)).map_or(code.len(), |place| place + end.len())
}

fn string(code: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(c) = code.get(at) {
        match c {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn character(code: &[char], at: usize) -> usize {
    match (code.get(at + 1), code.get(at + 2)) {
        (Some('\\'), _) => (at + 3..code.len()).find(|place| code[*place] == '\'').map_or(at, |place| place + 1),
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}
