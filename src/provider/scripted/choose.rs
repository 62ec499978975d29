//! Chooses the answer to a request: the first whose given fields all match. Without one, says who asked what and which answers come nearest.

use super::fill::{self, Captured};
use super::load::{Answer, Any, Figures, Reply, Script, When};
use crate::agent::{Asker, Failure, FailureKind, Finish, Message, ModelReply, ModelRequest, Tokens, ToolCall};
use crate::provider::estimate;
use regex::Regex;
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;

/// Characters shown of an unexpected question.
const SHOWN: usize = 600;
/// Nearest answers shown.
const NEAREST: usize = 3;

impl Script {
    /// One exchange: waits as long as the script says, then answers.
    pub(in crate::provider) async fn exchange(&self, request: &ModelRequest) -> Result<ModelReply, Failure> {
        let (index, captured) = self.choose(request)?;
        let Some(answer) = self.answers.get(index) else { return Err(self.crash("has no such answer")) };
        let delay = answer.reply.delay_ms;
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay.min(request.timeout_ms))).await;
            if delay >= request.timeout_ms {
                return Err(Failure::new(FailureKind::Timeout, format!("the model gave no answer within {} ms", request.timeout_ms)));
            }
        }
        if let Some(fail) = &answer.reply.fail {
            return Err(fail.failure());
        }
        reply(&answer.reply, request, &captured).map_err(|fault| self.crash(&format!("answers[{index}]: {fault}")))
    }

    fn choose(&self, request: &ModelRequest) -> Result<(usize, Captured), Failure> {
        let texts = Texts::of(request);
        let mut near = Vec::new();
        for (index, answer) in self.answers.iter().enumerate() {
            let mut captured = Captured::new();
            let misses = misses(answer, request, &texts, &mut captured);
            if misses.is_empty() {
                return Ok((index, captured));
            }
            near.push((misses, index));
        }
        near.sort_by_key(|(misses, index)| (misses.len(), *index));
        Err(self.crash(&unexpected(request, &texts, &near)))
    }

    fn crash(&self, what: &str) -> Failure {
        Failure::new(FailureKind::Crash, format!("the script `{}` {what}", self.path))
    }
}

/// The texts that expressions look at.
struct Texts {
    first: String,
    last: String,
    /// System text, then the last message.
    asked: String,
}

impl Texts {
    fn of(request: &ModelRequest) -> Self {
        let first = request.messages.first().map(message_text).unwrap_or_default();
        let last = request.messages.last().map(message_text).unwrap_or_default();
        Self { asked: format!("{}\n\n{last}", request.system), first, last }
    }
}

fn message_text(message: &Message) -> String {
    match message {
        Message::User { text } => text.clone(),
        Message::Assistant { text, .. } => text.clone().unwrap_or_default(),
        Message::Tool { content, .. } => content.clone(),
    }
}

/// What of `answer` does not match, in words.
fn misses(answer: &Answer, request: &ModelRequest, texts: &Texts, captured: &mut Captured) -> Vec<String> {
    let When { role, cell, model, round, attempt, session, turn, item } = &answer.when;
    let asker = &request.asker;
    let index = asker.item.and_then(|item| u64::try_from(item).ok());
    let plain = [
        text_miss("role", role.as_ref(), &asker.role),
        text_miss("cell", cell.as_ref(), &asker.cell),
        text_miss("model", model.as_ref(), &request.model),
        number_miss("round", round.as_ref(), Some(asker.round.into())),
        number_miss("attempt", attempt.as_ref(), Some(asker.attempt.into())),
        number_miss("session", session.as_ref(), Some(asker.session.into())),
        number_miss("turn", turn.as_ref(), Some(asker.turn.into())),
        number_miss("item", item.as_ref(), index),
        expression_miss("asked", answer.asked.as_ref(), &texts.asked, captured),
        expression_miss("prompt", answer.prompt.as_ref(), &texts.first, captured),
    ];
    plain.into_iter().flatten().collect()
}

fn text_miss(field: &str, wanted: Option<&Any<String>>, is: &str) -> Option<String> {
    let wanted = wanted?.values();
    (!wanted.iter().any(|value| value == is)).then(|| format!("{field}: wants {}, is {is}", listed(wanted)))
}

fn number_miss(field: &str, wanted: Option<&Any<u64>>, is: Option<u64>) -> Option<String> {
    let wanted = wanted?.values();
    let shown = is.map_or("none".to_owned(), |is| is.to_string());
    (!is.is_some_and(|is| wanted.contains(&is))).then(|| format!("{field}: wants {}, is {shown}", listed(wanted)))
}

fn expression_miss(field: &str, wanted: Option<&Regex>, text: &str, captured: &mut Captured) -> Option<String> {
    let wanted = wanted?;
    let Some(found) = wanted.captures(text) else { return Some(format!("{field}: `{wanted}` does not match")) };
    for name in wanted.capture_names().flatten() {
        if let Some(group) = found.name(name) {
            captured.insert(name.to_owned(), group.as_str().to_owned());
        }
    }
    None
}

fn listed<T: Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

fn unexpected(request: &ModelRequest, texts: &Texts, near: &[(Vec<String>, usize)]) -> String {
    let Asker { role, cell, round, attempt, item, session, turn } = &request.asker;
    let item = item.map(|item| format!(", item {item}")).unwrap_or_default();
    let who = format!(
        "role {role}, cell {cell}, round {round}, attempt {attempt}{item}, session {session}, turn {turn}, model {}",
        request.model
    );
    let nearest: Vec<String> =
        near.iter().take(NEAREST).map(|(misses, index)| format!("answers[{index}] ({})", misses.join("; "))).collect();
    let nearest = if nearest.is_empty() { "it holds no answer at all".to_owned() } else { format!("nearest are {}", nearest.join(", ")) };
    format!("has no answer for {who}; asked was: “{}”; {nearest}", clip(&texts.last))
}

fn clip(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

fn reply(written: &Reply, request: &ModelRequest, captured: &Captured) -> Result<ModelReply, String> {
    let text = match (&written.text, &written.json) {
        (Some(text), _) => Some(fill::text(text, captured)?),
        (None, Some(json)) => Some(fill::value(json, captured)?.to_string()),
        (None, None) => None,
    };
    let mut calls: Vec<ToolCall> = Vec::with_capacity(written.calls.len());
    for (index, call) in written.calls.iter().enumerate() {
        let arguments: Value = fill::value(&call.arguments, captured)?;
        calls.push(call.wire(format!("call_{}_{}", request.asker.turn, index + 1), arguments));
    }
    let finish = written.finish.unwrap_or(if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls });
    let tokens = tokens(written.tokens, request, estimate::of_answer(text.as_deref(), None, &calls));
    Ok(ModelReply { text, reasoning: None, calls, finish, tokens, model: request.model.clone(), latency_ms: written.delay_ms, cost: None })
}

fn tokens(claimed: Option<Figures>, request: &ModelRequest, output: u64) -> Tokens {
    let claimed = claimed.unwrap_or(Figures { input: None, cached: 0, output: None });
    let input = claimed.input.unwrap_or_else(|| estimate::of_request(request));
    Tokens {
        input,
        cached: claimed.cached.min(input),
        output: claimed.output.unwrap_or(output),
        estimated: claimed.input.is_none() || claimed.output.is_none(),
    }
}
