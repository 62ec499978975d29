//! The agents that are known: their events, where their settings stand, how they are answered. Data and small functions; touches nothing.

use super::payload::Payload;
use serde_json::{Value, json};

/// A coding agent with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Agent {
    /// Claude Code, and agents that copy its protocol.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// The project's, shared with everybody who works on it.
    Project,
    /// The person's, for all projects.
    User,
    /// The person's, for this project.
    Local,
}

/// What happened in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A tool was called.
    PostToolUse,
    /// A tool was called and failed.
    PostToolUseFailure,
    /// The model wants to stop.
    Stop,
    /// The model of a subagent wants to stop.
    SubagentStop,
    /// A session begins, or goes on.
    SessionStart,
    /// A session ends.
    SessionEnd,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::PostToolUse, Self::PostToolUseFailure, Self::Stop, Self::SubagentStop, Self::SessionStart, Self::SessionEnd];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PostToolUse => "post-tool-use",
            Self::PostToolUseFailure => "post-tool-use-failure",
            Self::Stop => "stop",
            Self::SubagentStop => "subagent-stop",
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
        }
    }

    /// The event of a name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The event of a name in a payload, in any agent's spelling.
    #[must_use]
    pub fn of_payload(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Some(match name.as_str() {
            "posttooluse" | "aftertool" | "aftershellexecution" | "aftermcpexecution" | "afterfileedit" => Self::PostToolUse,
            "posttoolusefailure" => Self::PostToolUseFailure,
            "stop" | "afteragent" => Self::Stop,
            "subagentstop" => Self::SubagentStop,
            "sessionstart" => Self::SessionStart,
            "sessionend" => Self::SessionEnd,
            _ => return None,
        })
    }

    /// Whether one registration may serve for the other event as well.
    #[must_use]
    pub fn is_kin(self, other: Self) -> bool {
        let kind = |event| match event {
            Self::PostToolUse | Self::PostToolUseFailure => 0,
            Self::Stop | Self::SubagentStop => 1,
            Self::SessionStart => 2,
            Self::SessionEnd => 3,
        };
        kind(self) == kind(other)
    }
}

/// An event as an agent's settings name it.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Key in the settings.
    pub key: &'static str,
    /// Ours.
    pub event: Event,
    /// Whether its entries take a matcher.
    pub matcher: bool,
}

const fn named(key: &'static str, event: Event, matcher: bool) -> Named {
    Named { key, event, matcher }
}

const CLAUDE: [Named; 6] = [
    named("PostToolUse", Event::PostToolUse, true),
    named("PostToolUseFailure", Event::PostToolUseFailure, true),
    named("Stop", Event::Stop, false),
    named("SubagentStop", Event::SubagentStop, false),
    named("SessionStart", Event::SessionStart, false),
    named("SessionEnd", Event::SessionEnd, false),
];
/// Codex tells of tools that succeeded only.
const CODEX: [Named; 5] = [
    named("PostToolUse", Event::PostToolUse, true),
    named("Stop", Event::Stop, false),
    named("SubagentStop", Event::SubagentStop, false),
    named("SessionStart", Event::SessionStart, false),
    named("SessionEnd", Event::SessionEnd, false),
];
const GEMINI: [Named; 4] = [
    named("AfterTool", Event::PostToolUse, true),
    named("AfterAgent", Event::Stop, false),
    named("SessionStart", Event::SessionStart, false),
    named("SessionEnd", Event::SessionEnd, false),
];
const CURSOR: [Named; 6] = [
    named("postToolUse", Event::PostToolUse, false),
    named("postToolUseFailure", Event::PostToolUseFailure, false),
    named("stop", Event::Stop, false),
    named("subagentStop", Event::SubagentStop, false),
    named("sessionStart", Event::SessionStart, false),
    named("sessionEnd", Event::SessionEnd, false),
];

impl Agent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Cursor];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
        }
    }

    /// The agent of a name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Who sent a payload.
    #[must_use]
    pub fn of_payload(payload: &Payload) -> Self {
        let event = payload.text("hook_event_name").unwrap_or_default();
        if payload.has("cursor_version") || payload.has("workspace_roots") || payload.has("conversation_id") {
            Self::Cursor
        } else if event.starts_with("After") || (payload.has("timestamp") && !payload.has("permission_mode")) {
            Self::Gemini
        } else if payload.has("turn_id") {
            Self::Codex
        } else {
            Self::Claude
        }
    }

    /// The events that are registered.
    #[must_use]
    pub fn events(self) -> &'static [Named] {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
            Self::Cursor => &CURSOR,
        }
    }

    /// Whether an event holds groups of hooks, each with a matcher; Cursor lists its hooks flat.
    #[must_use]
    pub fn nested(self) -> bool {
        self != Self::Cursor
    }

    /// Thousandths of a second in the unit of `timeout`.
    #[must_use]
    pub fn timeout_unit_ms(self) -> u64 {
        if self == Self::Gemini { 1 } else { 1000 }
    }

    /// Path of the settings, from the project's folder or the person's home; `None` where there is no such scope.
    #[must_use]
    pub fn settings(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::Claude, Scope::Local) => Some(".claude/settings.local.json"),
            (Self::Claude, _) => Some(".claude/settings.json"),
            (_, Scope::Local) => None,
            (Self::Codex, _) => Some(".codex/hooks.json"),
            (Self::Gemini, _) => Some(".gemini/settings.json"),
            (Self::Cursor, _) => Some(".cursor/hooks.json"),
        }
    }

    /// Variable that names the folder of the person's settings in place of the one in their home.
    #[must_use]
    pub fn home_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_CONFIG_DIR"),
            Self::Codex => Some("CODEX_HOME"),
            Self::Gemini | Self::Cursor => None,
        }
    }

    /// Variables in which the agent names the project's folder.
    #[must_use]
    pub fn project_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["CLAUDE_PROJECT_DIR"],
            Self::Codex => &[],
            Self::Gemini => &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            Self::Cursor => &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        }
    }

    /// The answer that makes a session go on with `text`.
    #[must_use]
    pub fn go_on(self, text: &str) -> Value {
        match self {
            Self::Claude | Self::Codex => json!({"decision": "block", "reason": text}),
            Self::Gemini => json!({"decision": "deny", "reason": text}),
            Self::Cursor => json!({"followup_message": text}),
        }
    }

    /// The answer that adds `text` to what a session that begins is told.
    #[must_use]
    pub fn add_context(self, text: &str) -> Value {
        match self {
            Self::Cursor => json!({"additional_context": text}),
            _ => json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}),
        }
    }
}
