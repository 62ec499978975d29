//! `options` of a governor's table. Unknown keys are named, never skipped.

use crate::base::closest;
use serde_json::{Map, Value};

const KNOWN: [&str; 6] = ["catch_up", "subagents", "keep_days", "keep_after_end", "constraint", "afterwards"];
const MOST_DAYS: u64 = 36_500;

/// How the tool calls of a subagent count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subagents {
    /// Each has a count of its own.
    #[default]
    Apart,
    /// They count for the session that started them.
    Together,
    /// They are not counted.
    Ignored,
}

/// What a table's author may switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether turns passed since the last stop are looked back over.
    pub catch_up: bool,
    /// How subagents count.
    pub subagents: Subagents,
    /// Days after which the files of a session nobody ended are removed.
    pub keep_days: u64,
    /// Whether a session's files outlive its end.
    pub keep_after_end: bool,
    /// Path of the text that is placed after everything else a session is told.
    pub constraint: Option<String>,
    /// What an agent session is told below a message, so that it ends with its output all the same.
    pub afterwards: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { catch_up: true, subagents: Subagents::Apart, keep_days: 30, keep_after_end: false, constraint: None, afterwards: None }
    }
}

impl Options {
    /// Reads the options as written; what cannot be used has its default and a fault: key and lower-case sentence.
    #[must_use]
    pub fn read(map: &Map<String, Value>) -> (Self, Vec<(String, String)>) {
        let mut options = Self::default();
        let mut faults = Vec::new();
        for (key, value) in map {
            if let Some(fault) = options.set(key, value) {
                faults.push((key.clone(), fault));
            }
        }
        (options, faults)
    }

    fn set(&mut self, key: &str, value: &Value) -> Option<String> {
        let shown = || value.to_string().chars().take(60).collect::<String>();
        match (key, value) {
            ("catch_up", Value::Bool(flag)) => self.catch_up = *flag,
            ("keep_after_end", Value::Bool(flag)) => self.keep_after_end = *flag,
            ("catch_up" | "keep_after_end", _) => return Some(format!("`{key}` must be true or false, not {}", shown())),
            ("subagents", Value::String(word)) if word == "apart" => self.subagents = Subagents::Apart,
            ("subagents", Value::String(word)) if word == "together" => self.subagents = Subagents::Together,
            ("subagents", Value::String(word)) if word == "ignored" => self.subagents = Subagents::Ignored,
            ("subagents", _) => return Some(format!("`subagents` must be `apart`, `together` or `ignored`, not {}", shown())),
            ("keep_days", _) => match value.as_u64().filter(|days| (1..=MOST_DAYS).contains(days)) {
                Some(days) => self.keep_days = days,
                None => return Some(format!("`keep_days` must be a whole number from 1 to {MOST_DAYS}, not {}", shown())),
            },
            ("constraint", Value::String(path)) => self.constraint = Some(path.clone()),
            ("afterwards", Value::String(text)) => self.afterwards = Some(text.clone()),
            ("constraint" | "afterwards", _) => return Some(format!("`{key}` must be a text, not {}", shown())),
            _ => {
                let near = closest(key, KNOWN).map_or(String::new(), |near| format!(", did you mean `{near}`?"));
                let key: String = key.chars().take(60).collect();
                return Some(format!("a governor knows no option `{}`{near}", key.escape_debug()));
            }
        }
        None
    }
}
