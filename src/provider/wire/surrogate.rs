//! Half characters: escapes like `\ud83d` without their other half, which no Rust text can hold, become U+FFFD.

/// `json` with every lone surrogate escape replaced; `None` when there is none.
pub(super) fn replaced(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                found = true;
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or("");
                continue;
            }
            _ => 2,
        };
        // A backslash before a longer character is no escape at all: the parser will say so.
        let (kept, after) = escape.split_at_checked(taken).unwrap_or_else(|| escape.split_at(1));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    found.then_some(out)
}

fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_halves_are_replaced() {
        assert_eq!(replaced(r#""\ud83d\ude00 \\ud83d é\n""#), None);
        assert_eq!(replaced(r#""a\ud83d""#).as_deref(), Some(r#""a\ufffd""#));
        assert_eq!(replaced(r#""\ude00\ud83d\u0041""#).as_deref(), Some(r#""\ufffd\ufffd\u0041""#));
        assert_eq!(replaced("\\"), None);
        assert_eq!(replaced("\\é\\ud800").as_deref(), Some("\\é\\ufffd"));
    }
}
