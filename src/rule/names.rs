//! What a text uses: free variables with their paths, functions, filters, tests, rendered files, literal patterns.
//!
//! It says what is used, not whether a variable exists: that is for whoever knows the scope.

use super::scan::{Block, Token, TokenKind, text};
use std::collections::{BTreeMap, BTreeSet};

/// Words that are no variables.
const WORDS: &[&str] = &[
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "true",
    "True",
    "false",
    "False",
    "none",
    "None",
    "recursive",
    "loop",
    "self",
    "caller",
    "super",
];

/// How often a text may mention a name of its own beside another one in lists and objects it assigns.
const DOUBLINGS: usize = 20;

/// Names a text uses, each with the bytes of its first use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Free variables with dotted paths as far as they are written with dots, e.g. `config.models.writer`.
    pub variables: BTreeMap<String, (usize, usize)>,
    /// Functions called.
    pub functions: BTreeMap<String, (usize, usize)>,
    /// Filters applied, also those named in `map('…')`.
    pub filters: BTreeMap<String, (usize, usize)>,
    /// Tests made, also those named in `select('…')` and the like.
    pub tests: BTreeMap<String, (usize, usize)>,
    /// Files named literally in `render('…')`.
    pub renders: BTreeMap<String, (usize, usize)>,
    /// Whether `render` is also called with something that is no literal.
    pub renders_computed: bool,
    /// Literal regular expressions of `matches('…')` and `capture('…')`.
    pub patterns: BTreeMap<String, (usize, usize)>,
    /// Methods called, which do not exist: the name and its place.
    pub(super) methods: BTreeMap<String, (usize, usize)>,
    /// Names the text itself assigns somewhere (loop variables, `set`, macros and their arguments).
    pub(super) assigned: BTreeSet<String>,
}

impl Names {
    /// The names used in `blocks` of `source`. Variables that the text assigns anywhere are left out: see [`Names::add_free`].
    pub(super) fn of(source: &str, blocks: &[Block]) -> Self {
        let mut names = Self::default();
        for block in blocks.iter().filter(|block| block.statement) {
            assignments(source, &block.tokens, &mut names.assigned);
        }
        for block in blocks {
            let tokens = if block.statement { block.tokens.get(1..).unwrap_or_default() } else { &block.tokens };
            if block.statement && block.tokens.first().is_some_and(|token| text(source, token) == "filter") {
                if let Some(token) = tokens.first() {
                    note(&mut names.filters, text(source, token), token);
                }
                Reader { source, tokens: tokens.get(1..).unwrap_or_default() }.read(&mut names);
            } else {
                Reader { source, tokens }.read(&mut names);
            }
        }
        names
    }

    /// Adds the variables MiniJinja found free among those the text also assigns.
    pub(super) fn add_free(&mut self, free: impl IntoIterator<Item = String>) {
        for path in free {
            let root = path.split('.').next().unwrap_or_default();
            if self.assigned.contains(root) && !self.functions.contains_key(root) && !WORDS.contains(&root) {
                self.variables.entry(path).or_default();
            }
        }
    }
}

fn note(map: &mut BTreeMap<String, (usize, usize)>, name: &str, token: &Token) {
    map.entry(name.to_owned()).or_insert((token.start, token.end));
}

/// The statement at which the lists and objects that a text builds of its own names have doubled too often, if there is one:
/// such a value shares its parts, so it costs little to build and without end to compare or to write.
pub(super) fn doubles(source: &str, blocks: &[Block], assigned: &BTreeSet<String>) -> Option<(usize, usize)> {
    let mut doubled = 0_usize;
    for block in blocks.iter().filter(|block| block.statement) {
        let words: Vec<&str> = block.tokens.iter().map(|token| text(source, token)).collect();
        if !matches!(words.first(), Some(&("set" | "with" | "for")))
            || !words.iter().any(|word| matches!(*word, "[" | "{" | "dict" | "batch" | "slice"))
        {
            continue;
        }
        let own =
            words.iter().enumerate().skip(1).filter(|(index, word)| {
                assigned.contains(**word) && words.get(index - 1) != Some(&".") && words.get(index + 1) != Some(&"=")
            });
        doubled += own.count().saturating_sub(1);
        if doubled > DOUBLINGS {
            return Some((block.start, block.end));
        }
    }
    None
}

