//! Bracketed annotations in descriptions, in both languages. Reads them; what they mean for a document is said elsewhere.

use std::ops::Range;

/// Longest time-out an annotation may give: a year.
const LONGEST_MS: u64 = 365 * 24 * 3_600_000;
/// Bracketed texts looked at in one description.
const MAX_GROUPS: usize = 200;

/// One annotation and where it stands in the description, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The bracketed text or its part between `;`.
    pub at: Range<usize>,
    /// What it says.
    pub kind: AnnotationKind,
}

/// What an annotation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationKind {
    /// A time-out in milliseconds.
    Timeout(u64),
    /// Looks like a known annotation but cannot be read; why.
    Unreadable(&'static str),
    /// Marks a feedback flow as a loop.
    Loop,
    /// Marks a feedback flow.
    Feedback,
    /// Names a subordinate flow.
    Subflow,
    /// Anything else.
    Remark,
}

/// All annotations of a description, in order.
#[must_use]
pub fn annotations(text: &str) -> Vec<Annotation> {
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < MAX_GROUPS {
        let Some((open, bracket)) = text.get(from..).and_then(|rest| rest.char_indices().find(|(_, c)| matches!(c, '[' | '【' | '［')))
        else {
            return found;
        };
        let start = from + open + bracket.len_utf8();
        let rest = text.get(start..).unwrap_or_default();
        let len = rest.find([']', '】', '］']).unwrap_or(rest.len());
        let closed = len < rest.len();
        let plain = bracket == '[' && rest.get(len..).is_some_and(|rest| rest.starts_with(']'));
        for at in parts(text, start..start + len) {
            let kind = match kind(text.get(at.clone()).unwrap_or_default()) {
                AnnotationKind::Remark if !closed => continue,
                AnnotationKind::Remark => AnnotationKind::Remark,
                _ if !closed => AnnotationKind::Unreadable("the bracket is never closed"),
                _ if !plain => AnnotationKind::Unreadable("the brackets are not `[` (U+005B) and `]` (U+005D)"),
                kind => kind,
            };
            found.push(Annotation { at, kind });
        }
        from = start + len;
    }
    found
}

/// The smallest readable time-out of a description, in milliseconds.
#[must_use]
pub fn timeout_ms(annotations: &[Annotation]) -> Option<u64> {
    annotations.iter().filter_map(|annotation| if let AnnotationKind::Timeout(ms) = annotation.kind { Some(ms) } else { None }).min()
}

/// Reads `300s`, `5m`, `2h`, `300秒`, `5分`, `5分钟`, `1小时` or a bare number of seconds into milliseconds. Zero and more than a year are refused.
#[must_use]
pub fn duration_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" | "秒" => 1000,
        "m" | "分" | "分钟" => 60_000,
        "h" | "小时" => 3_600_000,
        _ => return None,
    };
    let ms = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (1..=LONGEST_MS).contains(&ms).then_some(ms)
}

fn parts(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    let inner = text.get(range.clone()).unwrap_or_default();
    for (offset, c) in inner.char_indices().filter(|(_, c)| matches!(c, ';' | '；')).take(MAX_GROUPS) {
        parts.push(start..range.start + offset);
        start = range.start + offset + c.len_utf8();
    }
    parts.push(start..range.end);
    parts.into_iter().map(|part| trim(text, part)).filter(|part| !part.is_empty()).collect()
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

fn kind(part: &str) -> AnnotationKind {
    let lower = part.to_lowercase();
    for word in ["timeout", "time-out", "超时"] {
        if let Some(rest) = lower.strip_prefix(word) {
            // `[timeouts are rare]` is prose.
            if rest.starts_with(char::is_alphabetic) && word.is_ascii() {
                return AnnotationKind::Remark;
            }
            return timeout(rest.trim_start_matches([' ', ':', '：', '=']));
        }
    }
    if let Some(rest) = lower.strip_prefix("loop") {
        let marks = rest.trim_start().is_empty() || rest.trim_start().starts_with([':', '：']);
        return if marks { AnnotationKind::Loop } else { AnnotationKind::Remark };
    }
    if lower.starts_with("循环") || lower.starts_with("反馈环") {
        return AnnotationKind::Loop;
    }
    if let Some(rest) = lower.strip_prefix("feedback") {
        return if rest.starts_with(char::is_alphanumeric) { AnnotationKind::Remark } else { AnnotationKind::Feedback };
    }
    if lower.starts_with("反馈") {
        return AnnotationKind::Feedback;
    }
    for word in ["subflow", "子流程"] {
        if let Some(rest) = lower.strip_prefix(word) {
            let name = rest.trim_start().strip_prefix([':', '：']).map(str::trim);
            return match name {
                Some("") => AnnotationKind::Unreadable("the name behind `:` is missing"),
                Some(_) => AnnotationKind::Subflow,
                None => AnnotationKind::Remark,
            };
        }
    }
    AnnotationKind::Remark
}

fn timeout(rest: &str) -> AnnotationKind {
    // A bare number says no unit, so it is not guessed at.
    let has_unit = rest.ends_with(|c: char| !c.is_ascii_digit());
    match duration_ms(rest) {
        Some(ms) if has_unit => AnnotationKind::Timeout(ms),
        Some(_) => AnnotationKind::Unreadable("the unit is missing"),
        None => AnnotationKind::Unreadable("it gives no time from 1s to a year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AnnotationKind as K;

    fn kinds(text: &str) -> Vec<K> {
        annotations(text).into_iter().map(|annotation| annotation.kind).collect()
    }

    #[test]
    fn both_languages_are_read() {
        assert_eq!(kinds("[timeout 300s]"), [K::Timeout(300_000)]);
        assert_eq!(kinds("执行 [超时300秒] [超时5分钟;循环:再来]"), [K::Timeout(300_000), K::Timeout(300_000), K::Loop]);
        assert_eq!(kinds("[loop: x][反馈环][循环][loop]"), [K::Loop, K::Loop, K::Loop, K::Loop]);
        assert_eq!(kinds("[feedback flow, queried][反馈流:x][子流程:krexec-loop]"), [K::Feedback, K::Feedback, K::Subflow]);
        assert_eq!(kinds("[仅当通过票数≥2] [超时 2 小时]"), [K::Remark, K::Timeout(7_200_000)]);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_prose_is_left_alone() {
        for text in [
            "[timeout soon]",
            "[timeout 0s]",
            "[timeout -5s]",
            "[timeout 300]",
            "[timeout 300s",
            "【超时300秒】",
            "[timeout 99999999999999999999h]",
            "[超时]",
        ] {
            assert!(matches!(kinds(text).as_slice(), [K::Unreadable(_)]), "{text}: {:?}", kinds(text));
        }
        assert_eq!(kinds("a [list of things"), []);
        assert_eq!(kinds("x[0] = 【注意】"), [K::Remark, K::Remark]);
    }
}
