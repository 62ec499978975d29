//! The governor of one session: counts its calls, speaks at its stops, judges the answers.

use super::expect::Made;
use super::table::{Governor, Message, Moment};
use crate::rule::Engine;
use serde_json::Value;
use std::sync::Arc;

/// Calls of one answer that are remembered; more cannot change what is expected to be missing.
const ANSWER_CALLS: usize = 1000;

/// The governor of a session under way.
#[derive(Clone, Debug)]
pub struct Watch {
    governor: Arc<Governor>,
    engine: Engine,
    task: String,
    task_id: String,
    turn: u64,
    judged: Option<u64>,
    last: Option<Made>,
    open: Option<Open>,
}

/// A message whose answer is awaited.
#[derive(Clone, Debug)]
struct Open {
    message: Message,
    before: Option<Made>,
    answer: Vec<Made>,
}

/// What a stop gave.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// What the answer to the last message broke.
    pub violations: Vec<String>,
    /// What is to be said now.
    pub message: Option<Message>,
    /// Why the table could not be asked.
    pub fault: Option<String>,
}

impl Watch {
    /// The governor of a session that has not begun. The table's texts are registered in `engine`.
    #[must_use]
    pub fn new(governor: Arc<Governor>, engine: Engine, task: &str, task_id: &str) -> Self {
        let (task, task_id) = (task.to_owned(), plain_id(task_id));
        Self { governor, engine, task, task_id, turn: 0, judged: None, last: None, open: None }
    }

    /// Tool calls so far.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// What the table says below a message of an agent session.
    #[must_use]
    pub fn afterwards(&self) -> Option<&str> {
        self.governor.options.afterwards.as_deref()
    }

    /// A call is made: one turn more.
    pub fn called(&mut self, tool: &str, args: &Value) {
        self.turn = self.turn.saturating_add(1);
        let made = Made { tool: tool.to_owned(), args: args.clone(), ok: false };
        if let Some(open) = self.open.as_mut().filter(|open| open.answer.len() < ANSWER_CALLS) {
            open.answer.push(made.clone());
        }
        self.last = Some(made);
    }

    /// The call made last was answered.
    pub fn answered(&mut self, ok: bool) {
        let last = self.last.as_mut().into_iter();
        let open = self.open.as_mut().and_then(|open| open.answer.last_mut());
        last.chain(open).for_each(|made| made.ok = ok);
    }

    /// The model wants to finish.
    pub fn stop(&mut self) -> Judgement {
        let violations = self.judge();
        let moment = Moment { turn: self.turn, judged: self.judged, task: &self.task, task_id: &self.task_id };
        let spoken = self.governor.speak(&self.engine, moment);
        // Judged before anything is said: whatever becomes of the message, this count is never answered again.
        self.judged = self.judged.max(Some(self.turn));
        match spoken {
            Ok(message) => {
                self.open = message.clone().map(|message| Open { message, before: self.last.clone(), answer: Vec::new() });
                Judgement { violations, message, fault: None }
            }
            Err(error) => Judgement { violations, message: None, fault: Some(error.to_string()) },
        }
    }

    /// The session ends without another stop. An answer that had not begun is not judged.
    pub fn end(&mut self) -> Vec<String> {
        if self.open.as_ref().is_none_or(|open| open.answer.is_empty()) {
            self.open = None;
        }
        self.judge()
    }

    /// The message could not be given after all: nothing is expected of an answer.
    pub fn withdraw(&mut self) {
        self.open = None;
    }

    fn judge(&mut self) -> Vec<String> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let broken = open.message.expect.broken(open.before.as_ref(), &open.answer);
        let (turn, row) = (open.message.turn, &open.message.row);
        broken.into_iter().map(|what| format!("ignored what was said at turn {turn} (`{row}`): {what}")).collect()
    }
}

/// A name that can stand in a path: letters, digits, `_` and `-`, at most 128.
fn plain_id(id: &str) -> String {
    let plain: String = id.chars().take(128).map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' }).collect();
    if plain.is_empty() { "session".to_owned() } else { plain }
}
