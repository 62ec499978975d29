//! Reads `config.providers`: every fault is collected with its path, unknown fields are named, values that may be keys are never shown.

use super::http::{Endpoint, Format, Key, is_key_header};
use super::prices::Prices;
use super::scripted::Script;
use super::secret::Secret;
use super::wire::{BodyOptions, chat, messages};
use super::{Entry, Wire};
use crate::base::closest;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::sync::OnceLock;
use std::time::Duration;

/// Fields of every wire. `description` is for people.
const COMMON: [&str; 6] = ["wire", "models", "description", "prices", "currency", "balance"];
const CHAT: [&str; 14] = [
    "base_url",
    "key_env",
    "headers",
    "body",
    "max_tokens",
    "temperature",
    "json_schema",
    "finish_tool",
    "drop_reasoning",
    "stream",
    "stream_usage",
    "tries",
    "backoff_ms",
    "idle_ms",
];
/// Fields of chat completions that Messages have no use for.
const CHAT_ONLY: [&str; 2] = ["json_schema", "stream_usage"];
/// Longest silence that is borne, unless configured.
const IDLE_MS: u64 = 600_000;
const SCRIPTED: [&str; 1] = ["script"];
const TRIES: u64 = 3;
const MOST_TRIES: u64 = 20;
const BACKOFF_MS: u64 = 500;

/// The doors to the outside that reading needs.
struct Outside<'a> {
    bundle_file: &'a dyn Fn(&str) -> Option<String>,
    env: &'a dyn Fn(&str) -> Option<String>,
}

pub(super) fn read(
    config: &Value,
    bundle_file: &dyn Fn(&str) -> Option<String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Entry>, Vec<String>> {
    let outside = Outside { bundle_file, env };
    let providers = match config.get("providers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(providers)) => providers,
        Some(_) => return Err(vec!["config.providers: expected an object of providers by name".to_owned()]),
    };
    let mut faults = Vec::new();
    let mut entries = Vec::new();
    for (name, given) in providers {
        let Value::Object(fields) = given else {
            faults.push(format!("config.providers.{name}: expected an object"));
            continue;
        };
        let mut reading = Fields { name, given: fields, faults: Vec::new() };
        entries.extend(reading.entry(&outside));
        faults.append(&mut reading.faults);
    }
    if faults.is_empty() { Ok(entries) } else { Err(faults) }
}

/// The fields of one provider and the faults found in them.
struct Fields<'a> {
    name: &'a str,
    given: &'a Map<String, Value>,
    faults: Vec<String>,
}

