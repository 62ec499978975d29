//! What an answer that is no reply means: wait, ask again, or give up, and of which kind the failure is.

use crate::agent::{FailureKind, Tokens};
use serde_json::Value;

/// Characters kept of what a provider said.
const SHOWN: usize = 300;

/// What to do about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultClass {
    /// Too many questions: wait, then ask again.
    Busy,
    /// The server or the way to it failed: ask again, not for ever.
    Transient,
    /// Something came back that is no answer: ask again, not for ever.
    Garbled,
    /// No money: never ask again.
    Money,
    /// The model or a filter refused.
    Refusal,
    /// The request or the key was turned down; the same request would be again.
    Rejected,
}

impl FaultClass {
    /// The kind of failure once nothing more is tried.
    #[must_use]
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Busy | Self::Transient | Self::Rejected => FailureKind::Spawn,
            Self::Garbled => FailureKind::Crash,
            Self::Money => FailureKind::Money,
            Self::Refusal => FailureKind::Refusal,
        }
    }
}

/// A fault as the codec sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFault {
    /// What to do.
    pub class: FaultClass,
    /// Lower-case sentence.
    pub message: String,
    /// Tokens that were used up all the same.
    pub spent: Tokens,
}

impl WireFault {
    /// A fault that cost nothing known.
    #[must_use]
    pub fn new(class: FaultClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), spent: Tokens::default() }
    }
}

/// Reads the envelope of an error. `status` is the HTTP status; a status inside the error counts where the outer one says success.
pub(super) fn from_envelope(status: u16, body: &Value) -> WireFault {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let said = ["message", "msg", "detail"].iter().find_map(|key| error.get(*key)).unwrap_or(error);
    let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    let code = error.get("code").map(|code| code.as_str().map_or_else(|| code.to_string(), str::to_owned)).unwrap_or_default();
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let inner = code.parse::<u16>().ok().filter(|code| (400..600).contains(code));
    let status = if status < 400 { inner.unwrap_or(status) } else { status };
    let class = class(status, &code, kind, &said.to_lowercase());
    WireFault::new(class, sentence(class, status, &code, &said))
}

/// Reads an error without an envelope: an HTML page, an empty body.
pub(super) fn from_text(status: u16, body: &str) -> WireFault {
    let class = class(status, "", "", &body.chars().take(2000).collect::<String>().to_lowercase());
    WireFault::new(class, sentence(class, status, "", body))
}

fn class(status: u16, code: &str, kind: &str, said: &str) -> FaultClass {
    const MONEY: [&str; 6] =
        ["1113", "1309", "insufficient_quota", "insufficient_balance", "insufficient_user_quota", "billing_hard_limit_reached"];
    const MONEY_SAID: [&str; 4] = ["insufficient balance", "insufficient credit", "credit balance is too low", "account in arrears"];
    // Windows that last hours, daily quotas and models outside the plan: asking again soon is of no use.
    const CLOSED: [&str; 6] = ["1304", "1308", "1310", "1311", "1261", "context_length_exceeded"];
    if status == 402 || MONEY.contains(&code) || MONEY.contains(&kind) || MONEY_SAID.iter().any(|words| said.contains(words)) {
        return FaultClass::Money;
    }
    if ["1301", "content_filter", "content_policy_violation"].contains(&code) {
        return FaultClass::Refusal;
    }
    if CLOSED.contains(&code) {
        return FaultClass::Rejected;
    }
    match status {
        429 => FaultClass::Busy,
        408 | 409 | 425 | 500..=599 => FaultClass::Transient,
        400..=499 => FaultClass::Rejected,
        _ if kind == "rate_limit_error" => FaultClass::Busy,
        _ => FaultClass::Transient,
    }
}

fn sentence(class: FaultClass, status: u16, code: &str, said: &str) -> String {
    let head = match (class, status) {
        (FaultClass::Money, _) => "the account has no money left",
        (FaultClass::Refusal, _) => "the provider's filter refused the request",
        (FaultClass::Busy, _) => "the provider asks to slow down",
        (FaultClass::Rejected, 401 | 403) => "the provider did not accept the key",
        (FaultClass::Rejected, 404) => "the provider knows no such model or address",
        (FaultClass::Rejected, _) => "the provider turned the request down",
        _ => "the provider failed",
    };
    let code = if code.is_empty() || code == status.to_string() { String::new() } else { format!(", code {}", shown(code)) };
    let said = shown(said);
    if said.is_empty() { format!("{head} (status {status}{code})") } else { format!("{head} (status {status}{code}): {said}") }
}

/// What a provider said, on one line, clipped, without control characters.
pub(super) fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(SHOWN).collect();
    let line = words.join(" ");
    let mut out: String = line.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    if line.chars().count() > SHOWN {
        out.push('…');
    }
    out
}
