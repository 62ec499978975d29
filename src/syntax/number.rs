//! Numbers: what JSON allows, and a name for what it does not. Converts nothing.

/// True for a byte that may belong to a number or to what people write for one.
pub(super) fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// `None` when `raw` is a JSON number that a double can hold; else what is wrong with it.
pub(super) fn fault(raw: &str) -> Option<String> {
    let unsigned = raw.trim_start_matches(['-', '+']);
    let lower = unsigned.to_ascii_lowercase();
    if raw.starts_with('+') {
        return Some("a number has no leading `+`".to_owned());
    }
    if lower.starts_with("inf") || lower == "nan" {
        return Some(format!("JSON has no `{}`", raw.chars().take(40).collect::<String>()));
    }
    if ["0x", "0o", "0b"].iter().any(|prefix| lower.starts_with(prefix)) {
        return Some("numbers are written in decimal, not in hexadecimal, octal or binary".to_owned());
    }
    let bytes = unsigned.as_bytes();
    if bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit() {
        return Some("a number has no leading zeros".to_owned());
    }
    if !is_json(raw) {
        return Some(format!("`{}` is no number of JSON", raw.chars().take(40).collect::<String>()));
    }
    match raw.parse::<f64>() {
        Ok(value) if value.is_finite() => None,
        _ => Some("the number is out of range".to_owned()),
    }
}

fn is_json(raw: &str) -> bool {
    let rest = raw.strip_prefix('-').unwrap_or(raw);
    let Some(rest) = digits(rest) else { return false };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => match digits(fraction) {
            Some(rest) => rest,
            None => return false,
        },
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) == Some(""),
        None => rest.is_empty(),
    }
}

/// The text behind a run of at least one digit.
fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}
