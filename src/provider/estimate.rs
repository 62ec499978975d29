//! Tokens estimated from sizes, for answers without figures: rather too many than too few, so that cost is never nothing.

use crate::agent::{Message, ModelRequest, Tokens, ToolCall};

/// About four ASCII characters make a token; other scripts count one a character.
pub(super) fn of_text(text: &str) -> u64 {
    let (mut ascii, mut other) = (0u64, 0u64);
    for c in text.chars() {
        if c.is_ascii() { ascii += 1 } else { other += 1 }
    }
    ascii.div_ceil(4) + other
}

/// Input tokens of a request.
pub(super) fn of_request(request: &ModelRequest) -> u64 {
    let tools: u64 =
        request.tools.iter().map(|tool| of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string())).sum();
    let messages: u64 = request.messages.iter().map(of_message).sum();
    of_text(&request.system) + tools + messages
}

/// What a question without an answer has used up at least.
pub(super) fn of_unanswered(request: &ModelRequest) -> Tokens {
    Tokens { input: of_request(request), cached: 0, output: 0, estimated: true }
}

/// Output tokens of an answer.
pub(super) fn of_answer(text: Option<&str>, reasoning: Option<&str>, calls: &[ToolCall]) -> u64 {
    text.map_or(0, of_text) + reasoning.map_or(0, of_text) + calls.iter().map(of_call).sum::<u64>()
}

fn of_message(message: &Message) -> u64 {
    match message {
        Message::User { text } => of_text(text),
        Message::Assistant { text, calls, reasoning } => of_answer(text.as_deref(), reasoning.as_deref(), calls),
        Message::Tool { content, .. } => of_text(content),
    }
}

fn of_call(call: &ToolCall) -> u64 {
    of_text(&call.name) + of_text(&call.arguments.to_string())
}
