//! Tool `read`: a text file, whole or some lines of it.

use super::{Desk, ProjectDesk, arguments, failed};
use crate::model::tool::ToolError;
use serde_json::{Value, json};

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let path = arguments::required(args, "path")?;
    let bytes = desk.read(path)?.ok_or_else(|| desk.missing(path))?;
    if is_binary(&bytes) {
        return Err(failed(format!("`{path}` is a binary file of {} bytes", bytes.len())));
    }
    let text = String::from_utf8_lossy(&bytes);
    let from = arguments::count(args, "from", 1, usize::MAX).max(1);
    let wanted = arguments::count(args, "lines", usize::MAX, usize::MAX);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut out, mut given) = (String::new(), 0);
    for line in all.iter().skip(from - 1).take(wanted) {
        if out.len() + line.len() > desk.output_bytes {
            // One line longer than the limit: its beginning is better than nothing.
            if given == 0 {
                out.push_str(beginning(line, desk.output_bytes));
            }
            break;
        }
        out.push_str(line);
        given += 1;
    }
    let truncated = from.saturating_sub(1).saturating_add(given) < all.len();
    Ok(json!({ "path": path, "text": out, "lines": all.len(), "from": from, "truncated": truncated }))
}

/// At most so many bytes, whole characters only.
fn beginning(line: &str, most: usize) -> &str {
    let end = (0..=most).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    line.get(..end).unwrap_or_default()
}

/// A NUL among the first bytes, as git and grep decide it.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|byte| *byte == 0)
}
