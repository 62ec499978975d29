//! The one HTTP client: sends a body, waits and asks again where that helps, within the time of the request.
//!
//! It follows no redirect (a key must not travel), believes no size (answers are bounded), and shows no text that was not scrubbed of the key.

use super::estimate;
use super::retry::{WaitHeaders, backoff, jittered};
use super::secret::Secret;
use super::wire::balance::{self, Balance};
use super::wire::{BodyOptions, FaultClass, WireFault, chat, finish, messages};
use crate::agent::{Failure, FailureKind, ModelReply, ModelRequest, Tokens};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Largest answer that is read.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// Times a busy provider is asked at most.
const BUSY_TRIES: u32 = 10;
/// Longest time one exchange may be given: a clock can only be set so far ahead.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest attempt to connect.
const CONNECT: Duration = Duration::from_secs(30);

/// Longest time an endpoint may take to show that it is there.
const PROBE: Duration = Duration::from_secs(10);

/// Where a provider's key is.
#[derive(Debug)]
pub(super) enum Key {
    /// None is needed.
    None,
    /// It should be in this environment variable and is not, or cannot be used.
    Missing { variable: String },
    /// Here it is.
    Held(Secret),
}

/// What is spoken over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Chat completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
}

/// One provider that speaks HTTP.
pub(super) struct Endpoint {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) url: reqwest::Url,
    pub(super) loopback: bool,
    pub(super) key: Key,
    /// Further headers, with the secrets among their values kept for scrubbing.
    pub(super) headers: HeaderMap,
    pub(super) hidden: Vec<Secret>,
    pub(super) missing_headers: Vec<String>,
    pub(super) options: BodyOptions,
    /// Times a question is asked at most when the server fails.
    pub(super) tries: u32,
    pub(super) backoff: Duration,
    /// Where the account tells what is left.
    pub(super) balance: Option<reqwest::Url>,
    /// Longest silence while an answer is awaited or comes in.
    pub(super) idle: Duration,
    pub(super) client: OnceLock<Result<reqwest::Client, String>>,
}

impl Endpoint {
    /// Whether everything it needs is there.
    pub(super) fn ready(&self) -> Result<(), String> {
        let name = &self.name;
        if let Key::Missing { variable } = &self.key {
            return Err(format!("provider `{name}` has no key: set the environment variable {variable}"));
        }
        if let Some(variable) = self.missing_headers.first() {
            return Err(format!("provider `{name}` lacks a header's value: set the environment variable {variable}"));
        }
        if matches!(self.key, Key::None) && !self.loopback && self.headers.is_empty() {
            return Err(format!(
                "provider `{name}` names no key: set `key_env` to the environment variable that holds it (only loopback needs none)"
            ));
        }
        Ok(())
    }

    /// Whether anybody answers at its address. Any answer will do; no key is sent.
    pub(super) async fn reachable(&self) -> Result<(), String> {
        let name = &self.name;
        let client = self.client.get_or_init(|| build_client(&self.url, self.loopback)).as_ref();
        let client = client.map_err(|message| format!("provider `{name}`: no HTTP client could be made: {message}"))?;
        let why = match tokio::time::timeout(PROBE, client.head(self.url.clone()).send()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => chain(&error.without_url()),
            Err(_) => format!("no answer within {} seconds", PROBE.as_secs()),
        };
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
        Err(format!(
            "provider `{name}` cannot be reached at {host}{port} ({why}): start it, or set config.providers.{name}.base_url, or the proxy variables"
        ))
    }

