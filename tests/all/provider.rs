//! Providers: recorded shapes of chat completions through codec and session, exchanges against a server on loopback, the scripted model.

use rsf::agent::{
    Asker, Failure, FailureKind, Finish, Message, ModelReply, ModelRequest, Next, OutputContract, Session, SessionSpec, Tokens, ToolCall,
    ToolSpec,
};
use rsf::provider::Providers;
use rsf::provider::wire::{BodyOptions, WireFault, chat};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const KEY: &str = "sk-very-secret-4711";

fn case(file: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/cases/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn session() -> Session {
    let tool = |name: &str, parameters: Value| ToolSpec { name: name.into(), description: "a tool".into(), parameters };
    let needs_path = json!({"type": "object", "required": ["path"]});
    let tools = vec![tool("read_file", needs_path.clone()), tool("list_files", json!({"type": "object"})), tool("write_file", needs_path)];
    let check = |value: &Value| match (&value["passed"], &value["issues"]) {
        (Value::Bool(_), Value::Array(_)) => Vec::new(),
        _ => vec!["/passed: expected a boolean".to_owned()],
    };
    Session::new(SessionSpec {
        asker: Asker { role: "reviewer".into(), cell: "reviewer@7".into(), round: 2, attempt: 1, session: 1, ..Asker::default() },
        session_id: "s-1".into(),
        model: "m".into(),
        system: "you judge".into(),
        prompt: "judge this".into(),
        tools,
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

/// Status and body of a recorded answer.
fn recorded(name: &str) -> (u16, String) {
    let wrapper: Value = serde_json::from_str(&case(&format!("llm/{name}.json"))).unwrap();
    let body = wrapper["body_text"].as_str().map_or_else(|| wrapper["body"].to_string(), str::to_owned);
    (u16::try_from(wrapper["status"].as_u64().unwrap()).unwrap(), body)
}

#[test]
fn every_recorded_shape_gets_its_right_behaviour() {
    let expected: Value = serde_json::from_str(&case("llm/expect.json")).unwrap();
    let expected = expected.as_object().unwrap();
    let files = std::fs::read_dir(format!("{}/tests/cases/llm", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(files.count(), expected.len() + 1, "every file has an expectation");
    for (name, expected) in expected {
        let (status, body) = recorded(name);
        let decoded = chat::decode(status, body.as_bytes(), &request());
        match (expected.get("fault"), decoded) {
            (Some(class), Err(fault)) => check_fault(name, expected, class, &fault),
            (None, Ok(reply)) => check_reply(name, expected, reply),
            (_, decoded) => panic!("{name}: {decoded:?}"),
        }
    }
}

fn check_fault(name: &str, expected: &Value, class: &Value, fault: &WireFault) {
    assert_eq!(format!("{:?}", fault.class).to_lowercase(), class.as_str().unwrap(), "{name}: {}", fault.message);
    let says = expected["says"].as_str().unwrap_or("");
    assert!(fault.message.contains(says), "{name}: {}", fault.message);
    if expected["spent"] == "some" {
        assert!(fault.spent.input > 0 && fault.spent.output > 0 && fault.spent.estimated, "{name}: {fault:?}");
        return;
    }
    let spent = json!([fault.spent.input, fault.spent.cached, fault.spent.output]);
    assert_eq!(spent, *expected.get("spent").unwrap_or(&json!([0, 0, 0])), "{name}");
}

fn check_reply(name: &str, expected: &Value, reply: ModelReply) {
    let tokens = reply.tokens;
    assert_eq!(tokens.estimated, expected["estimated"].as_bool().unwrap_or(false), "{name}");
    assert!(tokens.input > 0 && tokens.output > 0, "{name}: an exchange costs something");
    for (key, found) in [
        ("text", json!(reply.text)),
        ("model", json!(reply.model)),
        ("reasoning", json!(reply.reasoning)),
        ("tokens", json!([tokens.input, tokens.cached, tokens.output])),
    ] {
        if let Some(wanted) = expected.get(key) {
            assert_eq!(found, *wanted, "{name}: {key}");
        }
    }
    let mut session = session();
    session.start();
    let next = session.model(Ok(reply));
    let seen = match &next {
        Next::Call { call } => ("call", json!({"name": call.name, "arguments": call.arguments})),
        Next::Done { output } => ("done", output.clone()),
        Next::Failed(failure) => ("failed", json!(failure.kind)),
        Next::Ask(request) => {
            let told = match request.messages.last() {
                Some(Message::User { text }) => text,
                Some(Message::Tool { content, .. }) => content,
                other => panic!("{name}: {other:?}"),
            };
            assert!(told.contains(expected["told"].as_str().unwrap_or("(nothing)")), "{name}: {told}");
            assert!(!session.record().failures.is_empty(), "{name}: counted");
            return;
        }
    };
    assert_eq!(Some(&seen.1), expected.get(seen.0), "{name}: {next:?}");
}

#[test]
fn a_request_is_encoded_with_its_history() {
    let call = |id: &str, arguments: Value| ToolCall { id: id.into(), name: "read_file".into(), arguments };
    let mut request = request();
    Arc::make_mut(&mut request.messages).extend([
        Message::Assistant {
            text: None,
            calls: vec![call("a", json!({"path": "x"})), call("b", json!("{'p"))],
            reasoning: Some(String::new()),
        },
        Message::Tool { call: "a".into(), name: "read_file".into(), content: "1".into() },
        Message::Tool { call: "b".into(), name: "read_file".into(), content: "error: no JSON".into() },
        Message::Assistant { text: Some("hm".into()), calls: vec![], reasoning: Some("thought".into()) },
    ]);
    let extra = json!({"top_p": 0.5}).as_object().unwrap().clone();
    let options = BodyOptions { max_tokens: Some(99), temperature: Some(0.0), json_schema: true, extra, ..BodyOptions::default() };
    let expected: Value = serde_json::from_str(&case("provider/encoded.json")).unwrap();
    assert_eq!(chat::encode(&request, &options), expected);
    let plain = chat::encode(&request, &BodyOptions { drop_reasoning: true, ..BodyOptions::default() });
    assert!(plain["messages"][2].get("reasoning_content").is_none());
    assert!(plain.get("response_format").is_none());
}

fn no_file(_: &str) -> Option<String> {
    None
}

fn env(name: &str) -> Option<String> {
    (name == "TEST_KEY").then(|| KEY.to_owned())
}

fn providers(config: Value) -> Result<Providers, Vec<String>> {
    Providers::from_config(&json!({"providers": config}), &no_file, &env)
}

fn chat_on(server: &MockServer) -> Providers {
    let served =
        json!({"wire": "chat", "models": ["m*"], "base_url": format!("{}/v1", server.uri()), "key_env": "TEST_KEY", "backoff_ms": 1});
    providers(json!({"local": served})).unwrap()
}

async fn serve(server: &MockServer, template: ResponseTemplate, times: u64) {
    Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(template).up_to_n_times(times).mount(server).await;
}

fn answer(name: &str) -> ResponseTemplate {
    let (status, body) = recorded(name);
    ResponseTemplate::new(status).set_body_raw(body, "application/json")
}

async fn exchange(providers: &Providers) -> Result<ModelReply, Failure> {
    providers.exchange(&request(), pending()).await
}

async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn an_exchange_carries_key_and_body_and_gives_the_reply() {
    let server = MockServer::start().await;
    let bearer = format!("Bearer {KEY}");
    Mock::given(header("authorization", bearer.as_str())).respond_with(answer("07-deepseek-reasoning-toolcall")).mount(&server).await;
    let reply = exchange(&chat_on(&server)).await.unwrap();
    assert_eq!((reply.finish, reply.calls.len(), reply.tokens.cached), (Finish::ToolCalls, 1, 768));
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!((&sent["model"], &sent["stream"], &sent["messages"][1]["content"]), (&json!("m"), &json!(false), &json!("judge this")));
}

#[tokio::test]
async fn a_busy_provider_is_waited_for() {
    let server = MockServer::start().await;
    serve(&server, answer("36-429-retry-after-seconds").insert_header("retry-after-ms", "2"), 4).await;
    serve(&server, answer("11-rate-1302"), 1).await;
    serve(&server, answer("46-multiple-choices"), 1).await;
    assert_eq!(exchange(&chat_on(&server)).await.unwrap().text.as_deref(), Some("a"));
    assert_eq!(asked(&server).await, 6);
}

#[tokio::test]
async fn a_wait_longer_than_the_attempt_is_not_begun() {
    let server = MockServer::start().await;
    serve(&server, answer("36-429-retry-after-seconds").insert_header("retry-after", "3600"), 9).await;
    let failure = exchange(&chat_on(&server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Spawn);
    assert!(failure.message.contains("slow down") && failure.message.contains("more than the attempt has left"), "{failure}");
    assert_eq!(asked(&server).await, 1);
}

#[tokio::test]
async fn a_failing_server_is_asked_a_bounded_number_of_times() {
    let server = MockServer::start().await;
    serve(&server, answer("35-html-502"), 99).await;
    let failure = exchange(&chat_on(&server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Spawn);
    assert!(failure.message.contains("502 Bad Gateway") && failure.message.contains("asked 3 times"), "{failure}");
    assert_eq!(asked(&server).await, 3);
}

#[tokio::test]
async fn tokens_of_useless_answers_are_counted() {
    let server = MockServer::start().await;
    serve(&server, answer("33-empty-choices"), 1).await;
    serve(&server, answer("34-error-in-200"), 1).await;
    serve(&server, answer("46-multiple-choices"), 1).await;
    let reply = exchange(&chat_on(&server)).await.unwrap();
    assert_eq!(reply.tokens, Tokens { input: 6, cached: 0, output: 2, estimated: false });
}

#[tokio::test]
async fn some_failures_are_never_tried_again() {
    for (name, kind) in [
        ("03-deepseek-402", FailureKind::Money),
        ("10-glm-1113-in-429", FailureKind::Money),
        ("quota-in-429", FailureKind::Money),
        ("43-refusal", FailureKind::Refusal),
        ("08-deepseek-reasoning-missing-400", FailureKind::Spawn),
        ("12-glm-1308-window", FailureKind::Spawn),
    ] {
        let server = MockServer::start().await;
        serve(&server, answer(name), 99).await;
        assert_eq!(exchange(&chat_on(&server)).await.unwrap_err().kind, kind, "{name}");
        assert_eq!(asked(&server).await, 1, "{name}");
    }
}

#[tokio::test]
async fn answers_that_stay_garbled_are_a_crash() {
    let server = MockServer::start().await;
    serve(&server, answer("no-json-200"), 99).await;
    assert_eq!(exchange(&chat_on(&server)).await.unwrap_err().kind, FailureKind::Crash);
    assert_eq!(asked(&server).await, 3);
}

#[tokio::test]
async fn time_out_and_cancelling_end_an_exchange() {
    let server = MockServer::start().await;
    serve(&server, answer("46-multiple-choices").set_delay(std::time::Duration::from_secs(3600)), 99).await;
    let providers = chat_on(&server);
    let failure = providers.exchange(&ModelRequest { timeout_ms: 50, ..request() }, pending()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
    let failure = providers.exchange(&request(), tokio::task::yield_now()).await.unwrap_err();
    assert!(failure.message.contains("cancelled"), "{failure}");
    let longest = ModelRequest { timeout_ms: u64::MAX, ..request() };
    assert!(providers.exchange(&longest, tokio::task::yield_now()).await.is_err(), "a time beyond every clock is no panic");
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let server = MockServer::start().await;
    serve(&server, ResponseTemplate::new(200).set_body_bytes(vec![b' '; 33 * 1024 * 1024]), 99).await;
    let failure = exchange(&chat_on(&server)).await.unwrap_err();
    assert!(failure.message.contains("larger than 32 MB"), "{failure}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = MockServer::start().await;
    serve(&server, ResponseTemplate::new(307).insert_header("location", format!("{}/elsewhere", server.uri())), 99).await;
    let failure = exchange(&chat_on(&server)).await.unwrap_err();
    assert!(failure.message.contains("redirects"), "{failure}");
    assert_eq!(asked(&server).await, 1);
}

#[tokio::test]
async fn the_key_is_in_no_error_and_no_debug() {
    let server = MockServer::start().await;
    let echo = json!({"error": {"message": format!("incorrect key {KEY}"), "code": format!("x{KEY}")}});
    serve(&server, ResponseTemplate::new(401).set_body_json(echo), 1).await;
    // The second answer is clipped in the middle of the key.
    serve(&server, ResponseTemplate::new(502).set_body_string(format!("{}{KEY}", "x".repeat(290))), 99).await;
    let providers = chat_on(&server);
    let (first, second) = (exchange(&providers).await.unwrap_err(), exchange(&providers).await.unwrap_err());
    assert!(first.message.contains("did not accept the key") && first.message.contains("incorrect key [key]"), "{first}");
    for text in
        [format!("{first:?}"), format!("{second:?}"), format!("{providers:?} {providers:#?}"), format!("{:?}", providers.check("m"))]
    {
        assert!(!text.contains(&KEY[..6]), "{text}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let served = json!({"wire": "chat", "models": ["*"], "base_url": format!("http://{taken}"), "key_env": "TEST_KEY", "backoff_ms": 0,
        "headers": {"x-team": {"env": "TEST_KEY"}}});
    let failure = exchange(&one(served)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Spawn);
    assert!(failure.message.contains("no connection") && !format!("{failure:?}").contains(KEY), "{failure:?}");
}

#[tokio::test]
async fn a_server_without_the_right_certificate_gets_no_key() {
    let server = MockServer::start().await;
    let served = json!({"wire": "chat", "models": ["*"], "base_url": server.uri().replace("http:", "https:"), "key_env": "TEST_KEY", "backoff_ms": 0});
    let failure = exchange(&one(served)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Spawn, "{failure}");
    assert_eq!(asked(&server).await, 0);
}

fn one(served: Value) -> Providers {
    providers(json!({"gone": served})).unwrap()
}

#[test]
fn preflight_says_what_is_missing() {
    let chat = |more: Value| {
        let mut served = json!({"wire": "chat", "base_url": "https://api.example.com/v1"});
        served.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        served
    };
    let providers = providers(json!({
        "first": chat(json!({"models": ["deepseek-*"], "key_env": "TEST_KEY"})),
        "second": chat(json!({"models": ["deepseek-v4", "glm-*"], "key_env": "GLM_KEY"})),
        "open": chat(json!({"models": ["open"]})),
        "near": chat(json!({"models": ["near"], "base_url": "http://127.0.0.1:8080/v1/"})),
    }))
    .unwrap();
    assert_eq!(providers.check("deepseek-v4"), Ok(()));
    assert_eq!(providers.check("near"), Ok(()));
    assert!(providers.check("glm-5.2").unwrap_err().contains("set the environment variable GLM_KEY"));
    assert!(providers.check("open").unwrap_err().contains("key_env"));
    let unknown = providers.check("gpt").unwrap_err();
    assert!(unknown.contains("`first` serves deepseek-*") && unknown.contains("`near` serves near"), "{unknown}");
    let none = Providers::from_config(&json!({}), &no_file, &env).unwrap();
    assert!(none.check("m").unwrap_err().contains("no `providers`"));
}

#[test]
fn every_fault_of_the_configuration_is_named_with_its_path() {
    let config: Value = serde_json::from_str(&case("provider/faulty-config.json")).unwrap();
    let faults = Providers::from_config(&config, &no_file, &env).unwrap_err();
    let expected = case("provider/faulty-config.expected.txt");
    assert_eq!(faults.iter().map(|fault| format!("{fault}\n")).collect::<String>(), expected);
}

fn scripted() -> Providers {
    let config = json!({"providers": {"script": {"wire": "scripted", "models": ["*"], "script": "samples/loop.json"}}});
    let file = |path: &str| (path == "samples/loop.json").then(|| case("scripted/loop.json"));
    Providers::from_config(&config, &file, &env).unwrap()
}

fn scripted_request(role: &str, cell: &str, round: u32) -> ModelRequest {
    let mut request = request();
    request.asker = Asker { role: role.into(), cell: cell.into(), round, attempt: 1, item: None, session: 1, turn: 1 };
    request.messages = Arc::new(vec![Message::User { text: "goal tests in {\"n\": 3}".into() }]);
    request
}

#[tokio::test]
async fn a_script_answers_by_who_asks_and_what_was_asked() {
    let providers = scripted();
    let mut request = scripted_request("writer", "writer@1", 1);
    let reply = providers.exchange(&request, pending()).await.unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.clone())).collect();
    assert_eq!(calls, [("call_1_1", "git_log", json!({"max": 3})), ("call_1_2", "read", json!({}))]);
    assert!(reply.finish == Finish::ToolCalls && reply.tokens.estimated && reply.tokens.input > 0 && reply.tokens.output > 0);

    request.asker.turn = 2;
    let content = "{\"sha\":\"ab12\"}".into();
    Arc::make_mut(&mut request.messages).push(Message::Tool { call: "call_1_1".into(), name: "git_log".into(), content });
    let reply = providers.exchange(&request, pending()).await.unwrap();
    let output: Value = serde_json::from_str(reply.text.as_deref().unwrap()).unwrap();
    assert_eq!(output, json!({"goal": "tests", "seen": "at ab12, for tests", "rest": {"n": 3}}));
    assert_eq!(reply.tokens, Tokens { input: 100, cached: 40, output: 7, estimated: false });
    assert_eq!(providers.exchange(&request, pending()).await.unwrap(), reply, "the same question gets the same answer");
}

#[tokio::test]
async fn a_script_fails_cuts_and_delays_as_it_says() {
    let providers = scripted();
    let mut request = scripted_request("editor", "editor@2", 1);
    let reply = providers.exchange(&request, pending()).await.unwrap();
    assert_eq!((reply.finish, reply.text.as_deref(), reply.latency_ms), (Finish::Length, Some("not yet"), 1));
    let timed_out = providers.exchange(&ModelRequest { timeout_ms: 1, ..request.clone() }, pending()).await.unwrap_err();
    assert_eq!(timed_out.kind, FailureKind::Timeout);
    request.asker.attempt = 2;
    assert_eq!(providers.exchange(&request, pending()).await.unwrap_err(), Failure::new(FailureKind::Refusal, "the script refuses"));
    request.asker = Asker { round: 2, item: Some(1), ..request.asker };
    assert_eq!(providers.exchange(&request, pending()).await.unwrap().text.as_deref(), Some("null"));
}

#[tokio::test]
async fn an_unexpected_question_is_an_error_that_shows_it() {
    let mut request = scripted_request("writer", "writer@1", 3);
    request.asker.turn = 2;
    Arc::make_mut(&mut request.messages).push(Message::User { text: "x".repeat(5000) });
    let failure = scripted().exchange(&request, pending()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Crash);
    for part in [
        "samples/loop.json",
        "role writer, cell writer@1, round 3, attempt 1, session 1, turn 2, model m",
        "xxx…",
        "answers[0] (turn: wants 1, is 2)",
        "answers[1] (asked: `\"sha\":\"(?<sha>[0-9a-f]+)\"` does not match)",
    ] {
        assert!(failure.message.contains(part), "{part}: {failure}");
    }
    assert!(failure.message.len() < 2000);
}

#[test]
fn faults_of_a_script_are_named_with_their_place() {
    let config = json!({"providers": {"script": {"wire": "scripted", "models": ["*"], "script": "s.json"}}});
    let faults = Providers::from_config(&config, &|_| Some(case("scripted/faults.json")), &env).unwrap_err();
    let expected = case("scripted/faults.expected.txt");
    assert_eq!(faults.len(), expected.lines().count(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected.lines()) {
        assert!(fault.starts_with("s.json: ") && fault.contains(expected), "{fault}\n{expected}");
    }
}
