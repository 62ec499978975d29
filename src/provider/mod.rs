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
mod retry;
mod scripted;
mod secret;
pub mod wire;

use crate::agent::{Failure, FailureKind, ModelReply, ModelRequest};
use http::Endpoint;
use scripted::Script;
use serde_json::Value;
use std::fmt;
use std::future::Future;

/// All providers of a run, in the order they are written.
#[derive(Debug)]
pub struct Providers {
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    /// Globs as written, for messages.
    globs: Vec<String>,
    models: globset::GlobSet,
    wire: Wire,
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
        config::read(config, bundle_file, env).map(|entries| Self { entries })
    }

    /// Whether `model` can be asked: a provider serves it and its key is there.
    ///
    /// # Errors
    /// What is missing and what to do.
    pub fn check(&self, model: &str) -> Result<(), String> {
        let entry = self.serving(model)?;
        match &entry.wire {
            Wire::Http(endpoint) => endpoint.ready(),
            Wire::Scripted(_) => Ok(()),
        }
    }

    /// One exchange. Ends early when `cancel` does; dropping the future cancels it too.
    ///
    /// # Errors
    /// `Money`, `Refusal`, `Timeout`, `Spawn` (no provider, no key, nobody answered or the request was turned down), `Crash` (what came
    /// back was no answer, or a script has none).
    pub async fn exchange(&self, request: &ModelRequest, cancel: impl Future<Output = ()> + Send) -> Result<ModelReply, Failure> {
        let entry = self.serving(&request.model).map_err(|message| Failure::new(FailureKind::Spawn, message))?;
        let exchange = async {
            match &entry.wire {
                Wire::Http(endpoint) => endpoint.exchange(request).await,
                Wire::Scripted(script) => script.exchange(request).await,
            }
        };
        tokio::select! {
            biased;
            () = cancel => Err(Failure::new(FailureKind::Crash, format!("the exchange with model `{}` was cancelled", request.model))),
            result = exchange => result,
        }
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
