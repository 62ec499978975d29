//! Prices per million tokens and what an exchange costs by them: decimals, millionths of the currency unit, cached input apart.

use crate::agent::Tokens;
use globset::{GlobBuilder, GlobMatcher};
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Map, Value};
use std::str::FromStr;

const KINDS: [&str; 3] = ["cached", "input", "output"];

/// Prices of one provider, by model.
#[derive(Clone, Debug, Default)]
pub(super) struct Prices(Vec<(GlobMatcher, Rates)>);

/// Currency units per million tokens.
#[derive(Clone, Copy, Debug)]
struct Rates {
    cached: Decimal,
    input: Decimal,
    output: Decimal,
}

impl Prices {
    /// Reads `{"cached": 0.15, "input": 4.5, "output": 13.5}`, or such prices by globs of models. Faults are pairs of place and sentence.
    pub(super) fn read(given: &Value) -> Result<Self, Vec<(String, String)>> {
        let Some(fields) = given.as_object() else {
            return Err(vec![("prices".to_owned(), "expected an object of prices per million tokens".to_owned())]);
        };
        if fields.keys().any(|key| KINDS.contains(&key.as_str())) {
            let any = GlobBuilder::new("*").build().map_err(|fault| vec![("prices".to_owned(), fault.to_string())])?;
            return Rates::read("prices", fields).map(|rates| Self(vec![(any.compile_matcher(), rates)]));
        }
        let (mut entries, mut faults) = (Vec::new(), Vec::new());
        for (model, rates) in fields {
            let place = format!("prices.{}", model.escape_debug());
            let glob = GlobBuilder::new(model).literal_separator(false).build().map_err(|fault| vec![(place.clone(), fault.to_string())]);
            let none = Map::new();
            match glob.and_then(|glob| Ok((glob.compile_matcher(), Rates::read(&place, rates.as_object().unwrap_or(&none))?))) {
                Ok(entry) => entries.push(entry),
                Err(more) => faults.extend(more),
            }
        }
        if faults.is_empty() { Ok(Self(entries)) } else { Err(faults) }
    }

    /// Whether the model has a price.
    pub(super) fn knows(&self, model: &str) -> bool {
        self.0.iter().any(|(glob, _)| glob.is_match(model))
    }

    /// Cost in millionths, rounded up: nothing that was used is free.
    pub(super) fn cost(&self, model: &str, tokens: Tokens) -> Option<i64> {
        let (_, rates) = self.0.iter().find(|(glob, _)| glob.is_match(model))?;
        let cached = tokens.cached.min(tokens.input);
        let parts = [(tokens.input - cached, rates.input), (cached, rates.cached), (tokens.output, rates.output)];
        // Units per million tokens are millionths per token.
        let sum = parts.iter().try_fold(Decimal::ZERO, |sum, (count, rate)| sum.checked_add(Decimal::from(*count).checked_mul(*rate)?));
        // An amount beyond every budget stays beyond it.
        Some(sum.and_then(|sum| sum.round_dp_with_strategy(0, RoundingStrategy::AwayFromZero).to_i64()).unwrap_or(i64::MAX / 4))
    }
}

impl Rates {
    fn read(place: &str, fields: &Map<String, Value>) -> Result<Self, Vec<(String, String)>> {
        let mut faults: Vec<(String, String)> = fields
            .keys()
            .filter(|key| !KINDS.contains(&key.as_str()))
            .map(|key| (place.to_owned(), format!("unknown kind of token `{}`; there are `cached`, `input`, `output`", key.escape_debug())))
            .collect();
        let rate = |kind: &str| {
            match fields.get(kind)? {
                Value::String(text) => Decimal::from_str(text).ok(),
                // Through the text: a float's own digits are not what was written.
                Value::Number(number) => {
                    Decimal::from_str(&number.to_string()).ok().or_else(|| number.as_f64().and_then(Decimal::from_f64))
                }
                _ => None,
            }
            .filter(|rate| !rate.is_sign_negative())
        };
        for kind in ["input", "output"] {
            if rate(kind).is_none() {
                faults.push((format!("{place}.{kind}"), "expected a price per million tokens, e.g. 4.5".to_owned()));
            }
        }
        if fields.contains_key("cached") && rate("cached").is_none() {
            faults.push((format!("{place}.cached"), "expected a price per million tokens, e.g. 0.15".to_owned()));
        }
        match (rate("input"), rate("output")) {
            (Some(input), Some(output)) if faults.is_empty() => Ok(Self { cached: rate("cached").unwrap_or(input), input, output }),
            _ => Err(faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
        Tokens { input, cached, output, estimated: false }
    }

    #[test]
    fn kinds_of_tokens_have_their_own_prices() {
        let prices =
            Prices::read(&json!({"deepseek-*": {"cached": 0.15, "input": 4.5, "output": "13.5"}, "*": {"input": 1, "output": 2}})).unwrap();
        assert_eq!(prices.cost("deepseek-v4-pro", tokens(1_000_000, 400_000, 100_000)), Some(2_700_000 + 60_000 + 1_350_000));
        assert_eq!(prices.cost("other", tokens(10, 10, 1)), Some(12));
        assert_eq!(prices.cost("deepseek-v4-pro", tokens(1, 1, 0)), Some(1), "rounded up, never to nothing");
        assert_eq!(prices.cost("x", tokens(u64::MAX, 0, u64::MAX)), Some(i64::MAX / 4));
        let one = Prices::read(&json!({"input": 0.1, "output": 0.2})).unwrap();
        assert_eq!(one.cost("m", tokens(10, 0, 0)), Some(1));
        assert!(one.knows("any") && !Prices::default().knows("any") && Prices::default().cost("m", tokens(1, 0, 1)).is_none());
    }

    #[test]
    fn faults_are_named_with_their_place() {
        for (given, place) in [
            (json!(3), "prices"),
            (json!({"input": "x", "output": 1}), "prices.input"),
            (json!({"input": 1}), "prices.output"),
            (json!({"input": 1, "output": -1}), "prices.output"),
            (json!({"m": {"input": 1, "output": 1, "cached": true}}), "prices.m.cached"),
            (json!({"m": {"input": 1, "output": 1, "thinking": 2}}), "prices.m"),
            (json!({"m": 4}), "prices.m.input"),
        ] {
            assert!(Prices::read(&given).unwrap_err().iter().any(|(at, _)| at == place), "{given}");
        }
    }
}
