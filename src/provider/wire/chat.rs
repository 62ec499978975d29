//! Chat completions: the format most providers speak. Encodes a request, decodes a reply; tolerant of what servers are known to send.
//!
//! Nothing that another server could fail to parse is ever sent back: arguments that were no object go as `{}` (their tool answer says why).
//! Arguments are not repaired here: what is no strict JSON object stays a text, and the session decides.

use super::fault::{self, FaultClass, WireFault};
use super::{BodyOptions, finish, stream, surrogate};
use crate::agent::{Finish, Message, ModelReply, ModelRequest, Tokens, ToolCall, read_json};
use crate::provider::estimate;
use serde_json::{Map, Value, json};

/// Fields of the body that options may not replace.
pub(in crate::provider) const FIXED: [&str; 4] = ["model", "messages", "tools", "stream"];

/// The body of a request.
#[must_use]
pub fn encode(request: &ModelRequest, options: &BodyOptions) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    let offered = (options.finish_tool && !options.json_schema).then(|| finish::offered(request)).flatten();
    if !request.tools.is_empty() || offered.is_some() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .chain(&offered)
            .map(|tool| {
                json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}})
            })
            .collect();
        body.insert("tools".into(), Value::Array(tools));
    }
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    let messages = system.into_iter().chain(request.messages.iter().map(|message| encode_message(message, options))).collect();
    body.insert("messages".into(), Value::Array(messages));
    body.insert("stream".into(), json!(options.stream));
    if options.stream && options.stream_usage {
        // Without it most servers stream no figures, and figures are better than estimates.
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(max) = options.max_tokens {
        body.insert("max_tokens".into(), json!(max));
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if options.json_schema && request.output.is_object() {
        let schema = json!({"type": "json_schema", "json_schema": {"name": "output", "schema": request.output}});
        body.insert("response_format".into(), schema);
    }
    for (key, value) in &options.extra {
        if !FIXED.contains(&key.as_str()) {
            body.insert(key.clone(), value.clone());
        }
    }
    Value::Object(body)
}

fn encode_message(message: &Message, options: &BodyOptions) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Tool { call, name: _, content } => json!({"role": "tool", "tool_call_id": call, "content": content}),
        Message::Assistant { text, calls, reasoning } => {
            let mut out = Map::new();
            out.insert("role".into(), json!("assistant"));
            out.insert("content".into(), json!(text.as_deref().unwrap_or("")));
            if !calls.is_empty() {
                out.insert("tool_calls".into(), calls.iter().map(encode_call).collect());
                // Thinking models want their reasoning back beside their calls, an empty one too; others never see the field.
                if let (Some(reasoning), false) = (reasoning, options.drop_reasoning) {
                    out.insert("reasoning_content".into(), json!(reasoning));
                }
            }
            Value::Object(out)
        }
    }
}

