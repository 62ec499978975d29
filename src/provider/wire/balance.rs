//! What is left on an account, as DeepSeek and those like it tell: texts with decimals, several currencies in any order.
//!
//! Amounts of different currencies are never added.

use super::fault::{self, FaultClass, WireFault};
use crate::base::Money;
use serde_json::Value;

/// The state of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The provider will answer.
    pub available: bool,
    /// What is left in the wanted currency; `None` where the account has none in it.
    pub total: Option<Money>,
}

/// Reads the answer for one currency.
///
/// # Errors
/// Anything that is no balance.
pub fn decode(status: u16, body: &[u8], currency: &str) -> Result<Balance, WireFault> {
    let text = String::from_utf8_lossy(body);
    let read: Option<Value> = serde_json::from_str(text.trim_start_matches('\u{feff}').trim()).ok();
    let Some(body) = read.filter(Value::is_object) else {
        return Err(if (200..300).contains(&status) { garbled("the balance is no JSON object") } else { fault::from_text(status, &text) });
    };
    if !(200..300).contains(&status) || body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(fault::from_envelope(status, &body));
    }
    let (Some(available), Some(infos)) = (body["is_available"].as_bool(), body["balance_infos"].as_array()) else {
        return Err(garbled("the balance lacks `is_available` or `balance_infos`"));
    };
    let of_currency = infos.iter().find(|info| info["currency"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(currency)));
    let amount = |info: &Value| {
        let total = &info["total_balance"];
        let text = total.as_str().map_or_else(|| total.to_string(), str::to_owned);
        Money::parse(&text).ok_or_else(|| garbled("the balance is no decimal amount"))
    };
    Ok(Balance { available, total: of_currency.map(amount).transpose()? })
}

fn garbled(message: &str) -> WireFault {
    WireFault::new(FaultClass::Garbled, message)
}
