//! Tool `list`: files by a glob.

use super::{ProjectDesk, arguments};
use crate::model::tool::ToolError;
use serde_json::{Value, json};

const DEFAULT: usize = 1000;
const MOST: usize = 20_000;

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let glob = arguments::text(args, "glob").unwrap_or("**").to_owned();
    let found = desk.listing(&[glob], arguments::count(args, "max", DEFAULT, MOST))?;
    Ok(json!({ "files": found.files, "truncated": found.truncated }))
}