/// Collects what a statement assigns.
fn assignments(source: &str, tokens: &[Token], assigned: &mut BTreeSet<String>) {
    let words: Vec<&str> = tokens.iter().map(|token| text(source, token)).collect();
    let is_name = |index: usize| tokens.get(index).is_some_and(|token| token.kind == TokenKind::Ident);
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let mut depth = 0_usize;
    for index in 1..tokens.len() {
        match word(index) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let target = is_name(index)
            && match word(0) {
                "for" => !words.iter().take(index).any(|word| *word == "in") && word(index) != "in",
                "set" => word(index - 1) != "|" && !words.iter().take(index).any(|word| *word == "=" || *word == "|"),
                "with" => depth == 0 && word(index + 1) == "=",
                "macro" => index == 1 || (depth == 1 && matches!(word(index - 1), "(" | ",")),
                "call" => word(1) == "(" && depth == 1 && matches!(word(index - 1), "(" | ","),
                _ => false,
            };
        if target {
            assigned.insert(word(index).to_owned());
        }
    }
}

struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
}

impl<'a> Reader<'a> {
    fn word(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| text(self.source, token))
    }

    fn before(&self, index: usize, back: usize) -> &'a str {
        index.checked_sub(back).map_or("", |index| self.word(index))
    }

    fn literal(&self, index: usize) -> Option<String> {
        let token = self.tokens.get(index).filter(|token| token.kind == TokenKind::Str)?;
        let inner = self.source.get(token.start + 1..token.end - 1)?;
        let plain = inner.replace("\\\\", "\u{0}");
        (!plain.contains('\\')).then(|| plain.replace('\u{0}', "\\"))
    }

    fn read(&self, names: &mut Names) {
        for (index, token) in self.tokens.iter().enumerate() {
            if token.kind != TokenKind::Ident {
                continue;
            }
            let word = self.word(index);
            match self.before(index, 1) {
                "." => {}
                "|" => {
                    note(&mut names.filters, word, token);
                    self.arguments_of_filter(index, names);
                }
                "is" if word != "not" => note(&mut names.tests, word, token),
                "not" if self.before(index, 2) == "is" => note(&mut names.tests, word, token),
                _ if WORDS.contains(&word) || (self.word(index + 1) == "=") => {}
                _ => self.variable(index, token, names),
            }
        }
    }

    /// A variable with its path, or a function.
    fn variable(&self, index: usize, token: &Token, names: &mut Names) {
        let word = self.word(index);
        if self.word(index + 1) == "(" {
            note(&mut names.functions, word, token);
            if word == "render" {
                match self.literal(index + 2).filter(|_| self.word(index + 3) == ")") {
                    Some(path) => note(&mut names.renders, &path, token),
                    None => names.renders_computed = true,
                }
            }
            return;
        }
        let mut path = word.to_owned();
        let mut last = *token;
        let mut at = index;
        while self.word(at + 1) == "." && self.tokens.get(at + 2).is_some_and(|next| next.kind == TokenKind::Ident) {
            if self.word(at + 3) == "(" {
                let method = self.word(at + 2);
                if let Some(token) = self.tokens.get(at + 2) {
                    note(&mut names.methods, method, token);
                }
                break;
            }
            path.push('.');
            path.push_str(self.word(at + 2));
            at += 2;
            last = self.tokens.get(at).copied().unwrap_or(last);
        }
        if !names.assigned.contains(word) {
            names.variables.entry(path).or_insert((token.start, last.end));
        }
    }

    fn arguments_of_filter(&self, index: usize, names: &mut Names) {
        if self.word(index + 1) != "(" {
            return;
        }
        let Some(first) = self.literal(index + 2) else { return };
        let Some(token) = self.tokens.get(index + 2) else { return };
        match self.word(index) {
            "map" => note(&mut names.filters, &first, token),
            "select" | "reject" => note(&mut names.tests, &first, token),
            "selectattr" | "rejectattr" if self.word(index + 3) == "," => {
                if let (Some(test), Some(token)) = (self.literal(index + 4), self.tokens.get(index + 4)) {
                    note(&mut names.tests, &test, token);
                }
            }
            "matches" | "capture" => note(&mut names.patterns, &first, token),
            _ => {}
        }
    }
}
