//! Reads the blocks and tokens of a text the way MiniJinja's lexer does, and bounds them before MiniJinja sees them:
//! its parser, evaluator and destructors recurse, so a long chain of operators would overflow the stack.
//!
//! It understands no grammar beyond brackets and statement keywords; whether a text parses is MiniJinja's business.

use super::{ExprError, ExprErrorKind, Limits};

/// Deepest nesting of brackets in a block.
const BRACKETS: usize = 64;
/// Most operators, filters, accesses and opening brackets in a block.
const OPERATORS: usize = 400;
/// Deepest nesting of statements (each `elif` and `else` counts).
const STATEMENTS: usize = 40;
/// Most operators in all `set` and `with` statements of a text together: their values may build upon each other.
const ASSIGNED: usize = 400;
/// Statements a text may use.
const KEYWORDS: &[&str] = &[
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "with",
    "endwith",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "filter",
    "endfilter",
    "break",
    "continue",
];

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or keyword.
    Ident,
    /// A quoted string, with its quotes.
    Str,
    /// A number (of a fraction only a part).
    Number,
    /// An operator or bracket, one or two characters.
    Punct,
}

/// A token with its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A `{{ … }}` (or a whole bare expression) or a `{% … %}`.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) statement: bool,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) tokens: Vec<Token>,
}

/// The tokens of a bare expression, within bounds.
pub(super) fn expression(source: &str, limits: &Limits) -> Result<Block, ExprError> {
    let mut scanner = Scanner { source, at: 0, limits };
    scanner.size(0, source.len())?;
    let tokens = scanner.tokens(None)?;
    if tokens.is_empty() {
        return Err(ExprError::new(ExprErrorKind::Syntax, "an expression is missing", source).at(0, source.len()));
    }
    let block = Block { statement: false, start: 0, end: source.len(), tokens };
    bound(source, &block)?;
    Ok(block)
}

/// The blocks of a template, within bounds; empty when the text is literal.
pub(super) fn template(source: &str, limits: &Limits) -> Result<Vec<Block>, ExprError> {
    if source.len() > limits.template_bytes {
        let message = format!("the text has {} bytes, {} are allowed", source.len(), limits.template_bytes);
        return Err(ExprError::new(ExprErrorKind::TooLarge, message, source));
    }
    let mut scanner = Scanner { source, at: 0, limits };
    let mut blocks = Vec::new();
    while let Some(block) = scanner.block()? {
        bound(source, &block)?;
        blocks.push(block);
    }
    statements(source, &blocks)?;
    Ok(blocks)
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    limits: &'a Limits,
}