    pub(super) async fn exchange(&self, request: &ModelRequest) -> Result<ModelReply, Failure> {
        self.ready().map_err(|message| Failure::new(FailureKind::Spawn, message))?;
        let client = self.client.get_or_init(|| build_client(&self.url, self.loopback)).as_ref();
        let client = client.map_err(|message| Failure::new(FailureKind::Spawn, format!("no HTTP client could be made: {message}")))?;
        let body = match self.format {
            Format::Chat => chat::encode(request, &self.options),
            Format::Messages => messages::encode(request, &self.options),
        };
        let body = body.to_string();
        let started = Instant::now();
        let deadline = started + Duration::from_millis(request.timeout_ms).min(LONGEST);
        let asking = Asking { deadline, tries: 0, busy: 0, spent: Tokens::default() };
        let mut reply = self.ask_until_answered(client, &body, request, asking).await?;
        reply.latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reply)
    }

    /// What is left on the account; `None` where nothing says how to ask.
    pub(super) async fn account(&self, currency: &str) -> Option<Result<Balance, String>> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let url = self.balance.clone()?;
        let said = |message: String| self.scrub(&format!("provider `{}`: its balance is not known: {message}", self.name));
        let client = match self.client.get_or_init(|| build_client(&self.url, self.loopback)) {
            Ok(client) => client,
            Err(message) => return Some(Err(said(message.clone()))),
        };
        let mut call = client.get(url).headers(self.headers.clone());
        if let Key::Held(key) = &self.key
            && let Some(value) = key.header("Bearer ")
        {
            call = call.header(AUTHORIZATION, value);
        }
        let answer = timeout(PATIENCE, async {
            let response = call.send().await.map_err(network_fault)?;
            let status = response.status().as_u16();
            balance::decode(status, &self.read_bounded(response).await?, currency)
        });
        Some(match answer.await {
            Ok(answer) => answer.map_err(|fault| said(fault.message)),
            Err(_) => Err(said(format!("no answer within {} s", PATIENCE.as_secs()))),
        })
    }

    async fn ask_until_answered(
        &self,
        client: &reqwest::Client,
        body: &str,
        request: &ModelRequest,
        mut asking: Asking,
    ) -> Result<ModelReply, Failure> {
        let mut last: Option<String> = None;
        loop {
            let Ok((result, waits)) = timeout_at(asking.deadline, self.ask_once(client, body, request)).await else {
                asking.spend(estimate::of_unanswered(request));
                return Err(self.timed_out(request, last.as_deref()).having_spent(asking.spent));
            };
            let fault = match result {
                Ok(reply) => return Ok(asking.with_spent(reply)),
                Err(fault) => fault,
            };
            asking.spend(fault.spent);
            let Some(wait) = self.next_wait(&mut asking, fault.class, &waits, request) else {
                return Err(self.failure(&fault, asking.asked()).having_spent(asking.spent));
            };
            if Instant::now() + wait >= asking.deadline {
                let message =
                    format!("{}; the next try is due in {} s, which is more than the attempt has left", fault.message, wait.as_secs());
                return Err(self.failure(&WireFault { message, ..fault }, asking.asked()).having_spent(asking.spent));
            }
            tokio::time::sleep(wait).await;
            last = Some(fault.message);
        }
    }

    /// How long to wait before the next try; `None` when there is none.
    fn next_wait(&self, asking: &mut Asking, class: FaultClass, waits: &WaitHeaders, request: &ModelRequest) -> Option<Duration> {
        let base = match class {
            FaultClass::Busy => {
                asking.busy += 1;
                (asking.busy < BUSY_TRIES)
                    .then(|| waits.asked(jiff::Timestamp::now()).unwrap_or_else(|| backoff(self.backoff, asking.busy)))?
            }
            FaultClass::Transient | FaultClass::Garbled => {
                asking.tries += 1;
                (asking.tries < self.tries).then(|| backoff(self.backoff, asking.tries))?
            }
            FaultClass::Money | FaultClass::Refusal | FaultClass::Rejected => return None,
        };
        Some(jittered(base, &format!("{}/{}/{}", request.session_id, request.asker.turn, asking.asked())))
    }

    async fn ask_once(&self, client: &reqwest::Client, body: &str, request: &ModelRequest) -> (Result<ModelReply, WireFault>, WaitHeaders) {
        let mut call = client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").headers(self.headers.clone());
        let (name, prefix) = match self.format {
            Format::Chat => (AUTHORIZATION, "Bearer "),
            Format::Messages => (HeaderName::from_static("x-api-key"), ""),
        };
        if self.format == Format::Messages && !self.headers.contains_key("anthropic-version") {
            call = call.header("anthropic-version", "2023-06-01");
        }
        if let Key::Held(key) = &self.key {
            let Some(value) = key.header(prefix) else {
                let fault = WireFault::new(FaultClass::Rejected, "the key holds characters that no header may have");
                return (Err(fault), WaitHeaders::default());
            };
            call = call.header(name, value);
        }
        let response = match timeout(self.idle, call.body(body.to_owned()).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return (Err(network_fault(error)), WaitHeaders::default()),
            Err(_) => return (Err(self.silent()), WaitHeaders::default()),
        };
        let waits = wait_headers(response.headers());
        let status = response.status().as_u16();
        let result = match self.read_bounded(response).await {
            Ok(_) if (300..400).contains(&status) => Err(WireFault::new(
                FaultClass::Rejected,
                format!("the address redirects (status {status}); write the final one as base_url"),
            )),
            // Scrubbed before it is decoded: what is shown later is clipped, and half a key is still half a key.
            Ok(bytes) => self.decode(status, &self.scrub(&String::from_utf8_lossy(&bytes)), request),
            Err(fault) => Err(fault),
        };
        (result, waits)
    }

    fn decode(&self, status: u16, text: &str, request: &ModelRequest) -> Result<ModelReply, WireFault> {
        let reply = match self.format {
            Format::Chat => chat::decode(status, text.as_bytes(), request),
            Format::Messages => messages::decode(status, text.as_bytes(), request),
        };
        reply.map(|reply| if self.options.finish_tool { finish::taken(reply, request) } else { reply })
    }

    async fn read_bounded(&self, mut response: reqwest::Response) -> Result<Vec<u8>, WireFault> {
        let mut bytes = Vec::new();
        // Every byte counts as a sign of life, blank lines and comments included.
        while let Some(chunk) = timeout(self.idle, response.chunk()).await.map_err(|_| self.silent())?.map_err(network_fault)? {
            if bytes.len() + chunk.len() > ANSWER_BYTES {
                return Err(WireFault::new(FaultClass::Garbled, format!("the answer is larger than {} MB", ANSWER_BYTES / 1024 / 1024)));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn silent(&self) -> WireFault {
        WireFault::new(FaultClass::Transient, format!("nothing came for {} s", self.idle.as_secs_f32()))
    }

    fn failure(&self, fault: &WireFault, asked: u32) -> Failure {
        let times = if asked > 1 { format!(" (asked {asked} times)") } else { String::new() };
        Failure::new(fault.class.kind(), self.scrub(&format!("provider `{}`: {}{times}", self.name, fault.message)))
    }

    fn timed_out(&self, request: &ModelRequest, last: Option<&str>) -> Failure {
        let seconds = request.timeout_ms / 1000;
        let before = last.map(|fault| format!("; before that: {fault}")).unwrap_or_default();
        let model = request.model.escape_debug();
        let message = format!("provider `{}`: model `{model}` gave no answer within the attempt's time ({seconds} s){before}", self.name);
        Failure::new(FailureKind::Timeout, self.scrub(&message))
    }

    fn scrub(&self, text: &str) -> String {
        let text = if let Key::Held(key) = &self.key { key.scrub(text) } else { text.to_owned() };
        self.hidden.iter().fold(text, |text, secret| secret.scrub(&text))
    }
}

/// The state of one exchange.
struct Asking {
    deadline: Instant,
    tries: u32,
    busy: u32,
    /// Tokens of answers that could not be used: they cost all the same.
    spent: Tokens,
}

impl Asking {
    fn asked(&self) -> u32 {
        self.tries.saturating_add(self.busy)
    }

    fn spend(&mut self, more: Tokens) {
        self.spent.input = self.spent.input.saturating_add(more.input);
        self.spent.cached = self.spent.cached.saturating_add(more.cached);
        self.spent.output = self.spent.output.saturating_add(more.output);
        self.spent.estimated |= more.estimated;
    }

    fn with_spent(mut self, mut reply: ModelReply) -> ModelReply {
        self.spend(reply.tokens);
        reply.tokens = self.spent;
        reply
    }
}

fn build_client(url: &reqwest::Url, loopback: bool) -> Result<reqwest::Client, String> {
    // Someone else in the process may have installed one already: then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .user_agent(concat!("rsf/", env!("CARGO_PKG_VERSION")));
    if loopback {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // No certificates are needed, so a machine without any can still talk to its own servers.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    builder.build().map_err(|error| chain(&error.without_url()))
}

fn network_fault(error: reqwest::Error) -> WireFault {
    let what = if error.is_connect() { "no connection" } else { "the connection failed" };
    WireFault::new(FaultClass::Transient, format!("{what}: {}", chain(&error.without_url())))
}

fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn wait_headers(headers: &HeaderMap) -> WaitHeaders {
    let text = |name: &str| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
    WaitHeaders { after_ms: text("retry-after-ms"), after: text("retry-after"), date: text("date") }
}

/// Header names whose values are keys: they come from the environment only.
pub(super) fn is_key_header(name: &HeaderName) -> bool {
    ["authorization", "x-api-key", "api-key", "proxy-authorization", "cookie"].contains(&name.as_str())
}
