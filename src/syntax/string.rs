//! Texts in quotes: unescaping, and the faults inside them. Works on bytes from the opening quote on; knows nothing of the structure around.

/// A text that was read, as far as it could be.
pub(super) struct Scanned {
    /// The text, unescaped; what is wrong in it is replaced by U+FFFD.
    pub text: String,
    /// Offset behind the closing quote.
    pub end: usize,
    /// Faults: byte range and what is wrong.
    pub faults: Vec<(usize, usize, String)>,
    /// False when the closing quote is missing.
    pub closed: bool,
}

/// Faults kept of one text.
const MAX_FAULTS: usize = 20;

/// Reads the text whose opening quote is at `start`; `text[start]` is the quote and decides which one closes.
pub(super) fn scan(text: &str, start: usize) -> Scanned {
    let bytes = text.as_bytes();
    let quote = bytes.get(start).copied().unwrap_or(b'"');
    let mut out = Scanned { text: String::new(), end: start + 1, faults: Vec::new(), closed: false };
    let mut plain = start + 1;
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        if byte != quote && byte != b'\\' && byte >= 0x20 {
            at += 1;
            continue;
        }
        out.text.push_str(text.get(plain..at).unwrap_or_default());
        match byte {
            b'\\' => at = escape(text, at, &mut out),
            b'\n' | b'\r' => {
                out.end = at;
                return out;
            }
            byte if byte == quote => {
                out.end = at + 1;
                out.closed = true;
                return out;
            }
            byte => {
                out.fault(at, at + 1, format!("a raw control character (U+{byte:04X}) stands in a text"));
                at += 1;
            }
        }
        plain = at;
    }
    out.text.push_str(text.get(plain..).unwrap_or_default());
    out.end = bytes.len();
    out
}

impl Scanned {
    fn fault(&mut self, start: usize, end: usize, message: String) {
        self.text.push('\u{fffd}');
        if self.faults.len() < MAX_FAULTS {
            self.faults.push((start, end, message));
        }
    }
}

/// Reads the escape at `at` and returns the offset behind it.
fn escape(text: &str, at: usize, out: &mut Scanned) -> usize {
    let plain = match text.as_bytes().get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(text, at, out),
        _ => {
            let end = text.get(at + 1..).and_then(|rest| rest.chars().next()).map_or(at + 1, |c| at + 1 + c.len_utf8());
            let shown = text.get(at..end).unwrap_or("\\").escape_debug().to_string();
            out.fault(at, end, format!("JSON has no escape `{shown}`"));
            return end;
        }
    };
    out.text.push(plain);
    at + 2
}

fn unicode(text: &str, at: usize, out: &mut Scanned) -> usize {
    let Some(first) = hex4(text, at + 2) else {
        out.fault(at, at + 2, "`\\u` is followed by four hexadecimal digits".to_owned());
        return at + 2;
    };
    if let Some(c) = char::from_u32(first) {
        out.text.push(c);
        return at + 6;
    }
    let second = (text.get(at + 6..at + 8) == Some("\\u")).then(|| hex4(text, at + 8)).flatten();
    if let Some(low) = second
        && first < 0xdc00
        && (0xdc00..0xe000).contains(&low)
        && let Some(c) = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00))
    {
        out.text.push(c);
        return at + 12;
    }
    out.fault(at, at + 6, format!("`\\u{first:04x}` is half of a surrogate pair and no character"));
    at + 6
}

fn hex4(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}