impl Fields<'_> {
    fn entry(&mut self, outside: &Outside<'_>) -> Option<Entry> {
        let wire = match self.text("wire").as_deref() {
            Some("chat") => {
                self.only(&CHAT);
                self.endpoint(Format::Chat, outside).map(|endpoint| Wire::Http(Box::new(endpoint)))
            }
            Some("messages") => {
                let fields: Vec<&str> = CHAT.into_iter().filter(|field| !CHAT_ONLY.contains(field)).collect();
                self.only(&fields);
                self.endpoint(Format::Messages, outside).map(|endpoint| Wire::Http(Box::new(endpoint)))
            }
            Some("scripted") => {
                self.only(&SCRIPTED);
                self.script(outside).map(Wire::Scripted)
            }
            Some(_) => {
                self.fault("wire", "expected `chat`, `messages` or `scripted`");
                None
            }
            None => {
                self.absent("wire", "`chat`, `messages` or `scripted`");
                None
            }
        };
        let prices = self.prices();
        let currency = self.text("currency");
        let (globs, models) = self.models()?;
        Some(Entry { name: self.name.to_owned(), globs, models, prices, currency, wire: wire? })
    }

    fn models(&mut self) -> Option<(Vec<String>, GlobSet)> {
        let globs: Vec<String> = match self.given.get("models") {
            Some(Value::Array(globs)) => globs.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let given = self.given.get("models").and_then(Value::as_array).map_or(0, Vec::len);
        if globs.is_empty() || globs.len() != given {
            self.fault("models", "expected a list of model names or globs, e.g. [\"deepseek-*\"]");
            return None;
        }
        let mut set = GlobSetBuilder::new();
        for glob in &globs {
            match GlobBuilder::new(glob).literal_separator(false).build() {
                Ok(glob) => _ = set.add(glob),
                Err(error) => self.fault("models", &format!("not a glob: {error}")),
            }
        }
        match set.build() {
            Ok(set) => Some((globs, set)),
            Err(error) => {
                self.fault("models", &format!("not usable: {error}"));
                None
            }
        }
    }

    fn prices(&mut self) -> Prices {
        let Some(given) = self.given.get("prices").filter(|given| !given.is_null()) else { return Prices::default() };
        Prices::read(given).unwrap_or_else(|faults| {
            faults.iter().for_each(|(place, what)| self.fault(place, what));
            Prices::default()
        })
    }

    /// The account lies on the provider's own machine: its key goes nowhere else.
    fn balance(&mut self, base: &reqwest::Url) -> Option<reqwest::Url> {
        let text = self.text("balance")?;
        let url =
            base.join(&text).ok().filter(|url| (url.scheme(), url.host_str(), url.port()) == (base.scheme(), base.host_str(), base.port()));
        if url.is_none() {
            self.fault("balance", "expected a path such as /user/balance on the host of base_url");
        }
        url
    }

    fn script(&mut self, outside: &Outside<'_>) -> Option<Script> {
        let Some(path) = self.text("script") else {
            self.absent("script", "a path in the bundle");
            return None;
        };
        let Some(text) = (outside.bundle_file)(&path) else {
            self.fault("script", &format!("no file `{}` in the bundle", path.escape_debug()));
            return None;
        };
        Script::read(&path, &text).map_err(|faults| self.faults.extend(faults)).ok()
    }

    fn endpoint(&mut self, format: Format, outside: &Outside<'_>) -> Option<Endpoint> {
        let url = self.url(format);
        let key = match self.text("key_env") {
            None => Key::None,
            Some(variable) => match (outside.env)(&variable).as_deref().and_then(Secret::new) {
                Some(secret) if secret.header("Bearer ").is_some() => Key::Held(secret),
                _ => Key::Missing { variable },
            },
        };
        let (mut hidden, mut missing_headers) = (Vec::new(), Vec::new());
        let headers = self.headers(outside, &mut hidden, &mut missing_headers);
        let options = self.options(format);
        let tries = self.number("tries", 1, MOST_TRIES).unwrap_or(TRIES);
        let backoff = self.number("backoff_ms", 0, 60_000).unwrap_or(BACKOFF_MS);
        let idle = self.number("idle_ms", 1, 3_600_000).unwrap_or(IDLE_MS);
        let url = url?;
        let balance = self.balance(&url);
        Some(Endpoint {
            balance,
            name: self.name.to_owned(),
            format,
            idle: Duration::from_millis(idle),
            loopback: is_loopback(&url),
            url,
            key,
            headers,
            hidden,
            missing_headers,
            options,
            tries: u32::try_from(tries).unwrap_or(1),
            backoff: Duration::from_millis(backoff),
            client: OnceLock::new(),
        })
    }

    fn options(&mut self, format: Format) -> BodyOptions {
        let fixed: &[&str] = if format == Format::Chat { &chat::FIXED } else { &messages::FIXED };
        let extra = match self.given.get("body") {
            None => Map::new(),
            Some(Value::Object(extra)) => {
                if let Some(key) = fixed.iter().find(|key| extra.contains_key(**key)) {
                    self.fault("body", &format!("`{key}` is written by the engine and cannot be set"));
                }
                extra.clone()
            }
            Some(_) => {
                self.fault("body", "expected an object of further fields");
                Map::new()
            }
        };
        let temperature = self.given.get("temperature").filter(|value| !value.is_null()).and_then(|value| {
            let number = value.as_f64();
            if number.is_none() {
                self.faults.push(format!("config.providers.{}.temperature: expected a number", self.name));
            }
            number
        });
        BodyOptions {
            max_tokens: self.number("max_tokens", 1, u64::MAX),
            temperature,
            json_schema: self.flag("json_schema"),
            finish_tool: self.flag_or("finish_tool", true),
            drop_reasoning: self.flag("drop_reasoning"),
            stream: self.flag("stream"),
            stream_usage: self.flag_or("stream_usage", true),
            extra,
        }
    }

    fn url(&mut self, format: Format) -> Option<reqwest::Url> {
        let Some(text) = self.text("base_url") else {
            self.absent("base_url", "the address of the provider, e.g. https://api.example.com/v1");
            return None;
        };
        let base = text.trim_end_matches('/');
        let end = if format == Format::Chat { "/chat/completions" } else { "/messages" };
        let full = if base.ends_with(end) { base.to_owned() } else { format!("{base}{end}") };
        let Ok(url) = reqwest::Url::parse(&full) else {
            self.fault("base_url", "not an address; write e.g. https://api.example.com/v1");
            return None;
        };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            self.fault("base_url", "expected an http or https address");
            return None;
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            self.fault("base_url", "an address may hold no user, password or query: keys come from the environment (`key_env`, `headers`)");
            return None;
        }
        Some(url)
    }

    fn headers(&mut self, outside: &Outside<'_>, hidden: &mut Vec<Secret>, missing: &mut Vec<String>) -> HeaderMap {
        let mut out = HeaderMap::new();
        let given = match self.given.get("headers") {
            None => return out,
            Some(Value::Object(given)) => given,
            Some(_) => {
                self.fault("headers", "expected an object");
                return out;
            }
        };
        for (name, value) in given {
            let place = format!("headers.{}", name.escape_debug());
            let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
                self.fault(&place, "not a header's name");
                continue;
            };
            let text = match (value.as_str(), value.get("env").and_then(Value::as_str)) {
                (Some(_), _) if is_key_header(&header) => Err("keys come from the environment only: write {\"env\": \"NAME\"}"),
                (Some(text), _) => Ok(text.to_owned()),
                (None, Some(variable)) => {
                    let Some(text) = (outside.env)(variable).filter(|text| !text.trim().is_empty()) else {
                        missing.push(variable.to_owned());
                        continue;
                    };
                    hidden.extend(Secret::new(&text));
                    Ok(text.trim().to_owned())
                }
                (None, None) => Err("expected a text or {\"env\": \"NAME\"}"),
            };
            let unfit = "the value holds characters that no header may have";
            match text.and_then(|text| HeaderValue::from_str(&text).map_err(|_| unfit)) {
                Ok(mut value) => {
                    value.set_sensitive(true);
                    out.insert(header, value);
                }
                Err(fault) => self.fault(&place, fault),
            }
        }
        out
    }

    fn only(&mut self, own: &[&str]) {
        let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
        for key in self.given.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = closest(key, known.iter().copied()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.faults.push(format!("config.providers.{}: unknown field `{}`{hint}", self.name, key.escape_debug()));
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.given.get(key)? {
            Value::Null => None,
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                self.fault(key, "expected a text");
                None
            }
        }
    }

    fn number(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let value = self.given.get(key).filter(|value| !value.is_null())?;
        let number = value.as_u64().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let upto = if most == u64::MAX { String::new() } else { format!(" to {most}") };
            self.fault(key, &format!("expected an integer from {least}{upto}"));
        }
        number
    }

    fn flag(&mut self, key: &str) -> bool {
        self.flag_or(key, false)
    }

    fn flag_or(&mut self, key: &str, default: bool) -> bool {
        match self.given.get(key) {
            None | Some(Value::Null) => default,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.fault(key, "expected true or false");
                false
            }
        }
    }

    fn fault(&mut self, place: &str, what: &str) {
        self.faults.push(format!("config.providers.{}.{place}: {what}", self.name));
    }

    /// For a field that must be there; a field of the wrong type was reported when it was read.
    fn absent(&mut self, key: &str, what: &str) {
        if self.given.get(key).is_none_or(Value::is_null) {
            self.fault(key, &format!("is missing; expected {what}"));
        }
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.ends_with(".localhost") || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
