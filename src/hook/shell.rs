//! Commands as settings hold them: written so that a shell finds the program wherever it stands, and recognised again.

use super::agent::{Agent, Event};

/// The command that serves `event`: the program's absolute path in quotes, and what it needs to know.
#[must_use]
pub fn command_of(program: &str, event: Event, agent: Agent, table: Option<&str>) -> String {
    let mut command = format!("{} hook {}", quoted(program), event.name());
    if agent == Agent::Cursor {
        // Cursor runs the hooks of others too; this tells its own from theirs.
        command.push_str(" --agent cursor");
    }
    if let Some(table) = table {
        command.push_str(&format!(" --table {}", quoted(table)));
    }
    command
}

/// In quotes for the shell that agents use on this system.
fn quoted(text: &str) -> String {
    if cfg!(windows) { format!("\"{text}\"") } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Whether a command is one of ours, wherever the program stands.
#[must_use]
pub fn is_ours(command: &str) -> bool {
    event_of(command).is_some()
}

/// The event that a command of ours serves.
#[must_use]
pub(super) fn event_of(command: &str) -> Option<Event> {
    let words = words(command);
    let at = words.iter().position(|word| word == "hook")?;
    let program = words.get(at.checked_sub(1)?)?;
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let ours = name == "rsf" || name.starts_with("rsf-") || name == "rsf.exe";
    words.get(at + 1..)?.iter().find_map(|word| Event::named(word)).filter(|_| ours)
}

/// The words of a command as a shell splits them; quotes and backslashes are taken off, nothing is expanded.
#[must_use]
pub fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // A backslash before a letter is part of a Windows path.
            (_, '\\') => match chars.clone().next() {
                Some(next) if !next.is_alphanumeric() => {
                    chars.next();
                    word.get_or_insert_default().push(next);
                }
                _ => word.get_or_insert_default().push('\\'),
            },
            (None, c) if c.is_whitespace() || matches!(c, ';' | '|' | '&') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_and_recognised() {
        for program in ["/opt/rsf", "/home/a b/ü/rsf", "/it's/rsf", "/a$b/`c`/rsf"] {
            let command = command_of(program, Event::Stop, Agent::Claude, Some("my rules/t.json"));
            if !cfg!(windows) {
                assert_eq!(words(&command), [program, "hook", "stop", "--table", "my rules/t.json"], "{command}");
            }
            assert_eq!(event_of(&command), Some(Event::Stop), "{command}");
        }
        for foreign in ["bash hook stop", "rsf validate stop", "/x/other hook stop", "hook stop", "", "rsf hook", "rsf hook install"] {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }
}
