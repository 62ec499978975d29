//! Tool `edit`: replaces a piece of a file, whatever line ends it uses. Works on bytes, so that a byte-order mark and bytes that are no
//! UTF-8 stay as they are.

use super::read::is_binary;
use super::traces::Traces;
use super::{Desk, ProjectDesk, arguments, error, failed};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::{ToolError, ToolErrorKind};
use regex::bytes::RegexBuilder;
use serde_json::{Value, json};

/// Longest `old`, in bytes; `write` is the tool for more.
const OLD_BYTES: usize = 64 * 1024;
/// Memory its search may take.
const FINDER_BYTES: usize = 64 << 20;
/// Occurrences counted before it is just "many".
const MOST_TOLD: usize = 100;

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let path = arguments::required(args, "path")?;
    let (old, new) = (arguments::required(args, "old")?, arguments::required(args, "new")?);
    let all = args.get("all").and_then(Value::as_bool).unwrap_or(false);
    if old.is_empty() || old.len() > OLD_BYTES {
        return Err(error(ToolErrorKind::Arguments, format!("`old` has {} bytes; 1 to {OLD_BYTES} are possible", old.len())));
    }
    let real = desk.writable(path)?;
    let bytes = desk.base.read(real.as_str(), FILE_BYTES).map_err(super::tool_error)?;
    let bytes = bytes.ok_or_else(|| desk.missing(path))?;
    if is_binary(&bytes) {
        return Err(failed(format!("`{path}` is a binary file of {} bytes", bytes.len())));
    }
    let traces = Traces::new(desk.project, desk.run_dir);
    if let Some(answer) = traces.done_before(desk.request, &bytes)? {
        return Ok(answer);
    }
    let (edited, replaced) = replace(&bytes, old, new, all).map_err(|fault| explain(fault, path))?;
    if edited.len() as u64 > FILE_BYTES {
        return Err(failed(format!("`{path}` would grow beyond {FILE_BYTES} bytes")));
    }
    let answer = json!({ "path": path, "replaced": replaced });
    traces.promise(desk.request, &edited, &answer)?;
    desk.write(path, &edited)?;
    Ok(answer)
}

#[derive(Debug, PartialEq, Eq)]
enum Miss {
    Nowhere,
    Often(usize),
}

fn explain(miss: Miss, path: &str) -> ToolError {
    let message = match miss {
        Miss::Nowhere => format!("`old` does not occur in `{path}`; read the file again and copy the piece exactly"),
        Miss::Often(times) => format!(
            "`old` occurs {}{times} times in `{path}`; add lines around it to make it unique, or set `all`",
            if times >= MOST_TOLD { "at least " } else { "" }
        ),
    };
    error(ToolErrorKind::Failed, message)
}

