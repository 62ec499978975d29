//! The Messages wire: recorded shapes, the encoded history, and exchanges against a server on loopback; the tool `finish` on both wires.

use rsf::agent::{Message, ModelReply, ModelRequest, Next, OutputContract, Session, SessionSpec, ToolCall, ToolSpec};
use rsf::provider::Providers;
use rsf::provider::wire::{BodyOptions, chat, finish, messages};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn session() -> Session {
    let needs_path = json!({"type": "object", "required": ["path"]});
    let tool = |name: &str| ToolSpec { name: name.into(), description: "a tool".into(), parameters: needs_path.clone() };
    let check = |value: &Value| match (&value["passed"], &value["issues"]) {
        (Value::Bool(_), Value::Array(_)) => Vec::new(),
        _ => vec!["/passed: expected a boolean".to_owned()],
    };
    Session::new(SessionSpec {
        asker: rsf::agent::Asker { turn: 1, ..Default::default() },
        session_id: "s".into(),
        model: "m".into(),
        system: "you look closely".into(),
        prompt: "look at this".into(),
        tools: ["read_file", "write_file"].map(tool).to_vec(),
        output: OutputContract { schema: json!({"type": "object"}), check: Arc::new(check) },
        max_turns: 5,
        max_repairs: 2,
        output_bytes: 4096,
        governor: None,
    })
}

fn request() -> ModelRequest {
    match session().start() {
        Next::Ask(request) => ModelRequest { timeout_ms: 30_000, ..request },
        other => panic!("{other:?}"),
    }
}

fn cases() -> serde_json::Map<String, Value> {
    serde_json::from_slice(&crate::desk::case("messages/cases.json")).unwrap()
}

fn body(case: &Value) -> String {
    case["body_text"].as_str().map_or_else(|| case["body"].to_string(), str::to_owned)
}

#[test]
fn every_shape_gets_its_right_behaviour() {
    for (name, case) in cases() {
        let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
        let decoded = messages::decode(status, body(&case).as_bytes(), &request());
        match (case["expect"].get("fault"), decoded) {
            (Some(class), Err(fault)) => {
                assert_eq!(format!("{:?}", fault.class).to_lowercase(), class.as_str().unwrap(), "{name}: {}", fault.message);
                assert!(fault.message.contains(case["expect"]["says"].as_str().unwrap_or("")), "{name}: {}", fault.message);
                let spent = json!([fault.spent.input, fault.spent.cached, fault.spent.output]);
                assert_eq!(spent, *case["expect"].get("spent").unwrap_or(&json!([0, 0, 0])), "{name}");
            }
            (None, Ok(reply)) => check(&name, &case["expect"], finish::taken(reply, &request())),
            (_, decoded) => panic!("{name}: {decoded:?}"),
        }
    }
}

fn check(name: &str, expected: &Value, reply: ModelReply) {
    let tokens = reply.tokens;
    assert_eq!(tokens.estimated, expected["estimated"].as_bool().unwrap_or(false), "{name}");
    for (key, found) in [
        ("model", json!(reply.model)),
        ("reasoning", json!(reply.reasoning)),
        ("tokens", json!([tokens.input, tokens.cached, tokens.output])),
    ] {
        assert!(expected.get(key).is_none_or(|wanted| *wanted == found), "{name}: {key} is {found}");
    }
    let mut session = session();
    session.start();
    let next = session.model(Ok(reply));
    let seen = match &next {
        Next::Call { call } => ("call", json!({"name": call.name, "arguments": call.arguments})),
        Next::Done { output } => ("done", output.clone()),
        Next::Failed(failure) => ("failed", json!(failure.kind)),
        Next::Ask(request) => {
            let (Some(Message::User { text: told }) | Some(Message::Tool { content: told, .. })) = request.messages.last() else {
                panic!("{name}: {request:?}")
            };
            assert!(told.contains(expected["told"].as_str().unwrap_or("(nothing)")), "{name}: {told}");
            return;
        }
    };
    assert_eq!(Some(&seen.1), expected.get(seen.0), "{name}: {next:?}");
}

