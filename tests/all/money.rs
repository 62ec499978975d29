//! Money: balances as providers tell them, prices per kind of token, and what exchanges without an answer cost.

use rsf::agent::{FailureKind, Message, ModelRequest};
use rsf::base::Money;
use rsf::cli::spending;
use rsf::provider::Providers;
use rsf::provider::wire::{FaultClass, balance};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn recorded(name: &str) -> String {
    let wrapper: Value = serde_json::from_slice(&crate::desk::case(&format!("{name}.json"))).unwrap();
    wrapper["body"].to_string()
}

fn request() -> ModelRequest {
    ModelRequest {
        asker: rsf::agent::Asker::default(),
        session_id: "s".into(),
        model: "deepseek-v4-pro".into(),
        system: "s".into(),
        messages: Arc::new(vec![Message::User { text: "a question of some length".into() }]),
        tools: vec![],
        output: json!({"type": "string"}),
        timeout_ms: 5000,
    }
}

#[test]
fn a_balance_is_read_in_one_currency() {
    let body = recorded("provider/01-deepseek-balance");
    let of = |currency: &str| balance::decode(200, body.as_bytes(), currency).unwrap();
    assert_eq!((of("CNY").available, of("CNY").total), (true, Some(Money(18_370_000))));
    assert_eq!((of("usd").total, of("EUR").total), (Some(Money(420_000)), None));
    let empty = balance::decode(200, recorded("provider/02-deepseek-balance-unavailable").as_bytes(), "CNY").unwrap();
    assert_eq!((empty.available, empty.total), (false, Some(Money(3_000_000))));
    for (status, body, class) in [
        (401, "{\"error\":{\"message\":\"no\"}}", FaultClass::Rejected),
        (200, "<html>", FaultClass::Garbled),
        (200, "{}", FaultClass::Garbled),
        (200, "{\"is_available\":true,\"balance_infos\":[{\"currency\":\"CNY\",\"total_balance\":\"much\"}]}", FaultClass::Garbled),
        (503, "down", FaultClass::Transient),
    ] {
        assert_eq!(balance::decode(status, body.as_bytes(), "CNY").unwrap_err().class, class, "{body}");
    }
}

async fn served(server: &MockServer, more: Value) -> Providers {
    let mut entry = json!({"wire": "chat", "models": ["deepseek-*"], "base_url": format!("{}/v1", server.uri()), "key_env": "K",
        "backoff_ms": 0, "currency": "CNY", "prices": {"cached": 0.15, "input": 4.5, "output": 13.5}, "balance": "/user/balance"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Providers::from_config(&json!({"providers": {"deepseek": entry}}), &|_| None, &|_| Some("sk-1".into())).unwrap()
}

#[tokio::test]
async fn an_account_that_cannot_be_used_keeps_the_run_from_starting() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_raw(recorded("provider/02-deepseek-balance-unavailable"), "application/json");
    Mock::given(method("GET"))
        .and(path("/user/balance"))
        .and(header("authorization", "Bearer sk-1"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let providers = served(&server, json!({})).await;
    let models = ["deepseek-v4-pro".to_owned()];
    let accounts = providers.accounts(&models).await;
    let lines = spending::refusals(Some("¥20"), &providers, &models, &accounts);
    assert!(lines.len() == 1 && lines[0].contains("cannot be used (3.00 CNY left)"), "{lines:?}");
    assert_eq!(spending::balance(&accounts)["total"], 3_000_000);
    let foreign = spending::refusals(Some("$5"), &providers, &models, &[]);
    assert!(foreign.len() == 1 && foreign[0].contains("nothing is converted"), "{foreign:?}");
    assert!(spending::notes(&providers, &["other".to_owned()], false, &[])[0].contains("no price is known of other"));
    assert!(providers.accounts(&["other".to_owned()]).await.is_empty(), "only who serves the run is asked");
}

#[tokio::test]
async fn kinds_of_tokens_cost_what_they_cost() {
    let server = MockServer::start().await;
    let body = json!({"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "prompt_cache_hit_tokens": 800, "completion_tokens": 100}});
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200).set_body_json(body)).mount(&server).await;
    let reply = served(&server, json!({})).await.exchange(&request(), pending()).await.unwrap();
    assert_eq!(reply.cost, Some(200 * 9 / 2 + 120 + 1350));
    assert_eq!(
        served(&server, json!({"prices": {"glm": {"input": 1, "output": 1}}})).await.exchange(&request(), pending()).await.unwrap().cost,
        None
    );
}

#[tokio::test]
async fn failed_exchanges_cost_too() {
    let server = MockServer::start().await;
    let body = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200).set_body_json(body)).mount(&server).await;
    let failure = served(&server, json!({"tries": 3})).await.exchange(&request(), pending()).await.unwrap_err();
    let spent = failure.spent.unwrap();
    assert_eq!((failure.kind, spent.tokens.input, spent.tokens.output, spent.tokens.estimated), (FailureKind::Crash, 30, 6, false));
    assert_eq!(spent.cost, Some(135 + 81));

    let slow = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(std::time::Duration::from_secs(3600));
    Mock::given(method("POST")).respond_with(late).mount(&slow).await;
    let providers = served(&slow, json!({})).await;
    let failure = providers.exchange(&ModelRequest { timeout_ms: 30, ..request() }, pending()).await.unwrap_err();
    assert!(failure.kind == FailureKind::Timeout && failure.spent.is_some_and(|spent| spent.tokens.estimated && spent.cost > Some(0)));
    let cancelled = providers.exchange(&request(), tokio::task::yield_now()).await.unwrap_err();
    assert!(cancelled.spent.is_some_and(|spent| spent.tokens.estimated));
    let refused = providers.exchange(&ModelRequest { model: "nobody".into(), ..request() }, pending()).await.unwrap_err();
    assert_eq!(refused.spent, None);
}