/// The edited bytes and how many pieces were replaced. `\n` in `old` matches `\r\n` too; `new` gets the line ends of what it replaces.
fn replace(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<(Vec<u8>, usize), Miss> {
    let old = old.replace("\r\n", "\n");
    let new = new.replace("\r\n", "\n");
    let text = Unified::new(bytes);
    let found = text.occurrences(&old, all);
    match found.len() {
        0 => return Err(Miss::Nowhere),
        1 => {}
        times if !all => return Err(Miss::Often(times)),
        _ => {}
    }
    let (mut out, mut from, mut replaced) = (Vec::with_capacity(bytes.len()), 0, 0);
    for start in found {
        let (begin, end) = (text.original(start), text.original(start + old.len()));
        out.extend_from_slice(bytes.get(from..begin).unwrap_or_default());
        let crlf = text.uses_crlf(bytes.get(begin..end).unwrap_or_default());
        out.extend_from_slice(if crlf { new.replace('\n', "\r\n") } else { new.clone() }.as_bytes());
        (from, replaced) = (end, replaced + 1);
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    Ok((out, replaced))
}

/// A text with `\n` in place of `\r\n`, and the way back to the original offsets.
struct Unified {
    text: Vec<u8>,
    /// Offsets in `text` of the line feeds that were `\r\n`, ascending.
    folded: Vec<usize>,
    crlf_first: bool,
}

impl Unified {
    fn new(bytes: &[u8]) -> Self {
        let (mut text, mut folded) = (Vec::with_capacity(bytes.len()), Vec::new());
        let mut rest = bytes.iter().peekable();
        while let Some(byte) = rest.next() {
            if *byte == b'\r' && rest.peek() == Some(&&b'\n') {
                folded.push(text.len());
            } else {
                text.push(*byte);
            }
        }
        let first = text.iter().position(|byte| *byte == b'\n');
        let crlf_first = first.is_some() && first == folded.first().copied();
        Self { text, folded, crlf_first }
    }

    /// Starts of the occurrences: side by side when all are meant, else overlapping ones too, counted no further than is worth telling.
    fn occurrences(&self, old: &str, all: bool) -> Vec<usize> {
        // A literal: the expression only brings its linear-time search.
        let Ok(finder) = RegexBuilder::new(&regex::escape(old)).unicode(false).size_limit(FINDER_BYTES).build() else { return Vec::new() };
        if all {
            return finder.find_iter(&self.text).map(|found| found.start()).collect();
        }
        let (mut starts, mut from) = (Vec::new(), 0);
        while let Some(found) = finder.find_at(&self.text, from).filter(|_| starts.len() < MOST_TOLD) {
            starts.push(found.start());
            from = found.start() + 1;
        }
        starts
    }

    /// The offset in the original bytes; the end of a line stands behind its `\r\n` whole.
    fn original(&self, offset: usize) -> usize {
        offset + self.folded.partition_point(|fold| *fold < offset)
    }

    fn uses_crlf(&self, piece: &[u8]) -> bool {
        match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => at > 0 && piece.get(at - 1) == Some(&b'\r'),
            None => self.crlf_first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &[u8], old: &str, new: &str, all: bool) -> Result<(Vec<u8>, usize), Miss> {
        replace(text, old, new, all)
    }

    #[test]
    fn line_ends_and_the_mark_stay() {
        let file = b"\xef\xbb\xbfa\r\nb\r\nc\r\n";
        assert_eq!(edited(file, "a\nb", "x\ny\nz", false), Ok((b"\xef\xbb\xbfx\r\ny\r\nz\r\nc\r\n".to_vec(), 1)));
        assert_eq!(edited(file, "c", "c\nd", false), Ok((b"\xef\xbb\xbfa\r\nb\r\nc\r\nd\r\n".to_vec(), 1)));
        assert_eq!(edited(b"a\nb\r\nc\n", "b\n", "", false), Ok((b"a\nc\n".to_vec(), 1)));
        assert_eq!(edited(b"a\nb\n", "a\r\nb", "x\r\ny", false), Ok((b"x\ny\n".to_vec(), 1)));
        assert_eq!(edited(b"\xff\xfea\n", "a", "b", false), Ok((b"\xff\xfeb\n".to_vec(), 1)));
    }

    #[test]
    fn a_piece_must_be_there_once_unless_all_are_meant() {
        assert_eq!(edited(b"aaa", "aa", "b", false), Err(Miss::Often(2)));
        assert_eq!(edited(b"aaa", "aa", "b", true), Ok((b"ba".to_vec(), 1)));
        assert_eq!(edited(b"a.a.a", "a", "bb", true), Ok((b"bb.bb.bb".to_vec(), 3)));
        assert_eq!(edited(b"abc", "x", "y", true), Err(Miss::Nowhere));
        assert_eq!(edited(b"ab", "abc", "y", true), Err(Miss::Nowhere));
        assert_eq!(edited(b"x\r\ny", "\n", "-", false), Ok((b"x-y".to_vec(), 1)));
    }
}