impl Scanner<'_> {
    fn rest(&self) -> &[u8] {
        self.source.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn error(&self, kind: ExprErrorKind, message: impl Into<String>, start: usize, end: usize) -> ExprError {
        ExprError::new(kind, message, self.source).at(start, end.min(self.source.len()))
    }

    fn size(&self, start: usize, end: usize) -> Result<(), ExprError> {
        if end - start > self.limits.expression_bytes {
            let message = format!(
                "the expression has {} bytes, {} are allowed; split it with `let` or `set`",
                end - start,
                self.limits.expression_bytes
            );
            return Err(self.error(ExprErrorKind::TooLarge, message, start, end));
        }
        Ok(())
    }

    /// The next block; comments and raw parts are passed over.
    fn block(&mut self) -> Result<Option<Block>, ExprError> {
        loop {
            let Some(found) = self.rest().windows(2).position(|pair| matches!(pair, b"{{" | b"{%" | b"{#")) else { return Ok(None) };
            let start = self.at + found;
            let statement = match self.source.as_bytes().get(start + 1) {
                Some(b'#') => {
                    self.comment(start)?;
                    continue;
                }
                Some(b'%') => true,
                _ => false,
            };
            self.at = start + 2;
            if statement && self.raw(start)? {
                continue;
            }
            if matches!(self.rest().first(), Some(b'-' | b'+')) {
                self.at += 1;
            }
            let tokens = self.tokens(Some(if statement { b"%}" } else { b"}}" }))?;
            self.size(start, self.at)?;
            return Ok(Some(Block { statement, start, end: self.at, tokens }));
        }
    }

    fn comment(&mut self, start: usize) -> Result<(), ExprError> {
        self.at = start + 2;
        if matches!(self.rest().first(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        match self.rest().windows(2).position(|pair| pair == b"#}") {
            Some(found) => {
                self.at += found + 2;
                Ok(())
            }
            None => Err(self.error(ExprErrorKind::Syntax, "a comment `{#` is never closed", start, start + 2)),
        }
    }

    /// Passes over `{% raw %} … {% endraw %}` if one stands here.
    fn raw(&mut self, start: usize) -> Result<bool, ExprError> {
        let tag = self.rest();
        let tag_at = usize::from(matches!(tag.first(), Some(b'-' | b'+')));
        let Some(length) = basic_tag(tag.get(tag_at..).unwrap_or_default(), b"raw") else { return Ok(false) };
        self.at += tag_at + length;
        while let Some(found) = self.rest().windows(2).position(|pair| pair == b"{%") {
            self.at += found + 2;
            let rest = self.rest();
            let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
            if let Some(length) = basic_tag(rest.get(sign..).unwrap_or_default(), b"endraw") {
                self.at += sign + length;
                return Ok(true);
            }
        }
        Err(self.error(ExprErrorKind::Syntax, "`raw` is never closed", start, start + 2))
    }

    /// Tokens up to `end` (outside brackets) or to the end of the text.
    fn tokens(&mut self, end: Option<&[u8; 2]>) -> Result<Vec<Token>, ExprError> {
        let start = self.at;
        let mut tokens = Vec::new();
        let mut open: Vec<(u8, usize)> = Vec::new();
        loop {
            let rest = self.rest();
            let Some(&first) = rest.first() else {
                return match (end, open.last()) {
                    (None, None) => Ok(tokens),
                    (_, Some((bracket, at))) => {
                        Err(self.error(ExprErrorKind::Syntax, format!("`{}` is never closed", char::from(*bracket)), *at, at + 1))
                    }
                    (Some(_), None) => Err(self.error(ExprErrorKind::Syntax, "a block is never closed", start.saturating_sub(2), start)),
                };
            };
            if first.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if let Some(end) = end.filter(|_| open.is_empty()) {
                if rest.starts_with(end) {
                    self.at += 2;
                    return Ok(tokens);
                }
                if matches!(first, b'-' | b'+') && rest.get(1..).is_some_and(|rest| rest.starts_with(end)) {
                    self.at += 3;
                    return Ok(tokens);
                }
            }
            let token = self.token(first)?;
            self.brackets(first, token, &mut open)?;
            tokens.push(token);
        }
    }

    fn token(&mut self, first: u8) -> Result<Token, ExprError> {
        let start = self.at;
        let (kind, length) = match first {
            b'\'' | b'"' => (TokenKind::Str, self.string(first)?),
            b'0'..=b'9' => (TokenKind::Number, number(self.rest())),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (TokenKind::Ident, run(self.rest(), |c| c == b'_' || c.is_ascii_alphanumeric())),
            _ if matches!(self.rest().get(..2), Some(b"//" | b"**" | b"==" | b"!=" | b">=" | b"<=")) => (TokenKind::Punct, 2),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b',' | b':' | b'~' | b'|' | b'=' | b'>' | b'<' | b'(' | b')' | b'[' | b']' | b'{'
            | b'}' => (TokenKind::Punct, 1),
            _ => {
                let c = self.source.get(start..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
                let message = format!("unexpected character `{}`", c.escape_debug());
                return Err(self.error(ExprErrorKind::Syntax, message, start, start + c.len_utf8()));
            }
        };
        self.at += length;
        Ok(Token { kind, start, end: self.at })
    }

    fn string(&self, quote: u8) -> Result<usize, ExprError> {
        let mut escaped = false;
        for (index, c) in self.rest().iter().enumerate().skip(1) {
            match c {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                c if *c == quote => return Ok(index + 1),
                _ => {}
            }
        }
        Err(self.error(ExprErrorKind::Syntax, "a string is never closed", self.at, self.at + 1))
    }

    fn brackets(&self, first: u8, token: Token, open: &mut Vec<(u8, usize)>) -> Result<(), ExprError> {
        if token.kind != TokenKind::Punct {
            return Ok(());
        }
        match first {
            b'(' | b'[' | b'{' => open.push((first, token.start)),
            b')' | b']' | b'}' => {
                let wanted = if first == b')' { b'(' } else { first - 2 };
                if open.pop().map(|(bracket, _)| bracket) != Some(wanted) {
                    let message = format!("`{}` closes nothing that is open", char::from(first));
                    return Err(self.error(ExprErrorKind::Syntax, message, token.start, token.end));
                }
            }
            _ => {}
        }
        if open.len() > BRACKETS {
            let message = format!("brackets are nested deeper than {BRACKETS}");
            return Err(self.error(ExprErrorKind::TooLarge, message, token.start, token.end));
        }
        Ok(())
    }
}

fn run(bytes: &[u8], accept: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|c| accept(**c)).count()
}

/// Length of a number; a fraction is left to further tokens, which only makes the count of operators larger.
fn number(bytes: &[u8]) -> usize {
    if matches!(bytes.get(..2), Some(b"0x" | b"0X")) {
        return 2 + run(bytes.get(2..).unwrap_or_default(), |c| c == b'_' || c.is_ascii_hexdigit());
    }
    if matches!(bytes.get(..2), Some(b"0b" | b"0B" | b"0o" | b"0O")) {
        return 2 + run(bytes.get(2..).unwrap_or_default(), |c| c == b'_' || c.is_ascii_digit());
    }
    let whole = run(bytes, |c| c == b'_' || c.is_ascii_digit());
    let tail = bytes.get(whole..).unwrap_or_default();
    if !matches!(tail.first(), Some(b'e' | b'E')) {
        return whole;
    }
    let sign = usize::from(matches!(tail.get(1), Some(b'+' | b'-')));
    match run(tail.get(1 + sign..).unwrap_or_default(), |c| c.is_ascii_digit()) {
        0 => whole,
        digits => whole + 1 + sign + digits,
    }
}

/// Length of ` name %}` at the start of `bytes`, as MiniJinja reads `raw` and `endraw`.
fn basic_tag(bytes: &[u8], name: &[u8]) -> Option<usize> {
    let mut at = run(bytes, |c| c.is_ascii_whitespace());
    at += bytes.get(at..)?.starts_with(name).then_some(name.len())?;
    at += run(bytes.get(at..)?, |c| c.is_ascii_whitespace());
    at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    bytes.get(at..)?.starts_with(b"%}").then_some(at + 2)
}

/// The text of a token.
pub(super) fn text<'a>(source: &'a str, token: &Token) -> &'a str {
    source.get(token.start..token.end).unwrap_or_default()
}

