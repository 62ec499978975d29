//! Money as an integer in millionths of the currency unit; arithmetic in decimals, never in floats.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// An amount in millionths of the currency unit (1.63 is `Money(1_630_000)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Money(pub i64);

impl Money {
    /// Reads a decimal amount in whole units, e.g. `20` or `0.13`; the seventh decimal and further are rounded half up.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let units = Decimal::from_str(text.trim()).or_else(|_| Decimal::from_scientific(text.trim())).ok()?;
        to_micros(units).map(Self)
    }

    /// The amount in whole units with two decimals, rounded half away from zero, e.g. `1.63`.
    #[must_use]
    pub fn two_decimals(self) -> String {
        let units = Decimal::new(self.0, 6);
        let rounded = units.round_dp_with_strategy(2, rust_decimal::RoundingStrategy::MidpointAwayFromZero);
        format!("{rounded:.2}")
    }
}

/// Cost of `tokens` at `rate` units per 1,000 tokens (`rate` a decimal text such as `0.002`), exact to a millionth.
/// `None` when the rate is no decimal or the amount does not fit.
#[must_use]
pub fn cost(tokens: u64, rate: &str) -> Option<Money> {
    let rate = Decimal::from_str(rate.trim()).or_else(|_| Decimal::from_scientific(rate.trim())).ok()?;
    let units = Decimal::from(tokens).checked_mul(rate)?.checked_div(Decimal::ONE_THOUSAND)?;
    to_micros(units).map(Money)
}

fn to_micros(units: Decimal) -> Option<i64> {
    let micros = units.checked_mul(Decimal::from(1_000_000))?;
    micros.round_dp_with_strategy(0, rust_decimal::RoundingStrategy::MidpointAwayFromZero).to_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_sample_is_exact() {
        assert_eq!(cost(816_000, "0.002"), Some(Money(1_632_000)));
        assert_eq!(Money(1_632_000).two_decimals(), "1.63");
        assert_eq!(cost(66_000, "0.002").map(Money::two_decimals).as_deref(), Some("0.13"));
        assert_eq!(Money::parse("20"), Some(Money(20_000_000)));
        assert_eq!(Money::parse("2e-3"), Some(Money(2_000)));
        assert_eq!(cost(1, "x"), None);
    }
}
