//! The desk over a real folder: the project, or a checkout of it. Every path passes the gate twice, as written and as links resolve it.

use super::traces::Traces;
use super::{Desk, Gate, sequence, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::{ToolError, ToolRequest};
use crate::world::{Listing, RelPath, Root};

/// Most files one tool gets to see.
const MAX_FILES: usize = 50_000;

/// What one call works on.
pub struct ProjectDesk<'a> {
    /// The call.
    pub(super) request: &'a ToolRequest,
    /// What it may do.
    pub(super) gate: &'a Gate,
    /// The project, where the engine's own files are.
    pub(super) project: &'a Root,
    /// The project or the checkout the call names.
    pub(super) base: &'a Root,
    /// The run directory inside the project.
    pub(super) run_dir: &'a str,
    /// Bytes of text an answer may hold.
    pub(super) output_bytes: usize,
}

impl ProjectDesk<'_> {
    /// The path behind all links, when it may be read.
    pub(super) fn readable(&self, path: &str) -> Result<RelPath, ToolError> {
        self.gate.may_read(&RelPath::parse(path).map_err(tool_error)?)?;
        let real = self.base.resolve(path).map_err(tool_error)?;
        self.gate.may_read(&real)?;
        Ok(real)
    }

    /// The path behind all links, when it may be written.
    pub(super) fn writable(&self, path: &str) -> Result<RelPath, ToolError> {
        self.gate.may_write(&RelPath::parse(path).map_err(tool_error)?)?;
        let real = self.base.resolve(path).map_err(tool_error)?;
        self.gate.may_write(&real)?;
        Ok(real)
    }

    /// There is no such file; names a readable one in the same folder that is spelt nearly so (also when only case or Unicode form differ).
    pub(super) fn missing(&self, path: &str) -> ToolError {
        const LOOKED_AT: usize = 2000;
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{}/", globset::escape(folder)));
        let found = self.listing(&[format!("{folder}*")], LOOKED_AT).unwrap_or_default();
        let near = crate::base::closest(path, found.files.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; there is `{near}`"));
        super::failed(format!("there is no file `{path}`{hint}"))
    }

    /// True for what lies in the run directory: it is never a change of the project, also where git has not been told so.
    pub(super) fn is_engines(&self, path: &str) -> bool {
        path.strip_prefix(self.run_dir.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Readable files matching the globs, at most `max`.
    pub(super) fn listing(&self, globs: &[String], max: usize) -> Result<Listing, ToolError> {
        let keep = |path: &str| RelPath::parse(path).is_ok_and(|path| self.gate.may_read(&path).is_ok());
        self.base.list(globs, max, &keep).map_err(tool_error)
    }
}

impl Desk for ProjectDesk<'_> {
    fn request(&self) -> &ToolRequest {
        self.request
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
        let real = self.readable(path)?;
        self.base.read(real.as_str(), FILE_BYTES).map_err(tool_error)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ToolError> {
        let real = self.writable(path)?;
        self.base.write_atomic(real.as_str(), bytes).map_err(tool_error)
    }

    fn done_before(&self, now: &[u8]) -> Result<Option<serde_json::Value>, ToolError> {
        Traces::new(self.project, self.run_dir).done_before(self.request, now)
    }

    fn promise(&self, after: &[u8], answer: &serde_json::Value) -> Result<(), ToolError> {
        Traces::new(self.project, self.run_dir).promise(self.request, after, answer)
    }

    fn files(&self, globs: &[String]) -> Result<Vec<String>, ToolError> {
        let found = self.listing(globs, MAX_FILES)?;
        if found.truncated {
            return Err(super::failed(format!("more than {MAX_FILES} files match {}; choose narrower globs", globs.join(", "))));
        }
        Ok(found.files)
    }

    fn next_number(&self, name: &str, key: &str) -> Result<u64, ToolError> {
        sequence::next(self.project, self.run_dir, name, key)
    }
}
