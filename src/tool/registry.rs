//! The registry: the one way to call a tool. Finds the tool, checks the arguments, asks the gate, runs it, and gives a value or an error.
//!
//! Tools that do not wait run on threads made for blocking work; git calls run one at a time. What is not in the list of descriptors does
//! not exist here.

use super::{Gate, ProjectDesk, arguments, error, failed, tool_error};
use crate::model::tool::{Descriptor, ToolError, ToolErrorKind, ToolRequest};
use crate::model::tools;
use crate::world::{Cancel, DRAFTS, Root, Support, support};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the registry must know of a project.
#[derive(Clone, Debug)]
pub struct ProjectConfig {
    /// The project's folder.
    pub root: PathBuf,
    /// The run directory inside it, e.g. `.rsf`.
    pub run_dir: String,
    /// A folder outside the project for checkouts, caches and temporary files; it belongs to this process alone.
    pub scratch_root: PathBuf,
    /// Globs no tool writes, beside the run directory: the workflow's own files.
    pub protected: Vec<String>,
    /// Bytes of text an answer may hold.
    pub output_bytes: usize,
    /// Folders outside the project that started programs may read.
    pub further_read: Vec<PathBuf>,
    /// Folders outside the project that started programs may read and write.
    pub further_write: Vec<PathBuf>,
}

/// All tools of one project.
#[derive(Clone, Debug)]
pub struct Registry {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: ProjectConfig,
    pub(super) project: Root,
    pub(super) scratch: super::scratch::Scratch,
    /// By owner and handle.
    pub(super) checkouts: Mutex<BTreeMap<(String, String), Arc<Root>>>,
    /// Held during every git call.
    pub(super) git: Mutex<()>,
    pub(super) protected: Vec<String>,
    pub(super) sandbox: Support,
}

impl Registry {
    /// Opens the project.
    ///
    /// # Errors
    /// The project or the scratch folder cannot be opened, or a protected glob does not parse.
    pub fn new(config: ProjectConfig) -> Result<Self, ToolError> {
        let drafts = format!("{}/{DRAFTS}", config.run_dir.trim_end_matches('/'));
        let project = Root::open(&config.root).map_err(tool_error)?.with_drafts(drafts);
        let scratch = super::scratch::Scratch::open(&config.scratch_root)?;
        let mut protected = config.protected.clone();
        protected.push(escaped(config.run_dir.trim_end_matches('/')));
        Gate::new(&crate::model::Grants::default(), &protected)?;
        let inner = Inner { config, project, scratch, checkouts: Mutex::default(), git: Mutex::default(), protected, sandbox: support() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes one call. The tool may be named as it is or as it is written on the wire.
    ///
    /// # Errors
    /// No such tool, wrong arguments, denied, disk full, or the tool could not answer; a negative answer is no error.
    pub async fn call(&self, request: ToolRequest, cancel: Cancel) -> Result<Value, ToolError> {
        let tool = known(&request.tool)?;
        arguments::check(tool, &request.args)?;
        let gate = Gate::new(&request.grants, &self.inner.protected)?;
        gate.may_call(tool, arguments::text(&request.args, "in").is_some())?;
        let request = Arc::new(request);
        if tool.name == "exec" {
            return super::exec::run(&self.inner, &request, gate, &cancel).await;
        }
        let limit = Duration::from_millis(request.timeout_ms);
        let inner = Arc::clone(&self.inner);
        let work = blocking(move || inner.run(tool, &request, &gate));
        tokio::select! {
            answer = tokio::time::timeout(limit, work) => {
                answer.unwrap_or_else(|_| Err(failed(format!("{} took longer than the attempt has left", tool.name))))
            }
            () = cancel.cancelled() => Err(failed(format!("{} was cancelled", tool.name))),
        }
    }

    /// Ends what an attempt owned: its checkouts and temporary files.
    pub fn release(&self, owner: &str) {
        self.inner.checkouts.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| of != owner);
        self.inner.scratch.release(owner);
    }
}

impl Inner {
    fn run(&self, tool: &Descriptor, request: &ToolRequest, gate: &Gate) -> Result<Value, ToolError> {
        if tool.name.starts_with("git.") {
            let _git = self.git.lock().unwrap_or_else(PoisonError::into_inner);
            return self.dispatch(tool.name, request, gate, &self.project);
        }
        match arguments::text(&request.args, "in") {
            Some(handle) => self.dispatch(tool.name, request, gate, super::checkout::find(self, request, gate, handle)?.as_ref()),
            None => self.dispatch(tool.name, request, gate, &self.project),
        }
    }

    fn dispatch(&self, name: &str, request: &ToolRequest, gate: &Gate, base: &Root) -> Result<Value, ToolError> {
        let (run_dir, output_bytes) = (self.config.run_dir.as_str(), self.config.output_bytes);
        let desk = ProjectDesk { request, gate, project: &self.project, base, run_dir, output_bytes };
        let args = &request.args;
        match name {
            "read" => super::read::run(&desk, args),
            "list" => super::list::run(&desk, args),
            "search" => super::search::run(&desk, args),
            "write" => super::write::run(&desk, args),
            "edit" => super::edit::run(&desk, args),
            "sequence" => super::sequence::run(&desk, args),
            "git.status" => super::git_read::status(&desk),
            "git.checkout" => super::checkout::run(self, request),
            "git.diff" => super::git_read::diff(&desk, args),
            "git.show" => super::git_read::show(&desk, args),
            "git.log" => super::git_read::log(&desk, args),
            "git.patch" => super::git_read::patch(&desk, args),
            "git.commit" => super::git_write::commit(&desk, args),
            "git.revert" => super::git_write::revert(&desk, args),
            "git.tag" => super::git_write::tag(&desk, args),
            "reports.tests" => super::reports_tests::run(&desk, args),
            "reports.coverage" => super::reports_coverage::run(&desk, args),
            "rdf.index" => super::rdf_index::run(&desk, args),
            "rdf.query" => super::rdf_query::run(&desk, args),
            "rdf.insert" => super::rdf_insert::run(&desk, args),
            "syntax.query" => super::syntax_query::run(&desk, args),
            other => Err(error(ToolErrorKind::Unknown, format!("`{other}` has a description but nothing runs it here"))),
        }
    }
}

fn known(name: &str) -> Result<&'static Descriptor, ToolError> {
    let unknown = |message: String| error(ToolErrorKind::Unknown, message);
    let Some(tool) = tools::find(name) else {
        let near = crate::base::closest(name, tools::descriptors().iter().map(|tool| tool.name));
        let hint = near.map_or(String::new(), |near| format!("; the nearest name is `{near}`"));
        return Err(unknown(format!("there is no tool `{}`{hint}", name.escape_debug())));
    };
    if tool.name == "usage.status" {
        return Err(unknown("usage.status is answered by the engine itself, not by the registry".to_owned()));
    }
    Ok(tool)
}

/// Runs work that blocks; a panic in it is an error of this call alone.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(failed("the tool broke down; this is a fault of the program")))
}

/// A literal path as a glob.
fn escaped(path: &str) -> String {
    globset::escape(path)
}
