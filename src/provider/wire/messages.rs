//! The Messages format of Anthropic and of those that speak it: content blocks instead of texts, results of tools in the next message.
//!
//! Thinking blocks go back unchanged with their signatures: they travel as the JSON of their list in a reply's `reasoning`. Nothing that
//! another server could fail to parse is ever sent back.

use super::fault::{self, FaultClass, WireFault};
use super::{BodyOptions, finish, stream, surrogate};
use crate::agent::{Finish, Message, ModelReply, ModelRequest, Tokens, ToolCall};
use crate::provider::estimate;
use serde_json::{Map, Value, json};

/// Fields of the body that options may not replace.
pub(in crate::provider) const FIXED: [&str; 5] = ["model", "messages", "system", "tools", "stream"];
/// The format wants a bound; this one is asked for where nothing else is set.
const MAX_TOKENS: u64 = 8192;

/// The body of a request.
#[must_use]
pub fn encode(request: &ModelRequest, options: &BodyOptions) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("max_tokens".into(), json!(options.max_tokens.unwrap_or(MAX_TOKENS)));
    let offered = options.finish_tool.then(|| finish::offered(request)).flatten();
    let tools: Vec<Value> = request
        .tools
        .iter()
        .chain(&offered)
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
        .collect();
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    if !request.system.trim().is_empty() {
        // Tools and system are the same in every turn: the provider may keep them.
        let kept = json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
        body.insert("system".into(), kept);
    }
    body.insert("messages".into(), Value::Array(history(&request.messages, options)));
    body.insert("stream".into(), json!(options.stream));
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    for (key, value) in &options.extra {
        if !FIXED.contains(&key.as_str()) {
            body.insert(key.clone(), value.clone());
        }
    }
    Value::Object(body)
}

/// Messages of one side in a row become one, as the format wants it: all results of a turn stand in the very next message.
fn history(messages: &[Message], options: &BodyOptions) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = encode_message(message, options);
        match out.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn encode_message(message: &Message, options: &BodyOptions) -> (&'static str, Vec<Value>) {
    let text_block = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    match message {
        Message::User { text } => ("user", text_block(text).into_iter().collect()),
        Message::Tool { call, content, .. } => ("user", vec![json!({"type": "tool_result", "tool_use_id": id(call), "content": content})]),
        Message::Assistant { text, calls, reasoning } => {
            let thinking = reasoning.as_deref().filter(|_| !options.drop_reasoning && !calls.is_empty());
            let mut blocks: Vec<Value> = thinking.and_then(|blocks| serde_json::from_str(blocks).ok()).unwrap_or_default();
            blocks.extend(text.as_deref().and_then(text_block));
            blocks.extend(calls.iter().map(|call| {
                let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
                json!({"type": "tool_use", "id": id(&call.id), "name": call.name, "input": input})
            }));
            ("assistant", blocks)
        }
    }
}

/// Ids as the format takes them.
fn id(given: &str) -> String {
    given.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Reads what came back, in one piece or streamed. `latency_ms` is left at 0.
///
/// # Errors
/// Whatever is no usable answer, with what to do about it.
pub fn decode(status: u16, body: &[u8], request: &ModelRequest) -> Result<ModelReply, WireFault> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let good = (200..300).contains(&status);
    if good && stream::is_stream(text) {
        let (body, complete) = assemble(text).map_err(|fault| WireFault::new(FaultClass::Garbled, fault))?;
        let reply = reply(&body, request);
        let spent = reply.as_ref().map_or_else(|fault| fault.spent, |reply| reply.tokens);
        let broken = || WireFault { spent, ..WireFault::new(FaultClass::Transient, "the stream broke off before the answer was complete") };
        return if complete || body.get("error").is_some() { reply } else { Err(broken()) };
    }
    let read = serde_json::from_str(text).or_else(|fault| serde_json::from_str(&surrogate::replaced(text).ok_or(fault)?));
    match read {
        Ok(body @ Value::Object(_)) if good => reply(&body, request),
        Ok(body @ Value::Object(_)) => Err(fault::from_envelope(status, &body)),
        _ if good => Err(WireFault::new(FaultClass::Garbled, format!("the provider's answer is no JSON object: {}", fault::shown(text)))),
        _ => Err(fault::from_text(status, text)),
    }
}

