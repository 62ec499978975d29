//! Money before a run: the amount of `--budget`, whether it is of the currency that prices are in, and what accounts say is left.
//!
//! Nothing is converted: an amount of another currency than the prices' is refused.

use super::settings::{Layer, SettingsError};
use crate::base::Money;
use crate::provider::{Account, Providers};
use serde_json::{Value, json};

/// An amount of money as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// In whole units, as a number.
    pub amount: Value,
    /// Where it was said.
    pub currency: Option<String>,
}

/// Reads `20`, `¥20`, `20 CNY`, `$5`, `20元`.
///
/// # Errors
/// No such amount.
pub fn budget(text: &str) -> Result<Budget, SettingsError> {
    const SIGNS: [(&str, &str); 7] = [("¥", "CNY"), ("￥", "CNY"), ("元", "CNY"), ("RMB", "CNY"), ("$", "USD"), ("€", "EUR"), ("£", "GBP")];
    let mut rest = text.trim().to_owned();
    let mut currency = None;
    for (sign, name) in SIGNS {
        let without = rest.strip_prefix(sign).or_else(|| rest.strip_suffix(sign)).map(|rest| rest.trim().to_owned());
        if let Some(without) = without {
            (rest, currency) = (without, Some(name.to_owned()));
            break;
        }
    }
    let letters: String = rest.chars().filter(char::is_ascii_alphabetic).collect();
    if currency.is_none() && letters.len() == 3 && letters.chars().all(|c| c.is_ascii_uppercase()) {
        rest = rest.trim_start_matches(&letters).trim_end_matches(&letters).trim().to_owned();
        currency = Some(letters);
    }
    let plain = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let amount = serde_json::from_str::<Value>(&rest).ok().filter(|_| plain && Money::parse(&rest).is_some());
    match amount {
        Some(amount) => Ok(Budget { amount, currency }),
        None => Err(SettingsError::new(&format!("--budget {text}"), "expected an amount such as 20, ¥20 or \"20 CNY\"")),
    }
}

/// The layer of `--budget`: the run's limit of cost.
///
/// # Errors
/// As [`budget`].
pub fn layer(text: &str) -> Result<Layer, SettingsError> {
    let amount = budget(text)?.amount;
    let patch = json!({"limits": {"cost": amount}}).as_object().cloned().unwrap_or_default();
    Ok(Layer { name: format!("--budget {text}"), patch })
}

/// Why the money keeps the run from starting.
#[must_use]
pub fn refusals(given: Option<&str>, providers: &Providers, models: &[String], accounts: &[Result<Account, String>]) -> Vec<String> {
    let mut lines = Vec::new();
    let wanted = given.and_then(|text| budget(text).ok()).and_then(|budget| budget.currency);
    for model in models {
        if let (Some(wanted), Some(of)) = (&wanted, providers.currency(model))
            && !wanted.eq_ignore_ascii_case(of)
        {
            lines.push(format!("--budget is in {wanted}, but the prices of model `{model}` are in {of}; nothing is converted here"));
        }
    }
    for account in accounts.iter().flatten().filter(|account| !account.balance.available) {
        let left = account.balance.total.map(|left| format!(" ({} {} left)", left.two_decimals(), account.currency)).unwrap_or_default();
        lines
            .push(format!("provider `{}` says that its account cannot be used{left}: top it up or ask another provider", account.provider));
    }
    lines
}

/// What to read before saying yes: balances, accounts that could not be asked, models without a price.
#[must_use]
pub fn notes(providers: &Providers, models: &[String], priced: bool, accounts: &[Result<Account, String>]) -> Vec<String> {
    let mut notes: Vec<String> = accounts
        .iter()
        .filter_map(|account| match account {
            Ok(account) => {
                let left = account.balance.total?;
                Some(format!("provider `{}` has {} {} left", account.provider, left.two_decimals(), account.currency))
            }
            Err(message) => Some(message.clone()),
        })
        .collect();
    let unpriced: Vec<&str> = models.iter().map(String::as_str).filter(|model| !priced && !providers.has_price(model)).collect();
    if !unpriced.is_empty() {
        let models = unpriced.join(", ");
        notes.push(format!("no price is known of {models}: what it costs is not counted (config.providers.….prices)"));
    }
    notes
}

/// `balance` of every scope: the first account that tells an amount.
#[must_use]
pub fn balance(accounts: &[Result<Account, String>]) -> Value {
    let told = accounts.iter().flatten().find_map(|account| {
        let total = account.balance.total?;
        Some(json!({"provider": account.provider, "currency": account.currency, "total": total.0, "available": account.balance.available}))
    });
    told.unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, amount, currency) in [
            ("20", json!(20), None),
            ("¥20", json!(20), Some("CNY")),
            ("￥ 20.50", json!(20.5), Some("CNY")),
            ("20元", json!(20), Some("CNY")),
            ("CNY 7", json!(7), Some("CNY")),
            ("7 USD", json!(7), Some("USD")),
            ("$0.13", json!(0.13), Some("USD")),
        ] {
            assert_eq!(budget(text).unwrap(), Budget { amount, currency: currency.map(str::to_owned) }, "{text}");
        }
        for wrong in ["", "¥", "-3", "1e3", "much", "20 cny", "¥¥2", "1.2.3", "99999999999999999999999999", "20 CNYX"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
        assert_eq!(layer("¥20").unwrap().patch["limits"]["cost"], 20);
    }
}
