//! One event of one session: from the payload's bytes to the answer.
//!
//! Counting reads no table unless a subagent calls; only stops evaluate one.

use super::agent::{Agent, Event, Scope};
use super::payload::{MOST_BYTES, Payload};
use super::shell::is_ours;
use super::state::{Held, State};
use super::{project, table};
use crate::governor::{Moment, Subagents};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a hook was started for.
#[derive(Clone, Debug)]
pub struct Call {
    /// The event it is registered for.
    pub event: Event,
    /// The agent whose settings name it, where they say so.
    pub agent: Option<Agent>,
    /// A table in place of the project's or the built-in one.
    pub table: Option<PathBuf>,
}

/// What a hook answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// For standard output: nothing, or one JSON object.
    pub answer: Option<String>,
    /// For standard error: what a person should know although all went on.
    pub note: Option<String>,
}

impl Reply {
    fn noted(note: Option<String>) -> Self {
        Self { answer: None, note }
    }
}

/// Handles an event. `variable` looks up the environment.
///
/// # Errors
/// A lower-case sentence: bad input, or state that cannot be kept.
pub fn run(call: &Call, input: impl Read, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Reply, String> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("standard input cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("more than {} MB came on standard input", MOST_BYTES / 1024 / 1024));
    }
    let payload = Payload::read(&bytes)?;
    drop(bytes);
    let event = event_of(call, &payload)?;
    let session = payload.session()?;
    let agent = call.agent.unwrap_or_else(|| Agent::of_payload(&payload));
    let (folder, note) = project::folder(agent, &payload, variable)?;
    if call.agent.is_none() && agent == Agent::Cursor && serves_itself(&folder, variable) {
        return Ok(Reply::default());
    }
    let hook = Hook { call, payload: &payload, agent, folder: &folder, session: Payload::key(session), id: session };
    let mut reply = match event {
        Event::PostToolUse | Event::PostToolUseFailure => hook.count()?,
        Event::Stop | Event::SubagentStop => hook.stop(variable)?,
        Event::SessionStart => hook.start()?,
        Event::SessionEnd => hook.end()?,
    };
    reply.note = [note, reply.note].into_iter().flatten().reduce(|first, second| format!("{first}; {second}"));
    Ok(reply)
}

/// The event of the payload; what the hook is registered for where the payload names none.
fn event_of(call: &Call, payload: &Payload) -> Result<Event, String> {
    let Some(name) = payload.text("hook_event_name") else { return Ok(call.event) };
    let shown: String = name.chars().take(40).collect();
    match Event::of_payload(name) {
        Some(event) if event.is_kin(call.event) => Ok(event),
        Some(_) => Err(format!("this hook is for `{}`, but `{}` was handed over", call.event.name(), shown.escape_debug())),
        None => Err(format!("`{}` is no event of ours", shown.escape_debug())),
    }
}

/// Cursor also runs the hooks of Claude's settings: those stand aside where it has its own, or each call would count twice.
fn serves_itself(folder: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let Some(path) = Agent::Cursor.settings(Scope::Project) else { return false };
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
    let files = [Some(folder.to_owned()), home].into_iter().flatten().map(|root| root.join(path));
    files.filter(|file| file.is_file()).filter_map(|file| std::fs::read_to_string(file).ok()).any(|text| {
        let commands = super::settings::registered(Agent::Cursor, &text).unwrap_or_default();
        commands.iter().any(|(_, command)| is_ours(command))
    })
}

struct Hook<'a> {
    call: &'a Call,
    payload: &'a Payload,
    agent: Agent,
    folder: &'a Path,
    /// The session's id as part of a file name.
    session: String,
    /// The session's id.
    id: &'a str,
}

impl Hook<'_> {
    /// Whose count this is; `None` where it is nobody's.
    fn key(&self) -> Result<Option<String>, String> {
        let Some(subagent) = self.payload.subagent() else { return Ok(Some(self.session.clone())) };
        Ok(match self.rules()?.governor.options.subagents {
            // A dot stands in no id, so that no session can bear the name of another's subagent.
            Subagents::Apart => Some(format!("{}.{}", self.session, Payload::key(subagent))),
            Subagents::Together => Some(self.session.clone()),
            Subagents::Ignored => None,
        })
    }

    fn rules(&self) -> Result<table::Rules, String> {
        table::load(self.folder, self.call.table.as_deref())
    }

    fn count(&self) -> Result<Reply, String> {
        let Some(key) = self.key()? else { return Ok(Reply::default()) };
        let Some(state) = State::open(self.folder, true)? else { return Ok(Reply::default()) };
        let held = state.hold(&key)?;
        let (count, note) = held.count()?;
        held.set_count(count.saturating_add(1))?;
        Ok(Reply::noted(note))
    }

    fn stop(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Reply, String> {
        // Cursor takes a message only where the model finished by itself.
        if self.agent == Agent::Cursor && self.payload.text("status").is_some_and(|status| status != "completed") {
            return Ok(Reply::default());
        }
        let Some(key) = self.key()? else { return Ok(Reply::default()) };
        let Some(state) = State::open(self.folder, false)? else { return Ok(Reply::default()) };
        let held = state.hold(&key)?;
        let (turn, note) = held.count()?;
        let seen = held.seen();
        if turn <= seen {
            return Ok(Reply::noted(note));
        }
        let text = self.message(&held, turn, seen, variable)?;
        Ok(Reply { answer: text.map(|text| self.agent.go_on(&text).to_string()), note })
    }

    fn message(
        &self,
        held: &Held<'_>,
        turn: u64,
        seen: u64,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Option<String>, String> {
        let text = |name: &str| variable(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let task = text("RSF_TASK").unwrap_or_else(|| self.payload.text("permission_mode").unwrap_or_default().to_owned());
        let task_id = Payload::key(&text("RSF_TASK_ID").unwrap_or_else(|| self.id.to_owned()));
        let spoken = self.rules().and_then(|rules| {
            let moment = Moment { turn, judged: Some(seen), task: &task, task_id: &task_id };
            rules.governor.speak(&rules.engine, moment).map_err(|error| error.to_string())
        });
        // Recorded first: a count that cannot be recorded is never announced, so it cannot be announced twice.
        held.set_seen(turn)?;
        Ok(spoken?.map(|message| message.text))
    }

    fn start(&self) -> Result<Reply, String> {
        let rules = self.rules()?;
        let swept = match State::open(self.folder, false)? {
            Some(state) => state.remove_old(rules.governor.options.keep_days),
            None => Ok(()),
        };
        // A session that is resumed has been told.
        let told = self.payload.text("source") == Some("resume");
        let text = if told { None } else { rules.constraint()? };
        Ok(Reply { answer: text.map(|text| self.agent.add_context(&text).to_string()), note: swept.err() })
    }

    fn end(&self) -> Result<Reply, String> {
        let Some(state) = State::open(self.folder, false)? else { return Ok(Reply::default()) };
        if !self.rules().is_ok_and(|rules| rules.governor.options.keep_after_end) {
            state.remove(&self.session)?;
        }
        Ok(Reply::default())
    }
}
