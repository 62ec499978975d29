//! What is remembered of a session for logs, prices and programs: figures only, never the exchange itself.

use super::Tokens;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// `session` of docs/language.md, section 4.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionRecord {
    /// Session id.
    pub id: String,
    /// The model that answered (as the provider named it), or the one asked while none has.
    pub model: String,
    /// Exchanges made.
    pub turns: u32,
    /// Names with dots, sorted, each once.
    pub tools_used: Vec<String>,
    /// Calls that were handed on.
    pub tool_calls: u32,
    /// Faults and repairs in words, in order.
    pub failures: Vec<String>,
    /// Sum over the exchanges.
    pub latency_ms: u64,
    /// Sum over the exchanges.
    #[serde(serialize_with = "with_total")]
    pub tokens: Tokens,
    /// What the permission gate refused to the session, what the kernel refused to the programs it started, and what the governor said in vain.
    pub risk_flags: Vec<String>,
    /// The part of `risk_flags` that the governor raised: each becomes a log record.
    #[serde(skip)]
    pub violations: Vec<String>,
}

fn with_total<S: Serializer>(tokens: &Tokens, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("input", &tokens.input)?;
    map.serialize_entry("cached", &tokens.cached)?;
    map.serialize_entry("output", &tokens.output)?;
    map.serialize_entry("total", &tokens.input.saturating_add(tokens.output))?;
    if tokens.estimated {
        map.serialize_entry("estimated", &true)?;
    }
    map.end()
}

impl SessionRecord {
    pub(super) fn add_tokens(&mut self, more: Tokens) {
        let sum = &mut self.tokens;
        sum.input = sum.input.saturating_add(more.input);
        sum.cached = sum.cached.saturating_add(more.cached);
        sum.output = sum.output.saturating_add(more.output);
        sum.estimated |= more.estimated;
    }

    pub(super) fn used(&mut self, tool: String) {
        self.tool_calls += 1;
        if let Err(place) = self.tools_used.binary_search(&tool) {
            self.tools_used.insert(place, tool);
        }
    }
}
