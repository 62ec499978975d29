//! What can go wrong with an expression or a template, and how MiniJinja's errors are told in the program's own words.
//!
//! It never holds values of a run beyond what a message quotes.

use super::guard::original;
use minijinja::{Error, ErrorKind};

/// Why a text could not be registered or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// What kind of fault.
    pub kind: ExprErrorKind,
    /// Lower-case sentence.
    pub message: String,
    /// The text (of an expression or a template), or the path of a template file.
    pub source: String,
    /// The bytes meant, in the text or file.
    pub range: Option<(usize, usize)>,
}

/// Kinds of [`ExprError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprErrorKind {
    /// The text does not parse.
    Syntax,
    /// Something that is not defined was used, or is (part of) the result.
    Undefined,
    /// A value is of the wrong type, or an operation does not take it.
    Type,
    /// The evaluation took more steps or memory than allowed.
    Fuel,
    /// The text, a block of it, a nesting or a result is larger than allowed.
    TooLarge,
    /// No such function, filter, test, method or statement.
    Unknown,
    /// The text was not given to the engine when the document was checked.
    NotInPlan,
    /// Anything else.
    Other,
}

impl std::fmt::Display for ExprError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExprError {}

impl ExprError {
    /// An error about `source` as a whole.
    pub(super) fn new(kind: ExprErrorKind, message: impl Into<String>, source: &str) -> Self {
        Self { kind, message: message.into(), source: source.to_owned(), range: None }
    }

    /// Sets the bytes meant.
    pub(super) fn at(mut self, start: usize, end: usize) -> Self {
        self.range = Some((start, end));
        self
    }

    /// Tells a MiniJinja error about `source`, whose byte 0 is byte `offset` of what the engine compiled.
    pub(super) fn from_jinja(error: &Error, source: &str, offset: usize) -> Self {
        if let Some(inner) = carried(error) {
            return inner.clone();
        }
        let range = error.range().and_then(|range| {
            let start = range.start.checked_sub(offset)?;
            let end = range.end.saturating_sub(offset);
            // What was compiled around an expression is not the author's.
            let most = if offset > 0 { source.len() } else { usize::MAX };
            Some((start.min(most), end.clamp(start.min(most), most)))
        });
        Self { kind: kind_of(error), message: message_of(error), source: source.to_owned(), range }
    }

    /// Tells an error about a text whose products were guarded: `compiled` is the whole text that MiniJinja was given.
    pub(super) fn from_guarded(error: &Error, source: &str, offset: usize, compiled: &str) -> Self {
        let told = Self::from_jinja(error, source, offset);
        if carried(error).is_some() {
            return told;
        }
        let guarded = compiled.get(offset..).unwrap_or_default();
        let most = if offset > 0 { source.len() } else { usize::MAX };
        let range = error.range().and_then(|range| {
            let start = original(guarded, range.start.checked_sub(offset)?).min(most);
            Some((start, original(guarded, range.end.saturating_sub(offset)).clamp(start, most)))
        });
        Self { range, ..told }
    }

    /// The same error about a text that holds the present one at byte `shift`.
    pub(super) fn within(mut self, outer: &str, shift: usize) -> Self {
        outer.clone_into(&mut self.source);
        self.range = self.range.map(|(start, end)| (start + shift, end + shift));
        self
    }

    /// Wraps the error so that it passes through MiniJinja unchanged.
    pub(super) fn into_jinja(self) -> Error {
        let kind = match self.kind {
            ExprErrorKind::Fuel => ErrorKind::OutOfFuel,
            ExprErrorKind::Undefined => ErrorKind::UndefinedError,
            _ => ErrorKind::InvalidOperation,
        };
        Error::new(kind, self.message.clone()).with_source(self)
    }
}

/// The error of our own that a MiniJinja error carries at any depth.
fn carried(error: &Error) -> Option<&ExprError> {
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        if let Some(found) = source.downcast_ref::<ExprError>() {
            return Some(found).filter(|found| !found.source.is_empty());
        }
        next = source.source();
    }
    None
}

fn kind_of(error: &Error) -> ExprErrorKind {
    if let Some(own) = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ExprError>()) {
        return own.kind;
    }
    match error.kind() {
        ErrorKind::SyntaxError | ErrorKind::BadEscape | ErrorKind::InvalidDelimiter => ExprErrorKind::Syntax,
        ErrorKind::UndefinedError => ExprErrorKind::Undefined,
        ErrorKind::OutOfFuel => ExprErrorKind::Fuel,
        ErrorKind::UnknownFilter | ErrorKind::UnknownFunction | ErrorKind::UnknownTest | ErrorKind::UnknownMethod => ExprErrorKind::Unknown,
        ErrorKind::TemplateNotFound => ExprErrorKind::NotInPlan,
        ErrorKind::InvalidOperation if error.detail().is_some_and(|text| text.contains("recursion limit")) => ExprErrorKind::TooLarge,
        ErrorKind::InvalidOperation
        | ErrorKind::NonPrimitive
        | ErrorKind::NonKey
        | ErrorKind::TooManyArguments
        | ErrorKind::MissingArgument
        | ErrorKind::CannotUnpack
        | ErrorKind::BadSerialization
        | ErrorKind::CannotDeserialize => ExprErrorKind::Type,
        _ => ExprErrorKind::Other,
    }
}

fn message_of(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, None) => "the evaluation takes more steps or memory than `limits.fuel` allows".to_owned(),
        (ErrorKind::InvalidOperation | ErrorKind::SyntaxError | ErrorKind::OutOfFuel, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}
