//! The scanner: an explicit stack of open lists and objects, no recursion. It repairs what it can name and goes on; where it cannot, it stops.

use super::{MAX_FAULTS, MAX_VALUES, Member, Node, NodeValue, number, string};
use crate::base::{FileId, Problem, Span, limits};
use std::collections::BTreeMap;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value; after a comma or colon.
    Value,
    /// A value or the end of the list that was just opened.
    FirstValue,
    /// A key; after a comma.
    Key,
    /// A key or the end of the object that was just opened.
    FirstKey,
    /// The colon behind a key.
    Colon,
    /// A comma or the end of the list or object.
    Comma,
    /// Nothing.
    End,
}

enum Frame {
    Array { start: usize, items: Vec<Node> },
    Object { start: usize, members: Vec<Member>, key: Option<(Box<str>, Span)> },
}

impl Frame {
    fn start(&self) -> usize {
        match self {
            Self::Array { start, .. } | Self::Object { start, .. } => *start,
        }
    }

    fn name(&self) -> &'static str {
        if matches!(self, Self::Array { .. }) { "list" } else { "object" }
    }
}

/// Reading stops here.
struct Halt;

pub(super) struct Scanner<'a> {
    text: &'a str,
    file: FileId,
    at: usize,
    expect: Expect,
    stack: Vec<Frame>,
    root: Option<Node>,
    last_comma: usize,
    values: usize,
    /// Texts without double quotes so far: a document written that way throughout is one habit, not a hundred findings.
    bare: usize,
    problems: Vec<Problem>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, file: FileId) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let (stack, problems) = (Vec::new(), Vec::new());
        Self { text, file, at, expect: Expect::Value, stack, root: None, last_comma: 0, values: 0, bare: 0, problems }
    }

    pub(super) fn run(mut self) -> (Option<Node>, Vec<Problem>) {
        loop {
            self.skip_blank();
            let Some(byte) = self.peek() else {
                if self.expect != Expect::End {
                    self.early_end();
                    return (None, self.counted());
                }
                let root = self.root.take();
                return (root, self.counted());
            };
            if self.token(byte).is_err() {
                let root = if self.expect == Expect::End { self.root.take() } else { None };
                return (root, self.counted());
            }
        }
    }

    /// The problems, the last one about missing quotes saying how many more there are.
    fn counted(mut self) -> Vec<Problem> {
        let hidden = self.bare.saturating_sub(MAX_BARE);
        if hidden > 0
            && let Some(problem) = self.problems.iter_mut().rev().find(|problem| problem.code == "RSF104")
        {
            problem.help = problem.help.take().map(|help| format!("{help} (and in {hidden} more places)"));
        }
        self.problems
    }

    fn token(&mut self, byte: u8) -> Result<(), Halt> {
        if self.problems.len() >= MAX_FAULTS {
            return self.halt(
                "RSF115",
                &format!("more than {MAX_FAULTS} syntax faults; what follows was not read"),
                "mend those above first",
            );
        }
        match self.expect {
            Expect::Value | Expect::FirstValue => self.value(byte),
            Expect::Key | Expect::FirstKey => self.key(byte),
            Expect::Colon => self.colon(byte),
            Expect::Comma => self.comma(byte),
            Expect::End => self.trailing(byte),
        }
    }

    fn value(&mut self, byte: u8) -> Result<(), Halt> {
        match byte {
            b'{' => self.open(Frame::Object { start: self.at, members: Vec::new(), key: None }, Expect::FirstKey),
            b'[' => self.open(Frame::Array { start: self.at, items: Vec::new() }, Expect::FirstValue),
            b'"' | b'\'' => {
                let (text, span) = self.quoted()?;
                self.place(Node { span, value: NodeValue::String(text) })
            }
            b']' if self.expect == Expect::FirstValue => self.close(byte),
            b']' if matches!(self.stack.last(), Some(Frame::Array { .. })) => {
                self.trailing_comma();
                self.close(byte)
            }
            b'-' | b'+' | b'.' | b'0'..=b'9' => self.number(),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => self.word(),
            _ => self.unexpected("a value"),
        }
    }

    fn key(&mut self, byte: u8) -> Result<(), Halt> {
        let (text, span) = match byte {
            b'"' | b'\'' => self.quoted()?,
            b'}' if self.expect == Expect::FirstKey => return self.close(byte),
            b'}' => {
                self.trailing_comma();
                return self.close(byte);
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80 => self.bare_key()?,
            _ => return self.unexpected("a key in double quotes"),
        };
        if let Some(Frame::Object { key, .. }) = self.stack.last_mut() {
            *key = Some((text, span));
        }
        self.expect = Expect::Colon;
        Ok(())
    }

    fn colon(&mut self, byte: u8) -> Result<(), Halt> {
        if byte != b':' {
            return self.unexpected("`:` behind the key");
        }
        self.at += 1;
        self.expect = Expect::Value;
        Ok(())
    }

    fn comma(&mut self, byte: u8) -> Result<(), Halt> {
        match byte {
            b',' => {
                self.last_comma = self.at;
                self.at += 1;
            }
            b']' | b'}' => return self.close(byte),
            b'"' | b'{' | b'[' | b'0'..=b'9' => {
                let span = Span::new(self.at, self.at + 1);
                self.fault("RSF101", "a comma is missing", span, "before this", "put `,` between two items");
            }
            _ => return self.unexpected("`,` or the closing bracket"),
        }
        self.expect = if matches!(self.stack.last(), Some(Frame::Object { .. })) { Expect::Key } else { Expect::Value };
        Ok(())
    }

    fn trailing(&mut self, byte: u8) -> Result<(), Halt> {
        let what = if byte == b'{' { "a second document begins here" } else { "this does not belong to it" };
        let span = self.char_span();
        self.fault("RSF110", "text follows the end of the document", span, what, "a file holds one document: delete what follows");
        Err(Halt)
    }

    fn open(&mut self, frame: Frame, expect: Expect) -> Result<(), Halt> {
        if self.stack.len() >= limits::DOCUMENT_DEPTH {
            let message = format!("nested deeper than {} lists and objects", limits::DOCUMENT_DEPTH);
            return self.halt("RSF111", &message, "flatten the document");
        }
        self.stack.push(frame);
        self.expect = expect;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Result<(), Halt> {
        let Some(frame) = self.stack.pop() else { return self.unexpected("the end of the document") };
        let end = self.at + 1;
        let node = match frame {
            Frame::Array { start, mut items } if byte == b']' => {
                items.shrink_to_fit();
                Node { span: Span::new(start, end), value: NodeValue::Array(items) }
            }
            Frame::Object { start, mut members, .. } if byte == b'}' => {
                members.shrink_to_fit();
                self.repeated_keys(&members);
                Node { span: Span::new(start, end), value: NodeValue::Object(members) }
            }
            frame => return self.mismatch(&frame, byte),
        };
        self.at = end;
        self.place(node)
    }

    fn place(&mut self, node: Node) -> Result<(), Halt> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return self.halt("RSF115", &format!("the document holds more than {MAX_VALUES} values"), "split it");
        }
        self.expect = Expect::Comma;
        match self.stack.last_mut() {
            None => {
                self.root = Some(node);
                self.expect = Expect::End;
            }
            Some(Frame::Array { items, .. }) => items.push(node),
            Some(Frame::Object { members, key, .. }) => {
                if let Some((key, key_span)) = key.take() {
                    members.push(Member { key, key_span, value: node });
                }
            }
        }
        Ok(())
    }

    fn quoted(&mut self) -> Result<(Box<str>, Span), Halt> {
        let start = self.at;
        let scanned = string::scan(self.text, start);
        let single = self.text.as_bytes().get(start) == Some(&b'\'');
        if !scanned.closed {
            if scanned.end >= self.text.len() {
                self.at = scanned.end;
                self.early_end();
            } else {
                let problem = Problem::error("RSF112", "a raw line break stands in a text, or the text is not closed")
                    .at(self.file, Span::new(scanned.end, scanned.end + 1), "the line ends here")
                    .at(self.file, Span::new(start, start + 1), "the text was opened here")
                    .help("close it with `\"`, or write a line break as `\\n`");
                self.problems.push(problem);
            }
            return Err(Halt);
        }
        self.at = scanned.end;
        let span = Span::new(start, scanned.end);
        if single {
            self.fault("RSF104", "text stands in single quotes", span, "here", "use double quotes: `\"…\"`");
        }
        for (from, to, message) in scanned.faults {
            let help = "write control characters and quotes with escapes: `\\n`, `\\t`, `\\\"`, `\\u00e9`";
            self.fault("RSF112", &message, Span::new(from, to), "here", help);
        }
        Ok((scanned.text.into_boxed_str(), span))
    }

    fn bare_key(&mut self) -> Result<(Box<str>, Span), Halt> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.'))).unwrap_or(rest.len());
        if len == 0 {
            return self.unexpected("a key in double quotes").map(|()| (Box::default(), Span::default()));
        }
        let span = Span::new(self.at, self.at + len);
        let text: Box<str> = rest.get(..len).unwrap_or_default().into();
        self.at += len;
        self.fault("RSF104", "a key stands without quotes", span, "here", "use double quotes: `\"…\"`");
        Ok((text, span))
    }

    fn number(&mut self) -> Result<(), Halt> {
        let start = self.at;
        let len = self.text.bytes().skip(start).take_while(|b| number::is_number_byte(*b)).count();
        let raw = self.text.get(start..start + len).unwrap_or_default();
        let span = Span::new(start, start + len);
        self.at += len;
        let value = match number::fault(raw) {
            None => NodeValue::Number(raw.into()),
            Some(message) => self.bad_number(&message, span),
        };
        self.place(Node { span, value })
    }

    fn bad_number(&mut self, message: &str, span: Span) -> NodeValue {
        self.fault("RSF106", message, span, "here", "write a plain decimal number such as `12`, `-0.5` or `1e6`, or a text in quotes");
        NodeValue::Null
    }

    fn word(&mut self) -> Result<(), Halt> {
        let start = self.at;
        let len = self.text.bytes().skip(start).take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let word = self.text.get(start..start + len).unwrap_or_default();
        let span = Span::new(start, start + len);
        self.at += len;
        let value = match word {
            "true" => NodeValue::Bool(true),
            "false" => NodeValue::Bool(false),
            "null" => NodeValue::Null,
            "NaN" | "nan" | "Infinity" | "infinity" | "inf" => self.bad_number(&format!("JSON has no `{word}`"), span),
            _ => {
                let known = match word.to_ascii_lowercase().as_str() {
                    "true" => "write `true`",
                    "false" => "write `false`",
                    "none" | "null" | "undefined" | "nil" => "write `null`",
                    _ => "use double quotes: `\"…\"`",
                };
                self.fault("RSF104", &format!("`{}` stands without quotes", clip(word)), span, "here", known);
                NodeValue::Null
            }
        };
        self.place(Node { span, value })
    }

    /// Blanks, and comments with a fault each.
    fn skip_blank(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b'/') if self.problems.len() < MAX_FAULTS && self.comment() => {}
                _ => return,
            }
        }
    }

    fn comment(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            return false;
        };
        let shown = rest.get(..len).and_then(|comment| comment.lines().next()).map_or(len, str::len);
        let span = Span::new(self.at, self.at + shown);
        self.at += len;
        self.fault("RSF102", "JSON has no comments", span, "comment", "move the remark into a `description`, or delete it");
        true
    }

    /// One fault per repetition, with both places.
    fn repeated_keys(&mut self, members: &[Member]) {
        let few = members.len() <= 8;
        if few && members.iter().enumerate().all(|(index, member)| members.iter().take(index).all(|other| other.key != member.key)) {
            return;
        }
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        for member in members {
            let Some(earlier) = first.insert(&member.key, member.key_span) else { continue };
            first.insert(&member.key, earlier);
            if self.problems.len() >= MAX_FAULTS {
                return;
            }
            let escaped = [earlier, member.key_span].iter().any(|span| span.len() != member.key.len() + 2);
            let how = if escaped { " (once written with escapes)" } else { "" };
            let problem =
                Problem::error("RSF105", format!("the key `{}` is given twice in one object{how}", clip(&member.key).escape_debug()))
                    .at(self.file, member.key_span, "again here")
                    .at(self.file, earlier, "first here")
                    .help("keep one of them; readers of JSON would drop the other in silence");
            self.problems.push(problem);
        }
    }

    fn trailing_comma(&mut self) {
        let span = Span::new(self.last_comma, self.last_comma + 1);
        self.fault("RSF103", "a comma stands behind the last item", span, "this one", "delete it");
    }

    fn mismatch(&mut self, frame: &Frame, byte: u8) -> Result<(), Halt> {
        let problem = Problem::error("RSF101", format!("`{}` cannot close this {}", char::from(byte), frame.name()))
            .at(self.file, Span::new(self.at, self.at + 1), "here")
            .at(self.file, Span::new(frame.start(), frame.start() + 1), format!("the {} was opened here", frame.name()))
            .help("a bracket is missing or one too many");
        self.problems.push(problem);
        Err(Halt)
    }

    fn early_end(&mut self) {
        let what = match self.stack.as_slice() {
            [] => "the document ends too early".to_owned(),
            [frame] => format!("the document ends too early: 1 {} is still open", frame.name()),
            frames => format!("the document ends too early: {} lists and objects are still open", frames.len()),
        };
        let end = self.text.trim_end().len();
        let last = self.text.get(..end).and_then(|text| text.chars().next_back()).map_or(0, char::len_utf8);
        let mut problem = Problem::error("RSF109", what).at(self.file, Span::new(end - last, end), "it ends here");
        for frame in self.stack.iter().rev().take(3) {
            problem = problem.at(self.file, Span::new(frame.start(), frame.start() + 1), format!("this {} was opened here", frame.name()));
        }
        self.problems.push(problem.help("close what is open, or fetch the rest of the file"));
    }

    fn unexpected(&mut self, wanted: &str) -> Result<(), Halt> {
        let span = self.char_span();
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        let shown =
            if found.is_ascii_graphic() { format!("`{found}`") } else { format!("`{}` (U+{:04X})", found.escape_debug(), found as u32) };
        self.fault("RSF101", &format!("expected {wanted}, found {shown}"), span, "here", "mend this place; what follows was not read");
        Err(Halt)
    }

    fn halt(&mut self, code: &'static str, message: &str, help: &str) -> Result<(), Halt> {
        let span = self.char_span();
        self.fault(code, message, span, "here", help);
        self.expect = Expect::Value;
        Err(Halt)
    }

    fn fault(&mut self, code: &'static str, message: &str, span: Span, label: &str, help: &str) {
        if code == "RSF104" {
            self.bare += 1;
            if self.bare > MAX_BARE {
                return;
            }
        }
        self.problems.push(Problem::error(code, message).at(self.file, span, label).help(help));
    }

    fn char_span(&self) -> Span {
        let len = self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        Span::new(self.at, self.at + len)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Findings about missing double quotes that are listed one by one.
const MAX_BARE: usize = 3;
const CLIP: usize = 60;

/// At most [`CLIP`] bytes of a text, for messages.
fn clip(text: &str) -> String {
    if text.len() <= CLIP {
        return text.to_owned();
    }
    let mut end = CLIP;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