fn operators(source: &str, block: &Block) -> usize {
    let counts = |token: &&Token| match token.kind {
        TokenKind::Punct => !matches!(text(source, token), "," | ":" | ")" | "]" | "}" | "="),
        TokenKind::Ident => matches!(text(source, token), "and" | "or" | "not" | "in" | "is" | "if" | "else"),
        TokenKind::Str | TokenKind::Number => false,
    };
    block.tokens.iter().filter(counts).count()
}

fn bound(source: &str, block: &Block) -> Result<(), ExprError> {
    let found = operators(source, block);
    if found > OPERATORS {
        let message = format!("the expression has {found} operators, {OPERATORS} are allowed; split it with `let` or `set`");
        return Err(ExprError::new(ExprErrorKind::TooLarge, message, source).at(block.start, block.end));
    }
    let hidden = |token: &&Token| token.kind == TokenKind::Ident && text(source, token).starts_with("__");
    if let Some(token) = block.tokens.iter().find(hidden) {
        let message = format!("names that begin with two underscores are not for documents: `{}`", text(source, token));
        return Err(ExprError::new(ExprErrorKind::Unknown, message, source).at(token.start, token.end));
    }
    filler(source, block)
}

/// A value that stands for what is missing is repeated at no cost, as often as a number says; nobody needs a large one.
fn filler(source: &str, block: &Block) -> Result<(), ExprError> {
    let word = |index: usize| block.tokens.get(index).map_or("", |token| text(source, token));
    for (index, token) in block.tokens.iter().enumerate().skip(1).filter(|(index, _)| word(index - 1) == "|" && word(index + 1) == "(") {
        let name = text(source, token);
        if !matches!(name, "batch" | "slice" | "map") {
            continue;
        }
        let mut depth = 0_usize;
        for at in index + 1..block.tokens.len() {
            match word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                "," if depth == 1 && name != "map" => return Err(no_filler(source, token)),
                "default" if depth == 1 && word(at + 1) == "=" => return Err(no_filler(source, token)),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    Ok(())
}

fn no_filler(source: &str, token: &Token) -> ExprError {
    let message = format!("`{}` takes no value for what is missing; use `default` on each item", text(source, token));
    ExprError::new(ExprErrorKind::Unknown, message, source).at(token.start, token.end)
}

/// Only known statements, nested and chained within bounds.
fn statements(source: &str, blocks: &[Block]) -> Result<(), ExprError> {
    let mut open: Vec<usize> = Vec::new();
    let mut assigned = 0;
    for block in blocks.iter().filter(|block| block.statement) {
        let fault = |kind, message: String| ExprError::new(kind, message, source).at(block.start, block.end);
        let keyword = block.tokens.first().map_or("", |token| text(source, token));
        if !KEYWORDS.contains(&keyword) {
            let message = match keyword {
                "include" | "import" | "from" | "extends" | "block" => format!("`{keyword}` is not allowed; use `render('path')`"),
                _ => format!("there is no statement `{keyword}`"),
            };
            return Err(fault(ExprErrorKind::Unknown, message));
        }
        match keyword {
            "elif" | "else" => {
                if let Some(last) = open.last_mut() {
                    *last += 1;
                }
            }
            "break" | "continue" => {}
            _ if keyword.starts_with("end") => {
                open.pop();
            }
            "set" if block.tokens.iter().any(|token| text(source, token) == "=") => {}
            _ => open.push(1),
        }
        if open.iter().sum::<usize>() > STATEMENTS {
            return Err(fault(ExprErrorKind::TooLarge, format!("statements are nested deeper than {STATEMENTS}")));
        }
        if matches!(keyword, "set" | "with") {
            assigned += operators(source, block);
        }
        if assigned > ASSIGNED {
            return Err(fault(ExprErrorKind::TooLarge, format!("the `set` statements up to here have more than {ASSIGNED} operators")));
        }
    }
    Ok(())
}
