//! The governor of a session: asked at each stop of the model, told of each call. It never keeps a call from being made, and never takes the
//! last turn from a model that has its output.

use super::{Next, Session};
use crate::agent::{Finish, Message, ModelReply};

impl Session {
    /// A stop of the model: what is said to it instead of taking its output, if anything.
    pub(super) fn held_back(&mut self, reply: &ModelReply) -> Option<Next> {
        // An answer that the length limit cut is no wish to finish.
        if reply.finish == Finish::Length {
            return None;
        }
        let watch = self.spec.governor.as_mut()?;
        let judged = watch.stop();
        let afterwards = watch.afterwards().map(str::to_owned);
        self.violated(judged.violations);
        if let Some(fault) = judged.fault {
            self.note(&format!("the governor cannot be asked: {fault}"));
        }
        let message = judged.message?;
        if self.turn >= self.spec.max_turns {
            if let Some(watch) = &mut self.spec.governor {
                watch.withdraw();
            }
            self.note(&format!("no turn was left for what `{}` says at turn {}", message.row, message.turn));
            return None;
        }
        if let Some(text) = reply.text.as_ref().filter(|text| !text.trim().is_empty()) {
            self.say(Message::Assistant { text: Some(text.clone()), calls: Vec::new(), reasoning: reply.reasoning.clone() });
        }
        let text = match afterwards {
            Some(afterwards) => format!("{}\n\n{afterwards}", message.text),
            None => message.text,
        };
        self.say(Message::User { text });
        Some(self.ask())
    }

    /// The session is over without another stop.
    pub(super) fn last_judgement(&mut self) {
        let violations = self.spec.governor.as_mut().map(|watch| watch.end()).unwrap_or_default();
        self.violated(violations);
    }

    fn violated(&mut self, violations: Vec<String>) {
        for violation in violations {
            let violation = super::clip(&violation);
            self.record.risk_flags.push(violation.clone());
            self.record.violations.push(violation);
        }
    }
}