#[test]
fn the_history_is_encoded_as_the_format_wants_it() {
    let call = |id: &str, arguments: Value| ToolCall { id: id.into(), name: "read_file".into(), arguments };
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]).to_string();
    let mut request = request();
    Arc::make_mut(&mut request.messages).extend([
        Message::Assistant {
            text: None,
            calls: vec![call("a.1", json!({"path": "x"})), call("b", json!("{'p"))],
            reasoning: Some(thinking),
        },
        Message::Tool { call: "a.1".into(), name: "read_file".into(), content: "1".into() },
        Message::Tool { call: "b".into(), name: "read_file".into(), content: "error: no JSON".into() },
        Message::User { text: "go on".into() },
        Message::Assistant { text: Some("hm".into()), calls: vec![], reasoning: Some("of another wire".into()) },
        Message::User { text: "again".into() },
    ]);
    let options = BodyOptions { temperature: Some(0.5), finish_tool: true, ..BodyOptions::default() };
    let encoded = messages::encode(&request, &options);
    insta::assert_json_snapshot!("messages_encoded", encoded);
}

#[test]
fn finish_is_offered_for_objects_where_the_name_is_free() {
    let options = BodyOptions { finish_tool: true, ..BodyOptions::default() };
    let tools = |request: &ModelRequest| {
        let tools = chat::encode(request, &options)["tools"].clone();
        tools.as_array().into_iter().flatten().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&request()), ["read_file", "write_file", "finish"]);
    let text = ModelRequest { output: json!({"type": "string"}), ..request() };
    assert_eq!(tools(&text), ["read_file", "write_file"]);
    let mut taken = request();
    taken.tools[0].name = "finish".into();
    assert_eq!(tools(&taken), ["finish", "write_file"]);
    let enforced = BodyOptions { json_schema: true, ..options.clone() };
    assert_eq!(chat::encode(&request(), &enforced)["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_exchange_carries_key_version_and_body() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_raw(body(&cases()["finish"]), "application/json");
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("x-api-key", "sk-secret"))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let served = json!({"wire": "messages", "models": ["*"], "base_url": format!("{}/v1", server.uri()), "key_env": "K"});
    let env = |name: &str| (name == "K").then(|| "sk-secret".to_owned());
    let providers = Providers::from_config(&json!({"providers": {"a": served}}), &|_| None, &env).unwrap();
    let reply = providers.exchange(&request(), pending()).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some(r#"{"passed":false,"issues":["x"]}"#));
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!((&sent["max_tokens"], &sent["tools"][2]["name"]), (&json!(8192), &json!("finish")));
    let wrong =
        json!({"wire": "messages", "models": ["*"], "base_url": "https://x.example/v1", "json_schema": true, "body": {"system": ""}});
    let faults = Providers::from_config(&json!({"providers": {"a": wrong}}), &|_| None, &env).unwrap_err();
    assert!(faults.iter().any(|f| f.contains("json_schema")) && faults.iter().any(|f| f.contains("`system`")), "{faults:?}");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    let server = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_body_string("{}").set_delay(std::time::Duration::from_secs(3600));
    Mock::given(method("POST")).respond_with(late).mount(&server).await;
    let served = json!({"wire": "chat", "models": ["*"], "base_url": server.uri(), "idle_ms": 20, "tries": 2, "backoff_ms": 0});
    let providers = Providers::from_config(&json!({"providers": {"a": served}}), &|_| None, &|_| None).unwrap();
    let failure = providers.exchange(&request(), pending()).await.unwrap_err();
    assert!(failure.message.contains("nothing came") && failure.message.contains("asked 2 times"), "{failure}");
}

#[tokio::test]
async fn a_stream_is_asked_for_and_read() {
    let server = MockServer::start().await;
    let wrapper: Value = serde_json::from_slice(&crate::desk::case("llm/05-deepseek-stream-comments.json")).unwrap();
    let answer = ResponseTemplate::new(200).set_body_raw(wrapper["body_text"].as_str().unwrap(), "text/event-stream");
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let served = json!({"wire": "chat", "models": ["*"], "base_url": server.uri(), "stream": true});
    let providers = Providers::from_config(&json!({"providers": {"a": served}}), &|_| None, &|_| None).unwrap();
    let reply = providers.exchange(&request(), pending()).await.unwrap();
    assert_eq!((reply.text.as_deref(), reply.tokens.output, reply.tokens.estimated), (Some("ok"), 4, false));
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!((&sent["stream"], &sent["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
}
