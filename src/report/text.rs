//! Words of documents, models and tools made fit for a terminal: no control characters, no marks that reorder text, bounded width.
//!
//! Everything a reporter prints that it did not write itself passes through here. Nothing here writes anywhere.

use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// True for characters that steer a terminal or hide and reorder what is shown.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// One line: line breaks and tabs become spaces, every other unsafe character is shown as `\u{…}`.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\r' => {}
            '\n' | '\t' => out.push(' '),
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// Several lines, each as [`one_line`], at most `max` of them; says how many more there were.
#[must_use]
pub fn lines(text: &str, max: usize) -> Vec<String> {
    let all: Vec<&str> = text.trim().lines().collect();
    let mut out: Vec<String> = all.iter().take(max).map(|line| one_line(line)).collect();
    if all.len() > max {
        out.push(format!("… {} more lines", all.len() - max));
    }
    out
}

/// Columns a text takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to `columns`, with `…` where something was cut. Expects a text without unsafe characters.
#[must_use]
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let next = c.width().unwrap_or(0);
        if used + next + 1 > columns {
            break;
        }
        used += next;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The text broken between words into lines of at most `columns`, the first behind `first`, the others behind `rest`. A word that is too long
/// stays whole. Expects a text without unsafe characters.
#[must_use]
pub fn wrap(text: &str, first: &str, rest: &str, columns: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && width(&line) + 1 + width(word) > columns {
            out.push(std::mem::replace(&mut line, rest.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push(line);
    out
}

/// Milliseconds for people: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
#[must_use]
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=9 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 round`, `2 rounds`.
#[must_use]
pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_steers_it() {
        assert_eq!(one_line("a\u{1b}[31mred\u{7}"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(one_line("safe\u{202e}txt.exe"), "safe\\u{202e}txt.exe");
        assert_eq!(one_line("two\r\nlines\u{9b}m"), "two lines\\u{9b}m");
        assert_eq!(one_line("迭代 → ok"), "迭代 → ok");
    }

    #[test]
    fn clipping_counts_columns_not_letters() {
        assert_eq!(clip("迭代研发", 5), "迭代…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
        assert_eq!(clip("abcd", 0), "");
        assert_eq!(width(&clip("迭代研发", 4)), 3);
    }

    #[test]
    fn wrapping_breaks_between_words_and_keeps_every_one() {
        assert_eq!(wrap("one two three", "a: ", "   ", 10), ["a: one two", "   three"]);
        assert_eq!(wrap("averyveryverylongword b", "", "  ", 5), ["averyveryverylongword", "  b"]);
        assert_eq!(wrap("", "x", " ", 5), ["x"]);
    }

    #[test]
    fn durations_read_like_speech() {
        assert_eq!([400, 9_990, 12_345, 185_000, 7_800_000].map(duration), ["0.4 s", "9.9 s", "12 s", "3 min 05 s", "2 h 10 min"]);
    }
}
