//! The limits of one run: built-in values, changed by the document's `limits`. Pure data.

use super::limits as builtin;
use serde_json::{Map, Value};

/// Bounds the engine keeps whatever the data says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rounds of the run.
    pub rounds: u32,
    /// Cost of the run in millionths; `None` where nothing bounds it.
    pub cost: Option<i64>,
    /// Operations of one attempt.
    pub operations: u64,
    /// Model turns of one session.
    pub turns: u32,
    /// Repairs of one session.
    pub repairs: u32,
    /// Items of an `each` cell at the same time.
    pub parallel: usize,
    /// Time-out of an attempt that nothing else bounds, in milliseconds.
    pub timeout_ms: u64,
    /// Evaluation steps of one text.
    pub fuel: u64,
    /// Longest expression in bytes.
    pub expression_size: usize,
    /// Output kept of one tool call, in bytes.
    pub output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: builtin::ROUNDS,
            cost: None,
            operations: builtin::OPERATIONS,
            turns: builtin::TURNS,
            repairs: builtin::REPAIRS,
            parallel: builtin::PARALLEL,
            timeout_ms: builtin::TIMEOUT_MS,
            fuel: builtin::FUEL,
            expression_size: builtin::EXPRESSION_BYTES,
            output_bytes: builtin::OUTPUT_BYTES,
        }
    }
}

impl Limits {
    /// Names of all limits.
    pub const NAMES: [&str; 10] =
        ["rounds", "cost", "operations", "turns", "repairs", "parallel", "timeout", "fuel", "expression_size", "output_bytes"];

    /// Reads the document's `limits`: whole numbers; `timeout` also as a duration text; `cost` in whole units of the currency.
    ///
    /// # Errors
    /// Names the first limit that is unknown or not of its kind.
    pub fn read(map: &Map<String, Value>) -> Result<Self, String> {
        let mut limits = Self::default();
        for (name, value) in map {
            limits.set(name, value).ok_or_else(|| format!("limit `{name}` cannot be {value}: see docs/language.md, `limits`"))?;
        }
        Ok(limits)
    }

    fn set(&mut self, name: &str, value: &Value) -> Option<()> {
        match name {
            "rounds" => self.rounds = u32::try_from(value.as_u64().filter(|n| *n >= 1)?).ok()?,
            "cost" => self.cost = Some(super::Money::parse(&value.to_string()).filter(|m| m.0 >= 0)?.0),
            "operations" => self.operations = value.as_u64().filter(|n| *n >= 1)?,
            "turns" => self.turns = u32::try_from(value.as_u64().filter(|n| *n >= 1)?).ok()?,
            "repairs" => self.repairs = u32::try_from(value.as_u64()?).ok()?,
            "parallel" => self.parallel = usize::try_from(value.as_u64().filter(|n| *n >= 1)?).ok()?,
            "timeout" => self.timeout_ms = duration_ms(value).filter(|ms| *ms > 0)?,
            "fuel" => self.fuel = value.as_u64().filter(|n| *n >= 1)?,
            // Longer expressions would endanger the evaluator's stack, so a document may only lower this.
            "expression_size" => self.expression_size = usize::try_from(value.as_u64()?).ok()?.min(builtin::EXPRESSION_BYTES),
            "output_bytes" => self.output_bytes = usize::try_from(value.as_u64().filter(|n| *n >= 256)?).ok()?,
            _ => return None,
        }
        Some(())
    }
}

/// Reads a duration: a number of seconds, or a text such as `300s`, `5m`, `2h`, `250ms`, in milliseconds.
#[must_use]
pub fn duration_ms(value: &Value) -> Option<u64> {
    match value {
        Value::Number(seconds) => seconds_to_ms(seconds.as_f64()?),
        Value::String(text) => {
            let text = text.trim();
            let digits = text.trim_end_matches(char::is_alphabetic).trim();
            let factor = match text[digits.len()..].trim() {
                "ms" => 0.001,
                "s" | "" | "秒" => 1.0,
                "m" | "分" | "分钟" => 60.0,
                "h" | "小时" => 3600.0,
                _ => return None,
            };
            seconds_to_ms(digits.parse::<f64>().ok()? * factor)
        }
        _ => None,
    }
}

/// Durations up to a year; anything else is no sensible bound.
fn seconds_to_ms(seconds: f64) -> Option<u64> {
    if !(0.0..=31_536_000.0).contains(&seconds) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 ≤ ms ≤ 3.2e10 was just checked
    Some((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_read_in_all_units_and_refuse_nonsense() {
        for (value, ms) in
            [(json!("300s"), 300_000), (json!("5m"), 300_000), (json!("2h"), 7_200_000), (json!(1.5), 1500), (json!("250ms"), 250)]
        {
            assert_eq!(duration_ms(&value), Some(ms), "{value}");
        }
        for value in [json!("soon"), json!("-1s"), json!("1e99s"), json!(null), json!("5 parsecs"), json!("é")] {
            assert_eq!(duration_ms(&value), None, "{value}");
        }
    }

    #[test]
    fn limits_name_what_cannot_be_read() {
        let map = json!({"rounds": 0});
        assert!(Limits::read(map.as_object().unwrap()).unwrap_err().contains("rounds"));
        let one = |name: &str| json!({name: 1000}).as_object().cloned().unwrap();
        assert!(Limits::NAMES.iter().all(|name| Limits::read(&one(name)).is_ok()));
        assert!(Limits::read(&one("round")).is_err());
        let map = json!({"cost": 20, "timeout": "5m"});
        let limits = Limits::read(map.as_object().unwrap()).unwrap();
        assert_eq!((limits.cost, limits.timeout_ms), (Some(20_000_000), 300_000));
    }
}
