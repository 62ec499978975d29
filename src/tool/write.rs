//! Tool `write`: a file whole. Made again after a crash it answers what it answered then.

use super::traces::Traces;
use super::{Desk, ProjectDesk, arguments, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::ToolError;
use serde_json::{Value, json};

pub(super) fn run(desk: &ProjectDesk<'_>, args: &Value) -> Result<Value, ToolError> {
    let path = arguments::required(args, "path")?;
    let text = arguments::required(args, "text")?;
    let real = desk.writable(path)?;
    let traces = Traces::new(desk.project, desk.run_dir);
    let created = !desk.base.exists(real.as_str()).map_err(tool_error)?;
    // A file that is too large to be read now is not what this call has written.
    let now = if created { None } else { desk.base.read(real.as_str(), FILE_BYTES).ok().flatten() };
    if let Some(answer) = now.map_or(Ok(None), |now| traces.done_before(desk.request, &now))? {
        return Ok(answer);
    }
    let answer = json!({ "path": path, "bytes": text.len(), "created": created });
    traces.promise(desk.request, text.as_bytes(), &answer)?;
    desk.write(path, text.as_bytes())?;
    Ok(answer)
}
