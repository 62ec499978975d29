//! What is wrong in an existing set-up, ours or anybody's: faults after which hooks silently do nothing, or lock a person out.

use super::agent::{Agent, Event};
use super::shell::{event_of, words};
use crate::base::closest;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A time-out above this many seconds was written in thousandths of one.
const LONG_SECONDS: u64 = 1000;
/// A time-out below this many thousandths was written in seconds.
const SHORT_MS: u64 = 500;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Short name: `flat`, `relative`, `timeout`, `matcher`, `double`, `unquoted`, `missing`, `off`, `event`, `form`, `unreadable`.
    pub kind: &'static str,
    /// JSON pointer.
    pub at: String,
    /// Lower-case sentence with the way out.
    pub message: String,
}

struct Check<'a> {
    agent: Agent,
    exists: &'a dyn Fn(&str) -> bool,
    /// Events of ours that were seen, and commands of anybody by event.
    served: BTreeSet<&'static str>,
    seen: BTreeSet<(String, String)>,
    findings: Vec<Finding>,
}

/// The faults of the settings `text`. `exists` tells whether there is a file at an absolute path.
#[must_use]
pub fn findings(agent: Agent, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut check = Check { agent, exists, served: BTreeSet::new(), seen: BTreeSet::new(), findings: Vec::new() };
    match super::settings::value(text) {
        Ok(value) => check.root(&value),
        Err(error) => check.add("unreadable", "", format!("{error}; the agent reads none of it")),
    }
    check.findings
}

impl Check<'_> {
    fn add(&mut self, kind: &'static str, at: &str, message: impl Into<String>) {
        self.findings.push(Finding { kind, at: at.to_owned(), message: message.into() });
    }

    fn root(&mut self, value: &Value) {
        if value.get("disableAllHooks") == Some(&Value::Bool(true)) {
            self.add("off", "/disableAllHooks", "all hooks are switched off; remove `disableAllHooks`");
        }
        if self.agent == Agent::Cursor && value.get("version").is_none() {
            self.add("form", "", "`version` is missing; write `\"version\": 1`");
        }
        match value.get("hooks") {
            Some(Value::Object(hooks)) => self.hooks(hooks),
            Some(Value::Array(_)) => self.add("flat", "/hooks", "`hooks` is a flat list; write an object: event → list of groups"),
            Some(_) => self.add("form", "/hooks", "`hooks` is no object"),
            None => {}
        }
    }

    fn hooks(&mut self, hooks: &Map<String, Value>) {
        for (key, entries) in hooks {
            let at = format!("/hooks/{}", key.replace('~', "~0").replace('/', "~1"));
            let known = self.agent.events().iter().find(|named| named.key == key);
            if known.is_none()
                && let Some(near) = closest(key, self.agent.events().iter().map(|named| named.key))
                && near.eq_ignore_ascii_case(key)
            {
                self.add("event", &at, format!("no event is called `{}`, did you mean `{near}`?", key.escape_debug()));
            }
            let Some(entries) = entries.as_array() else {
                self.add("form", &at, "an event holds a list of entries");
                continue;
            };
            for (index, entry) in entries.iter().enumerate() {
                self.entry(key, entry, &format!("{at}/{index}"));
            }
        }
    }

    fn entry(&mut self, key: &str, entry: &Value, at: &str) {
        let takes_matcher = !matches!(Event::of_payload(key), Some(Event::Stop | Event::SubagentStop));
        if !takes_matcher && entry.get("matcher").and_then(Value::as_str).is_some_and(|matcher| !matches!(matcher, "" | "*")) {
            self.add("matcher", at, format!("`{key}` takes no matcher: it is ignored, or the hook never runs; remove it"));
        }
        if !self.agent.nested() {
            return self.hook(key, entry, at);
        }
        match entry.get("hooks").and_then(Value::as_array) {
            Some(hooks) => hooks.iter().enumerate().for_each(|(index, hook)| self.hook(key, hook, &format!("{at}/hooks/{index}"))),
            None if entry.get("command").is_some() => {
                self.add("flat", at, "the hook stands flat in the event's list and is not run; wrap it: `{\"hooks\": [{…}]}`");
                self.hook(key, entry, at);
            }
            None => self.add("form", at, "the entry has no `hooks`"),
        }
    }

    fn hook(&mut self, key: &str, hook: &Value, at: &str) {
        let Some(command) = hook.get("command").and_then(Value::as_str) else {
            // Prompts and agents are hooks without a command.
            if hook.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "command") {
                self.add("form", at, "the hook has no `command`");
            }
            return;
        };
        self.command(key, command, at);
        self.timeout(hook.get("timeout"), at);
        if !self.seen.insert((key.to_owned(), command.to_owned())) {
            self.add("double", at, "the same command is registered twice for this event; remove one");
        } else if let Some(event) = event_of(command)
            && !self.served.insert(event.name())
        {
            self.add("double", at, format!("`rsf hook {}` is registered twice: each call would count twice; remove one", event.name()));
        }
    }

    fn command(&mut self, key: &str, command: &str, at: &str) {
        let words = words(command);
        if let Some(path) = words.iter().find(|word| is_relative(word)) {
            let path = path.escape_debug();
            self.add(
                "relative",
                at,
                format!("`{path}` is a relative path: after a change of folder it is not found; write it absolute, quoted"),
            );
        }
        if let Some(place) = command.find("$CLAUDE_PROJECT_DIR").or_else(|| command.find("${CLAUDE_PROJECT_DIR}")) {
            let quotes = command.get(..place).map_or(0, |before| before.matches('"').count());
            if quotes % 2 == 0 {
                self.add(
                    "unquoted",
                    at,
                    "`$CLAUDE_PROJECT_DIR` stands outside quotes: a blank in the path breaks it; put the path in \"…\"",
                );
            }
        }
        let Some(event) = event_of(command) else { return };
        if let Some(program) = words.first().filter(|word| is_absolute(word) && !(self.exists)(word)) {
            let program = program.escape_debug();
            self.add("missing", at, format!("there is no program `{program}`: run `rsf hook install` again"));
        } else if words.first().is_some_and(|word| !is_absolute(word) && !word.contains('/')) {
            self.add(
                "relative",
                at,
                "the program is looked up by its name alone, which an agent's PATH may not have; run `rsf hook install` again",
            );
        }
        if Event::of_payload(key).is_some_and(|registered| !registered.is_kin(event)) {
            self.add("event", at, format!("`rsf hook {}` stands under `{key}`", event.name()));
        }
    }

    fn timeout(&mut self, timeout: Option<&Value>, at: &str) {
        let Some(given) = timeout.and_then(Value::as_u64) else { return };
        if self.agent.timeout_unit_ms() == 1000 && given >= LONG_SECONDS {
            let meant = (given / 1000).max(1);
            self.add(
                "timeout",
                at,
                format!("`timeout` is in seconds, so {given} is {} minutes; if thousandths were meant, write {meant}", given / 60),
            );
        } else if self.agent.timeout_unit_ms() == 1 && given < SHORT_MS {
            self.add(
                "timeout",
                at,
                format!("`timeout` is in thousandths of a second, so {given} is next to nothing; write {}", given.saturating_mul(1000)),
            );
        }
    }
}

fn is_absolute(word: &str) -> bool {
    word.starts_with('/') || word.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/")
}

/// A path that depends on the current folder.
fn is_relative(word: &str) -> bool {
    let path = word.contains('/') && !word.contains("://") && !word.contains('=');
    path && !is_absolute(word) && !word.starts_with(['$', '~', '-', '%', '<', '>']) && !word.contains(['*', '{', ' '])
}
