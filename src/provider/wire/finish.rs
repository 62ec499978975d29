//! The tool `finish`: where a provider cannot be held to a schema, the output is asked for as the arguments of a call.
//!
//! Such a call is the answer, not a call: it never enters the history. Beside other calls it is premature and is left out; whoever answers
//! in plain text instead is read as ever.

use crate::agent::{Finish, ModelReply, ModelRequest, ToolSpec};
use serde_json::Value;

const NAME: &str = "finish";

/// The tool to offer; none where the output is no object or the name is taken.
pub(super) fn offered(request: &ModelRequest) -> Option<ToolSpec> {
    let schema = request.output.as_object()?;
    let object = schema.get("type").is_some_and(|kind| kind == "object");
    let free = request.tools.iter().all(|tool| tool.name != NAME);
    (object && free).then(|| ToolSpec {
        name: NAME.to_owned(),
        description: "Hands in your final output and ends the work. Call it once, alone, when everything else is done.".to_owned(),
        parameters: request.output.clone(),
    })
}

/// The reply with the call of `finish` taken for what it means.
#[must_use]
pub fn taken(mut reply: ModelReply, request: &ModelRequest) -> ModelReply {
    if offered(request).is_none() || reply.calls.iter().all(|call| call.name != NAME) {
        return reply;
    }
    let (mut output, rest): (Vec<_>, Vec<_>) = reply.calls.into_iter().partition(|call| call.name == NAME);
    reply.calls = rest;
    if reply.calls.is_empty() {
        // Two outputs in one answer stand side by side, and the session asks for one.
        let texts = output.drain(..).map(|call| match call.arguments {
            Value::String(text) => text,
            other => other.to_string(),
        });
        reply.text = Some(texts.collect::<Vec<_>>().join("\n"));
        // Reasoning goes back beside calls only, and there is none left.
        reply.reasoning = None;
        if reply.finish == Finish::ToolCalls {
            reply.finish = Finish::Stop;
        }
    }
    reply
}
