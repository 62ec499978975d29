//! Streamed chat completions: the events of one answer put together to the body an answer in one piece would have had.
//!
//! Servers cut, glue and number as they like: a new id or another name on a known index is a new call, and a stream that ends without saying
//! so is no answer. Pure: whoever reads the stream hands over what came.

use serde_json::{Map, Value, json};

/// What a stream amounts to.
#[derive(Debug, PartialEq)]
pub(super) struct Assembled {
    /// The answer as one body.
    pub(super) body: Value,
    /// The stream said that it was done.
    pub(super) complete: bool,
}

/// Whether a body is a stream of events.
pub(super) fn is_stream(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    ["data:", ":", "event:", "id:", "retry:"].iter().any(|field| text.starts_with(field))
}

/// The data of every event, by the rules of server-sent events; a last event without its blank line counts too.
pub(super) fn events(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n').chain([""]) {
        match line.split_once(':').unwrap_or((line, "")) {
            ("data", value) => data.push(value.strip_prefix(' ').unwrap_or(value)),
            ("", "") if line.is_empty() && !data.is_empty() => events.push(std::mem::take(&mut data).join("\n")),
            _ => {}
        }
    }
    events
}

/// Puts the events together. The fault is a sentence about the event that could not be read.
pub(super) fn assemble(text: &str) -> Result<Assembled, String> {
    let mut answer = Answer::default();
    for event in events(text) {
        if event.trim() == "[DONE]" {
            answer.complete = true;
            break;
        }
        let read = serde_json::from_str(&event).or_else(|fault| serde_json::from_str(&super::surrogate::replaced(&event).ok_or(fault)?));
        let chunk: Value = read.map_err(|fault| format!("an event of the stream is no JSON: {fault}"))?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(Assembled { body: chunk, complete: true });
        }
        answer.take(&chunk);
    }
    Ok(answer.finish())
}

#[derive(Default)]
struct Answer {
    head: Map<String, Value>,
    content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    calls: Vec<Call>,
    finish: Value,
    complete: bool,
    begun: bool,
}

struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Answer {
    fn take(&mut self, chunk: &Value) {
        for key in ["model", "usage"] {
            if let Some(value) = chunk.get(key).filter(|value| !value.is_null()) {
                self.head.insert(key.to_owned(), value.clone());
            }
        }
        let choices = chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for choice in choices.iter().filter(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0) {
            self.begun = true;
            // Some servers send the last event as a whole message.
            if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
                self.add(delta);
            }
            if let Some(finish) = choice.get("finish_reason").filter(|finish| finish.as_str().is_some_and(|name| !name.is_empty())) {
                self.finish = finish.clone();
                self.complete = true;
            }
        }
    }

    fn add(&mut self, delta: &Value) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str);
        append(&mut self.content, text("content"));
        append(&mut self.reasoning, text("reasoning_content"));
        append(&mut self.refusal, text("refusal"));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.add_call(call);
        }
    }

    fn add_call(&mut self, part: &Value) {
        let function = part.get("function").unwrap_or(part);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text(part.get("id")), text(function.get("name")));
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let index = part.get("index").and_then(Value::as_u64);
        let other = |known: &str, given: &str| !known.is_empty() && !given.is_empty() && known != given;
        let open = self.calls.iter_mut().rev().find(|call| index.is_none() || call.index == index);
        match open.filter(|call| !other(&call.id, &id) && !other(&call.name, &name)) {
            Some(call) => {
                call.arguments.push_str(&arguments);
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.name.is_empty() {
                    call.name = name;
                }
            }
            None => self.calls.push(Call { index, id, name, arguments }),
        }
    }

    fn finish(self) -> Assembled {
        let Self { mut head, content, reasoning, refusal, calls, finish, complete, begun } = self;
        if begun {
            let mut message = Map::new();
            for (key, text) in [("content", content), ("reasoning_content", reasoning), ("refusal", refusal)] {
                message.extend(text.map(|text| (key.to_owned(), Value::String(text))));
            }
            if !calls.is_empty() {
                let calls =
                    calls.into_iter().map(|call| json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}));
                message.insert("tool_calls".to_owned(), calls.collect());
            }
            head.insert("choices".to_owned(), json!([{"index": 0, "message": message, "finish_reason": finish}]));
        }
        Assembled { body: Value::Object(head), complete }
    }
}

fn append(to: &mut Option<String>, text: Option<&str>) {
    if let Some(text) = text {
        to.get_or_insert_default().push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_follow_the_rules_of_the_format() {
        let text = "\u{feff}: hello\r\ndata:a\r\ndata: b\r\n\r\nevent: x\rdata:  c\r\rid: 1\n\ndata\n\ndata: last";
        assert_eq!(events(text), ["a\nb", " c", "", "last"]);
        assert!(is_stream(text) && is_stream("data:{}") && !is_stream("{\"a\": 1}") && !is_stream("<html>"));
    }

    #[test]
    fn an_error_among_the_events_is_the_answer() {
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"busy\"}}\n\n";
        assert_eq!(assemble(text).unwrap().body["error"]["message"], "busy");
        assert!(assemble("data: {oops\n\n").unwrap_err().contains("no JSON"));
    }

    proptest::proptest! {
        #[test]
        fn no_stream_panics(text in "(data: ?|\\{|\\}|\"choices\":|\\[|\\]|\"delta\"|:|,|\n|\r|é|x){0,60}") {
            let _ = assemble(&text);
        }
    }
}
