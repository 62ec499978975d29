//! A finding of any check: a stable code, a severity, a place and a way out. Rendering is not done here.

use super::{FileId, Span};

/// How much a finding weighs (docs/validate.md): errors reject, warnings reject under `--strict`, notes never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document is refused.
    Error,
    /// Shown and counted.
    Warning,
    /// Shown, never counted.
    Note,
}

/// A place in a file with a short text beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The file.
    pub file: FileId,
    /// The bytes meant.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
}

/// One finding. The first label is the place; further ones explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable code such as `RSF301`; its manual is printed by `rsf explain`.
    pub code: &'static str,
    /// Weight.
    pub severity: Severity,
    /// A lower-case sentence without a full stop.
    pub message: String,
    /// Places, the main one first.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// An error without a place yet.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, Severity::Error, message)
    }

    /// A warning without a place yet.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, Severity::Warning, message)
    }

    /// A note without a place yet.
    #[must_use]
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, Severity::Note, message)
    }

    /// A finding of the given severity without a place yet.
    #[must_use]
    pub fn of(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), labels: Vec::new(), help: None }
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, file: FileId, span: Span, text: impl Into<String>) -> Self {
        // Most findings have one place, and a large document may have a million findings.
        self.labels.reserve_exact(1);
        self.labels.push(Label { file, span, text: text.into() });
        self
    }

    /// Sets the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