fn reply(body: &Value, request: &ModelRequest) -> Result<ModelReply, WireFault> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(fault::from_envelope(200, body));
    }
    let blocks = body.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let Some(blocks) = blocks else {
        return Err(WireFault::new(FaultClass::Garbled, "the provider's answer holds no content"));
    };
    let of = |kinds: &'static [&'static str]| {
        blocks.iter().filter(move |block| kinds.iter().any(|kind| block.get("type").is_some_and(|given| given == kind)))
    };
    let text: String = of(&["text"]).filter_map(|block| block.get("text")?.as_str()).collect();
    let calls: Vec<ToolCall> = of(&["tool_use"]).enumerate().map(|(index, block)| call(index, block, request.asker.turn)).collect();
    let thinking: Vec<&Value> = of(&["thinking", "redacted_thinking"]).collect();
    let reasoning = (!thinking.is_empty()).then(|| json!(thinking).to_string());
    let text = (!text.is_empty()).then_some(text);
    let output = estimate::of_answer(text.as_deref(), reasoning.as_deref(), &calls);
    let tokens = tokens(body.get("usage"), output, || estimate::of_request(request));
    let spent = |fault: WireFault| WireFault { spent: tokens, ..fault };
    let named = body.get("stop_reason").and_then(Value::as_str);
    let finish = match named {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => {
            let said = text.as_deref().unwrap_or("without a word");
            return Err(spent(WireFault::new(FaultClass::Refusal, format!("the model refused: {}", fault::shown(said)))));
        }
        None | Some("end_turn" | "stop_sequence" | "tool_use" | "pause_turn") if !calls.is_empty() => Finish::ToolCalls,
        None | Some("end_turn" | "stop_sequence" | "tool_use") => Finish::Stop,
        Some(other) => {
            let message = format!("the answer ended for an unknown reason `{}`", fault::shown(other));
            return Err(spent(WireFault::new(FaultClass::Garbled, message)));
        }
    };
    let model = body.get("model").and_then(Value::as_str).filter(|name| !name.is_empty()).unwrap_or(&request.model).to_owned();
    Ok(ModelReply { text, reasoning, calls, finish, tokens, model, latency_ms: 0, cost: None })
}

fn call(index: usize, block: &Value, turn: u32) -> ToolCall {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = if text("id").is_empty() { format!("call_{turn}_{}", index + 1) } else { text("id").to_owned() };
    let arguments = match block.get("input") {
        None | Some(Value::Null) => json!({}),
        Some(input) => input.clone(),
    };
    ToolCall { id, name: text("name").to_owned(), arguments }
}

/// Figures of the format: what was cached stands beside the input, not in it.
fn tokens(usage: Option<&Value>, output: u64, input: impl FnOnce() -> u64) -> Tokens {
    let figure = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or(0);
    let cached = figure("cache_read_input_tokens");
    let sum = figure("input_tokens").saturating_add(cached).saturating_add(figure("cache_creation_input_tokens"));
    let mut tokens = Tokens { input: sum, cached, output: figure("output_tokens"), estimated: false };
    if tokens.input == 0 {
        tokens = Tokens { input: input(), estimated: true, ..tokens };
    }
    if tokens.output == 0 && output > 0 {
        tokens = Tokens { output, estimated: true, ..tokens };
    }
    tokens
}

/// Puts the events of a stream together; also tells whether it ended as it should.
fn assemble(text: &str) -> Result<(Value, bool), String> {
    let mut body = Map::new();
    let mut blocks: Vec<(u64, Value, String)> = Vec::new();
    let mut usage = Map::new();
    let mut complete = false;
    for event in stream::events(text) {
        let event: Value = serde_json::from_str(&event).map_err(|fault| format!("an event of the stream is no JSON: {fault}"))?;
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        let inner = |key: &str| event.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "error" => return Ok((event, true)),
            "message_start" => {
                body = inner("message");
                usage.extend(body.get("usage").and_then(Value::as_object).cloned().unwrap_or_default());
            }
            "content_block_start" => blocks.push((index, Value::Object(inner("content_block")), String::new())),
            "content_block_delta" => {
                if let Some((_, block, written)) = blocks.iter_mut().rev().find(|(at, ..)| *at == index) {
                    add(block, written, &inner("delta"));
                }
            }
            "message_delta" => {
                body.extend(inner("delta"));
                usage.extend(inner("usage"));
            }
            "message_stop" => complete = true,
            _ => {}
        }
    }
    let content = blocks.into_iter().map(|(_, mut block, written)| {
        if block.get("type").is_some_and(|kind| kind == "tool_use") && !written.is_empty() {
            // What is no object stays a text, and the session decides.
            let input = serde_json::from_str(&written).ok().filter(Value::is_object);
            block["input"] = input.unwrap_or(Value::String(written));
        }
        block
    });
    body.insert("content".to_owned(), content.collect());
    body.insert("usage".to_owned(), Value::Object(usage));
    Ok((Value::Object(body), complete))
}

fn add(block: &mut Value, written: &mut String, delta: &Map<String, Value>) {
    for key in ["text", "thinking", "signature"] {
        if let (Some(more), Some(block)) = (delta.get(key).and_then(Value::as_str), block.as_object_mut()) {
            let known = block.get(key).and_then(Value::as_str).unwrap_or_default();
            let whole = format!("{known}{more}");
            block.insert(key.to_owned(), Value::String(whole));
        }
    }
    written.push_str(delta.get("partial_json").and_then(Value::as_str).unwrap_or_default());
}
