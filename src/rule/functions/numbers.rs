//! Sums and money: integers stay exact integers, money is computed in decimals.

use super::{field, items, wrong};
use crate::base::{Money, cost};
use crate::rule::Val;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, State};

pub(super) fn add_to(env: &mut Environment<'static>) {
    env.add_filter("sum_by", sum_by);
    env.add_filter("money", |micros: &Val| whole(micros, "money").map(|micros| Money(micros).two_decimals()));
    env.add_function("cost", |tokens: &Val, rate: &Val| {
        let tokens = u64::try_from(whole(tokens, "cost")?).map_err(|_| wrong("`cost` takes no negative number of tokens"))?;
        let rate = decimal(rate, "cost")?;
        cost(tokens, &rate)
            .map(|money| money.0)
            .ok_or_else(|| wrong(format!("`cost` cannot take the rate `{rate}`, or the amount is too large")))
    });
    env.add_function("to_micros", |amount: &Val| {
        let text = decimal(amount, "to_micros")?;
        Money::parse(&text)
            .map(|money| money.0)
            .ok_or_else(|| wrong(format!("`to_micros` cannot read the amount `{text}`, or it is too large")))
    });
}

fn whole(value: &Val, what: &str) -> Result<i64, Error> {
    let whole = if value.is_integer() { i64::try_from(value.clone()).ok() } else { None };
    whole.ok_or_else(|| wrong(format!("`{what}` takes a whole number, not {}", shown(value))))
}

/// Decimal text of a number (the shortest that reads back as the same float) or of a text.
fn decimal(value: &Val, what: &str) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String => Ok(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Number if value.is_integer() => Ok(value.to_string()),
        ValueKind::Number => f64::try_from(value.clone()).map(|float| format!("{float}")),
        _ => Err(wrong(format!("`{what}` takes a number, not {}", shown(value)))),
    }
}

fn shown(value: &Val) -> String {
    match value.kind() {
        ValueKind::Number => format!("`{value}`"),
        kind => format!("a {kind}"),
    }
}

fn sum_by(state: &State, list: &Val, path: &str) -> Result<Val, Error> {
    let mut whole: i64 = 0;
    let mut fraction = 0.0_f64;
    let mut floats = false;
    for item in items(state, list, "sum_by")? {
        let value = field(&item, path)?;
        if value.is_integer() {
            let next = i64::try_from(value).ok().and_then(|value| whole.checked_add(value));
            whole = next.ok_or_else(|| wrong("the sum does not fit 64 bits"))?;
        } else if value.kind() == ValueKind::Number {
            floats = true;
            fraction += f64::try_from(value)?;
        } else {
            return Err(wrong(format!("`sum_by` takes numbers, but `{path}` is {}", shown(&value))));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a sum with floats in it is a float")]
    Ok(if floats { Val::from(whole as f64 + fraction) } else { Val::from(whole) })
}
