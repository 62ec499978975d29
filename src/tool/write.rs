//! Tool `write`: a file whole.

use super::{Desk, ProjectDesk, arguments, tool_error};
use crate::model::tool::ToolError;
use serde_json::{Value, json};

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let path = arguments::required(args, "path")?;
    let text = arguments::required(args, "text")?;
    let real = desk.writable(path)?;
    let created = !desk.base.exists(real.as_str()).map_err(tool_error)?;
    desk.write(path, text.as_bytes())?;
    Ok(json!({ "path": path, "bytes": text.len(), "created": created }))
}
