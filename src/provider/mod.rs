//! Language models behind one door: which provider serves a model, and one exchange with it.
//!
//! Providers are data (`config.providers`). Wire formats are pure codecs under [`wire`]; only `http` touches the network. A key comes from
//! the environment alone and appears in no error, no log and no `Debug`. Nothing here decides what a failure means for a run: it names its kind.
//!
//! Architecture invariant: an exchange ends within its request's time, whatever the other side does.

mod config;
mod estimate;
mod http;
mod options;
mod prices;
pub mod recording;
mod retry;
mod scripted;
mod secret;
pub mod wire;

use crate::agent::{Failure, FailureKind, ModelReply, ModelRequest, Spent, Tokens};
use http::Endpoint;
use prices::Prices;
use recording::Recording;
use scripted::Script;
use serde_json::Value;
use std::fmt;
use std::future::Future;

/// All providers of a run, in the order they are written.
#[derive(Debug)]
pub struct Providers {
    entries: Vec<Entry>,
    recording: Option<Recording>,
}

struct Entry {
    name: String,
    /// Globs as written, for messages.
    globs: Vec<String>,
    models: globset::GlobSet,
    prices: Prices,
    /// Of the prices and of the balance.
    currency: Option<String>,
    wire: Wire,
}

/// What is left on one provider's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The provider.
    pub provider: String,
    /// Of the amount.
    pub currency: String,
    /// What it said.
    pub balance: wire::balance::Balance,
}

enum Wire {
    Http(Box<Endpoint>),
    Scripted(Script),
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire = match &self.wire {
            Wire::Http(_) => "http",
            Wire::Scripted(_) => "scripted",
        };
        f.debug_struct("Entry").field("name", &self.name).field("models", &self.globs).field("wire", &wire).finish_non_exhaustive()
    }
}

impl Providers {
    /// Reads `config.providers` of a run's configuration. Scripts come from `bundle_file`, keys from `env`.
    ///
    /// # Errors
    /// Every fault found, each with its path in the configuration. A missing key is no fault here: see [`Providers::check`].
    pub fn from_config(
        config: &Value,
        bundle_file: &dyn Fn(&str) -> Option<String>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<String>> {
        config::read(config, bundle_file, env).map(|entries| Self { entries, recording: None })
    }

    /// The same providers, with every exchange kept in or answered from a folder.
    #[must_use]
    pub fn with_recording(self, recording: Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// The folder of exchanges, if there is one.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Answers come from a recording: nobody is asked.
    fn replays(&self) -> bool {
        self.recording.as_ref().is_some_and(Recording::answers)
    }

    /// Whether `model` can be asked: a provider serves it and its key is there.
    ///
    /// # Errors
    /// What is missing and what to do.
    pub fn check(&self, model: &str) -> Result<(), String> {
        if self.replays() {
            return Ok(());
        }
        let entry = self.serving(model)?;
        match &entry.wire {
            Wire::Http(endpoint) => endpoint.ready(),
            Wire::Scripted(_) => Ok(()),
        }
    }

    /// Whether somebody answers where `models` are asked, each provider once. Sends neither key nor question.
    ///
    /// # Errors
    /// Who does not answer and what to do, one line each.
    pub async fn reachable(&self, models: impl Iterator<Item = &str>) -> Result<(), Vec<String>> {
        if self.replays() {
            return Ok(());
        }
        let mut asked: Vec<&str> = Vec::new();
        let mut silent = Vec::new();
        for entry in models.filter_map(|model| self.serving(model).ok()) {
            if let Wire::Http(endpoint) = &entry.wire
                && !asked.contains(&entry.name.as_str())
            {
                asked.push(&entry.name);
                silent.extend(endpoint.reachable().await.err());
            }
        }
        if silent.is_empty() { Ok(()) } else { Err(silent) }
    }

    /// One exchange. Ends early when `cancel` does; dropping the future cancels it too.
    ///
    /// # Errors
    /// `Money`, `Refusal`, `Timeout`, `Spawn` (no provider, no key, nobody answered or the request was turned down), `Crash` (what came
    /// back was no answer, or a script has none).
    pub async fn exchange(&self, request: &ModelRequest, cancel: impl Future<Output = ()> + Send) -> Result<ModelReply, Failure> {
        match &self.recording {
            Some(recording) if recording.answers() => recording.answer(request),
            Some(recording) => {
                let result = self.ask(request, cancel).await;
                recording.keep(request, &result);
                result
            }
            None => self.ask(request, cancel).await,
        }
    }

    async fn ask(&self, request: &ModelRequest, cancel: impl Future<Output = ()> + Send) -> Result<ModelReply, Failure> {
        let entry = self.serving(&request.model).map_err(|message| Failure::new(FailureKind::Spawn, message))?;
        let exchange = async {
            match &entry.wire {
                Wire::Http(endpoint) => endpoint.exchange(request).await,
                Wire::Scripted(script) => script.exchange(request).await,
            }
        };
        let result = tokio::select! {
            biased;
            () = cancel => {
                // The provider goes on and asks for its money all the same.
                let spent = if matches!(entry.wire, Wire::Http(_)) { estimate::of_unanswered(request) } else { Tokens::default() };
                let message = format!("the exchange with model `{}` was cancelled", request.model);
                Err(Failure::new(FailureKind::Crash, message).having_spent(spent))
            }
            result = exchange => result,
        };
        let cost = |tokens: Tokens| entry.prices.cost(&request.model, tokens);
        match result {
            Ok(reply) => Ok(ModelReply { cost: cost(reply.tokens), ..reply }),
            Err(failure) => Err(Failure { spent: failure.spent.map(|spent| Spent { cost: cost(spent.tokens), ..spent }), ..failure }),
        }
    }

    /// Whether prices of the model are configured; a scripted one needs none.
    #[must_use]
    pub fn has_price(&self, model: &str) -> bool {
        self.serving(model).is_ok_and(|entry| matches!(entry.wire, Wire::Scripted(_)) || entry.prices.knows(model))
    }

    /// The currency of the model's prices, where it is said.
    #[must_use]
    pub fn currency(&self, model: &str) -> Option<&str> {
        self.serving(model).ok().filter(|entry| entry.prices.knows(model)).and_then(|entry| entry.currency.as_deref())
    }

    /// Asks the accounts of the providers that serve these models and say where.
    ///
    /// # Errors
    /// A provider that could not be asked, with its name.
    pub async fn accounts(&self, models: &[String]) -> Vec<Result<Account, String>> {
        let mut answers = Vec::new();
        if self.replays() {
            return answers;
        }
        for entry in
            self.entries.iter().filter(|entry| models.iter().any(|model| self.serving(model).is_ok_and(|by| by.name == entry.name)))
        {
            let Wire::Http(endpoint) = &entry.wire else { continue };
            let currency = entry.currency.clone().unwrap_or_else(|| "CNY".to_owned());
            if let Some(answer) = endpoint.account(&currency).await {
                answers.push(answer.map(|balance| Account { provider: entry.name.clone(), currency, balance }));
            }
        }
        answers
    }

    fn serving(&self, model: &str) -> Result<&Entry, String> {
        self.entries.iter().find(|entry| entry.models.is_match(model)).ok_or_else(|| {
            let model = model.escape_debug();
            if self.entries.is_empty() {
                return format!("no provider serves model `{model}`: the configuration has no `providers`");
            }
            let listed: Vec<String> =
                self.entries.iter().map(|entry| format!("`{}` serves {}", entry.name, entry.globs.join(", "))).collect();
            format!("no provider serves model `{model}`; {}", listed.join("; "))
        })
    }
}
