//! Exchanges recorded and replayed: the same questions get the same answers without anybody being asked; another question is told loudly.

use rsf::agent::{Asker, Message, ModelReply, ModelRequest};
use rsf::provider::Providers;
use rsf::provider::recording::Recording;
use serde_json::{Value, json};
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

const KEY: &str = "sk-very-secret-4711";
const THEN: &str = "0f3a9c1d2e4b5a69788f0e1d2c3b4a5968778695";
const NOW: &str = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678";

fn request(prompt: &str, turn: u32) -> ModelRequest {
    ModelRequest {
        asker: Asker { role: "maker".into(), cell: "maker@5".into(), round: 2, attempt: 1, item: None, session: 1, turn },
        session_id: "differs".into(),
        model: "m".into(),
        system: "s".into(),
        messages: Arc::new(vec![Message::User { text: prompt.into() }]),
        tools: vec![],
        output: json!({"type": "object"}),
        timeout_ms: 5000,
    }
}

fn providers(server: &str, recording: Recording) -> Providers {
    let served = json!({"wire": "chat", "models": ["*"], "base_url": server, "key_env": "K", "backoff_ms": 0, "tries": 1});
    let config = json!({"providers": {"a": served}});
    Providers::from_config(&config, &|_| None, &|_| Some(KEY.to_owned())).unwrap().with_recording(recording)
}

/// Records one answer and one failure.
async fn recorded(folder: &Path) -> ModelReply {
    let server = MockServer::start().await;
    let call =
        json!({"id": "c", "function": {"name": "git_show", "arguments": json!({"commit": THEN, "path": "/old/place/x"}).to_string()}});
    let message = json!({"content": format!("at {THEN}, key {KEY}"), "tool_calls": [call]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}});
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200).set_body_json(body)).up_to_n_times(1).mount(&server).await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(402).set_body_string(format!("no money, {KEY}"))).mount(&server).await;
    let providers = providers(&server.uri(), Recording::write(folder, Path::new("/old/place"), "seed 7").unwrap());
    let prompt = format!("commit {THEN} of 2026-01-02T03:04:05Z in /old/place/src, tests took 0.31s");
    let reply = providers.exchange(&request(&prompt, 1), pending()).await.unwrap();
    providers.exchange(&request("more", 2), pending()).await.unwrap_err();
    assert_eq!(providers.recording().unwrap().faults(), Vec::<String>::new());
    reply
}

#[tokio::test]
async fn a_replay_answers_as_it_was_answered_in_words_of_the_present() {
    let folder = tempfile::tempdir().unwrap();
    let then = recorded(folder.path()).await;
    assert!(Recording::write(folder.path(), Path::new("/x"), "").unwrap_err().message.contains("empty folder"));
    assert_eq!(Recording::seed(folder.path()).unwrap(), "seed 7");
    assert!(Recording::seed(&std::env::temp_dir()).unwrap_err().message.contains("no recording"));
    let replay = providers("http://127.0.0.1:9", Recording::replay(folder.path(), Path::new("/new/where")).unwrap());
    assert_eq!(replay.check("any"), Ok(()));
    let prompt = format!("commit {NOW} of 2027-11-12T13:14:15Z in /new/where/src, tests took 12.5s");
    let reply = replay.exchange(&request(&prompt, 1), pending()).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some(format!("at {NOW}, key [key]").as_str()));
    assert_eq!(reply.calls[0].arguments, json!({"commit": NOW, "path": "/new/where/x"}));
    assert_eq!((reply.tokens, reply.finish), (then.tokens, then.finish));
    let failure = replay.exchange(&request("more", 2), pending()).await.unwrap_err();
    assert_eq!(failure.kind, rsf::agent::FailureKind::Money);
    assert_eq!(replay.recording().unwrap().faults(), Vec::<String>::new());
}

#[tokio::test]
async fn another_question_is_told_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let replay = providers("http://127.0.0.1:9", Recording::replay(folder.path(), Path::new("/old/place")).unwrap());
    // The same shape, but one sha where there were two different things before.
    for (prompt, shown) in
        [(format!("commit {THEN} of 2026-01-02T03:04:05Z in /old/place/lib, tests took 0.31s"), "/lib"), ("something else".to_owned(), "+")]
    {
        let failure = replay.exchange(&request(&prompt, 1), pending()).await.unwrap_err();
        assert!(failure.message.contains("r2.maker@5.a1.s1.t1.json") && failure.message.contains(shown), "{failure}");
    }
    let missing = replay.exchange(&request("x", 3), pending()).await.unwrap_err();
    assert!(missing.message.contains("was not recorded") && missing.message.contains("t3.json"), "{missing}");
    assert_eq!(replay.recording().unwrap().faults().len(), 3);
    std::fs::write(folder.path().join("r2.maker@5.a1.s1.t3.json"), "{").unwrap();
    assert!(replay.exchange(&request("x", 3), pending()).await.unwrap_err().message.contains("no recorded exchange"));
}

#[tokio::test]
async fn no_key_is_in_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(KEY) && !text.to_lowercase().contains("authorization"), "{text}");
        let exchange: Value = serde_json::from_str(&text).unwrap();
        files += usize::from(exchange["format"] == "model-exchange");
    }
    assert_eq!(files, 2);
}