fn encode_call(call: &ToolCall) -> Value {
    let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".to_owned() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// Reads what came back. `latency_ms` is left at 0.
///
/// # Errors
/// Whatever is no usable answer, with what to do about it.
pub fn decode(status: u16, body: &[u8], request: &ModelRequest) -> Result<ModelReply, WireFault> {
    let text = String::from_utf8_lossy(body);
    if (200..300).contains(&status) && stream::is_stream(&text) {
        return decode_stream(&text, request);
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    let parsed = serde_json::from_str::<Value>(text).or_else(|error| {
        let replaced = surrogate::replaced(text).ok_or(error)?;
        serde_json::from_str(&replaced)
    });
    let body = match parsed {
        Ok(body @ Value::Object(_)) => body,
        _ if (200..300).contains(&status) => {
            return Err(WireFault::new(FaultClass::Garbled, format!("the provider's answer is no JSON object: {}", fault::shown(text))));
        }
        _ => return Err(fault::from_text(status, text)),
    };
    let names_error = body.get("error").is_some_and(|error| !error.is_null());
    if names_error || !(200..300).contains(&status) {
        return Err(fault::from_envelope(status, &body));
    }
    let spent = usage(&body);
    decode_choice(&body, request, spent).map_err(|fault| WireFault { spent: spent.unwrap_or_default(), ..fault })
}

fn decode_stream(text: &str, request: &ModelRequest) -> Result<ModelReply, WireFault> {
    let assembled = stream::assemble(text).map_err(|fault| WireFault::new(FaultClass::Garbled, fault))?;
    let body = assembled.body;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(fault::from_envelope(200, &body));
    }
    let spent = usage(&body);
    let reply = decode_choice(&body, request, spent).map_err(|fault| WireFault { spent: spent.unwrap_or_default(), ..fault });
    if assembled.complete {
        return reply;
    }
    // Half a call is no call, and half a text no text; what was streamed was paid for.
    let spent = reply.map_or_else(|fault| fault.spent, |reply| reply.tokens);
    Err(WireFault { spent, ..WireFault::new(FaultClass::Transient, "the stream broke off before the answer was complete") })
}

fn decode_choice(body: &Value, request: &ModelRequest, figures: Option<Tokens>) -> Result<ModelReply, WireFault> {
    let garbled = |what: &str| WireFault::new(FaultClass::Garbled, what);
    let choices = body.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let first = choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64) == Some(0)).or_else(|| choices.first());
    let choice = match first {
        Some(choice) => choice,
        None if body.get("message").is_some_and(Value::is_string) => return Err(fault::from_envelope(503, body)),
        None => return Err(garbled("the provider's answer holds no choice")),
    };
    let message = choice.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| garbled("the provider's answer holds no message"))?;
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str).filter(|text| !text.trim().is_empty()) {
        return Err(WireFault::new(FaultClass::Refusal, format!("the model refused: {}", fault::shown(refusal))));
    }
    let named = choice.get("finish_reason").and_then(Value::as_str);
    let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let finish = finish(named, !calls.is_empty())?;
    let calls: Vec<ToolCall> = calls.iter().enumerate().map(|(index, call)| decode_call(index, call, finish, request.asker.turn)).collect();
    let text = content(message.get("content"));
    let reasoning = message.get("reasoning_content").and_then(Value::as_str).map(str::to_owned);
    let output = estimate::of_answer(text.as_deref(), reasoning.as_deref(), &calls);
    let tokens = completed(figures, output, || estimate::of_request(request));
    let model = body.get("model").and_then(Value::as_str).filter(|name| !name.is_empty()).unwrap_or(&request.model).to_owned();
    Ok(ModelReply { text, reasoning, calls, finish, tokens, model, latency_ms: 0, cost: None })
}

/// A reason nobody knows is no stop: the answer may be half of one.
fn finish(named: Option<&str>, has_calls: bool) -> Result<Finish, WireFault> {
    match named {
        Some("length" | "max_tokens" | "model_context_window_exceeded") => Ok(Finish::Length),
        Some("content_filter" | "sensitive") => Ok(Finish::Filtered),
        Some("insufficient_system_resource" | "network_error") => {
            Err(WireFault::new(FaultClass::Transient, "the provider broke the answer off for lack of resources"))
        }
        None | Some("stop" | "tool_calls" | "function_call" | "") if has_calls => Ok(Finish::ToolCalls),
        None | Some("stop" | "tool_calls" | "function_call" | "") => Ok(Finish::Stop),
        Some(other) => {
            Err(WireFault::new(FaultClass::Garbled, format!("the answer ended for an unknown reason `{}`", fault::shown(other))))
        }
    }
}

fn decode_call(index: usize, call: &Value, finish: Finish, turn: u32) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = id.map_or_else(|| format!("call_{turn}_{}", index + 1), str::to_owned);
    let name = function.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => match read_json(text) {
            Ok((object @ Value::Object(_), repairs)) if repairs.is_empty() => object,
            _ => Value::String(text.clone()),
        },
        Some(Value::Null) | None if finish == Finish::Length => Value::String(String::new()),
        Some(Value::Null) | None => Value::Object(Map::new()),
        Some(other) => other.clone(),
    };
    ToolCall { id, name, arguments }
}

/// A text, or the joined text parts of a list.
fn content(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let text: String = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect();
            Some(text)
        }
        _ => None,
    }
}

fn usage(body: &Value) -> Option<Tokens> {
    let usage = body.get("usage").filter(|usage| usage.is_object())?;
    let figure = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cached =
        figure("prompt_cache_hit_tokens").or_else(|| usage.get("prompt_tokens_details")?.get("cached_tokens")?.as_u64()).unwrap_or(0);
    let input = figure("prompt_tokens").unwrap_or(0);
    // Reasoning tokens are part of `completion_tokens`.
    Some(Tokens { input, cached: cached.min(input), output: figure("completion_tokens").unwrap_or(0), estimated: false })
}

/// Fills what the provider left out: a missing figure is not "no cost".
fn completed(figures: Option<Tokens>, output: u64, input: impl FnOnce() -> u64) -> Tokens {
    let mut tokens = figures.unwrap_or_default();
    if tokens.input == 0 {
        tokens.input = input();
        tokens.estimated = true;
    }
    if tokens.output == 0 && output > 0 {
        tokens.output = output;
        tokens.estimated = true;
    }
    tokens
}
