//! Tool `search`: a regular expression over text files, line by line, with bounds on pattern, file, line, answer and time.

use super::read::is_binary;
use super::{Desk, ProjectDesk, arguments, error};
use crate::model::tool::{ToolError, ToolErrorKind};
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DEFAULT: usize = 200;
const MOST: usize = 5000;
/// Characters of a line that are shown.
const LINE: usize = 400;
const PATTERN_BYTES: usize = 1 << 20;
const TIME: Duration = Duration::from_secs(20);
const MAX_FILES: usize = 20_000;

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let pattern = compile(arguments::required(args, "pattern")?)?;
    let glob = arguments::text(args, "glob").unwrap_or("**").to_owned();
    let max = arguments::count(args, "max", DEFAULT, MOST);
    let listing = desk.listing(&[glob], MAX_FILES)?;
    let until = Instant::now() + TIME;
    let mut found = Found { matches: Vec::new(), bytes: 0, max, most_bytes: desk.output_bytes };
    let mut complete = !listing.truncated;
    for path in &listing.files {
        if Instant::now() > until {
            complete = false;
            break;
        }
        // Too large or unreadable files cannot hold what a person would look for; the others are still searched.
        let Ok(Some(bytes)) = desk.read(path) else { continue };
        if !is_binary(&bytes) && !found.add(path, &String::from_utf8_lossy(&bytes), &pattern) {
            complete = false;
            break;
        }
    }
    Ok(json!({ "matches": found.matches, "truncated": !complete }))
}

fn compile(pattern: &str) -> Result<Regex, ToolError> {
    let built = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build();
    built.map_err(|fault| error(ToolErrorKind::Arguments, format!("the pattern does not compile: {fault}")))
}

struct Found {
    matches: Vec<Value>,
    bytes: usize,
    max: usize,
    most_bytes: usize,
}

impl Found {
    /// False when the answer is full.
    fn add(&mut self, path: &str, text: &str, pattern: &Regex) -> bool {
        for (position, line) in text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            let shown: String = line.chars().take(LINE).collect();
            self.bytes += shown.len() + path.len();
            if self.matches.len() >= self.max || self.bytes > self.most_bytes {
                return false;
            }
            self.matches.push(json!({ "path": path, "line": position + 1, "text": shown }));
        }
        true
    }
}
