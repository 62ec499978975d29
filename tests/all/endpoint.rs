//! Runs against a chat completions endpoint on loopback, through the binary: tool calls, the key that appears nowhere, what is refused before.

use crate::program::{Ended, Place, case};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const KEY: &str = "sk-never-to-be-seen-4711";

fn provider(base: &str) -> String {
    format!(r#"config.providers.x={{"wire":"chat","models":["my-*"],"base_url":"{base}","key_env":"MY_KEY","tries":1}}"#)
}

fn completion(message: &Value, finish: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "c-1", "object": "chat.completion", "model": "my-model",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 }
    }))
}

fn says(content: &Value) -> ResponseTemplate {
    completion(&json!({ "role": "assistant", "content": content.to_string() }), "stop")
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

async fn serve(answer: fn(&Value) -> ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    let authorized = header("authorization", format!("Bearer {KEY}").as_str());
    let asked = Mock::given(method("POST")).and(path("/v1/chat/completions")).and(authorized);
    asked.respond_with(move |request: &Request| answer(&body(request))).mount(&server).await;
    server
}

/// Runs the binary while the server answers.
async fn run(place: &Place, key: Option<&str>, args: &[&str]) -> Ended {
    let mut command = place.rsf(args);
    match key {
        Some(key) => command.env("MY_KEY", key),
        None => command.env_remove("MY_KEY"),
    };
    Ended::of(&tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

fn seen_nowhere(place: &Place, ended: &Ended) {
    assert!(!ended.said().contains(KEY), "{ended:?}");
    let tree = place.tree();
    assert!(tree.keys().any(|file| file.ends_with("journal.jsonl")), "there must be something to look through");
    for (file, bytes) in tree {
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "the key is in {}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_calls_tools_and_answers_over_http() {
    let place = Place::new();
    let server = serve(|body| {
        let messages = body["messages"].as_array().unwrap();
        let Some(last) = messages.last().filter(|message| message["role"] == "tool") else {
            assert_eq!(body["tools"][0]["function"]["name"], "read");
            let call =
                json!({ "id": "call-1", "type": "function", "function": { "name": "read", "arguments": "{\"path\": \"notes.md\"}" } });
            return completion(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls");
        };
        assert_eq!(last["tool_call_id"], "call-1");
        says(&json!({ "text": format!("it says {}", last["content"].as_str().unwrap().contains("one")) }))
    })
    .await;
    let set = provider(&format!("{}/v1", server.uri()));
    let workflow = case("workflows/ask.json");
    let ended = run(&place, Some(KEY), &["run", &workflow, "read the notes", "--yes", "--set", &set]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(place.read("answer.json").contains("it says true"));
    seen_nowhere(&place, &ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_built_in_workflow_runs_on_any_endpoint_that_is_set() {
    let place = Place::new();
    let server = serve(|body| {
        let prompt = body["messages"].to_string();
        if body["model"] == "my-editor" {
            says(&json!({ "approved": prompt.contains("second draft"), "remarks": if prompt.contains("second draft") { json!([]) } else { json!(["again"]) } }))
        } else if prompt.contains("came back") {
            says(&json!({ "title": "T", "text": "the second draft" }))
        } else {
            says(&json!({ "title": "T", "text": "the draft" }))
        }
    })
    .await;
    let set = provider(&format!("{}/v1", server.uri()));
    let (writer, editor) = ("config.models.writer=my-writer", "config.models.editor=my-editor");
    let args = ["run", "writer-editor", "rivers", "--yes", "--set", &set, "--set", writer, "--set", editor];
    let ended = run(&place, Some(KEY), &args).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(place.read("drafts/final.md").contains("the second draft"));
    seen_nowhere(&place, &ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_server_throws_back_is_not_shown() {
    let place = Place::new();
    let server = serve(|_| {
        let message = format!("invalid key {KEY} given");
        ResponseTemplate::new(401).set_body_json(json!({ "error": { "message": message, "type": "auth", "code": KEY } }))
    })
    .await;
    let set = provider(&format!("{}/v1", server.uri()));
    let ended = run(&place, Some(KEY), &["run", &case("workflows/ask.json"), "x", "--yes", "--set", &set]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("asker@1 round 1 attempt 1: spawn: ") && ended.out.contains("invalid key"), "{ended:?}");
    seen_nowhere(&place, &ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_or_a_server_nothing_begins() {
    let place = Place::new();
    let before = place.tree();
    // A port that was free a moment ago: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let set = provider(&format!("http://127.0.0.1:{port}/v1"));
    let workflow = case("workflows/ask.json");
    let args = ["run", &workflow, "x", "--yes", "--set", &set];
    let ended = run(&place, Some(KEY), &args).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let words = [format!("provider `x` cannot be reached at 127.0.0.1:{port}"), "set config.providers.x.base_url".to_owned()];
    assert!(words.iter().all(|words| ended.err.contains(words)), "{ended:?}");
    let ended = run(&place, None, &args).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("set the environment variable MY_KEY"), "{ended:?}");
    assert!(place.tree() == before, "something was written");
}
