//! Source files and byte spans in them. Never reads a file; text is handed in.

use std::sync::Arc;

/// A half-open range of byte offsets into one source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// A span from `start` (inclusive) to `end` (exclusive), in bytes; offsets beyond `u32::MAX` are clamped.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// True when the span covers no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// Index of a [`SourceFile`] in [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// One text with a name and an index of its lines.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Name shown in messages (a path, or `<stdin>`).
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Indexes the lines of `text` (`\n`, `\r\n`).
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| Span::new(i + 1, i + 1).start))
            .collect();
        Self { name: name.into(), text, line_starts }
    }

    /// Line and column of a byte offset, both from 1; columns count Unicode scalar values.
    #[must_use]
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts[line - 1] as usize;
        let mut end = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let column = self.text.get(start..end).map_or(0, |s| s.chars().count()) + 1;
        (line, column)
    }
}

/// All files that problems may point into.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<SourceFile>);

impl Sources {
    /// Adds a file and returns its id.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.0.push(file);
        FileId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The file of an id handed out by [`Sources::add`].
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.0.get(id.0 as usize)
    }
}
