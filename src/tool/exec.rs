//! Tool `exec`: runs a program in the project or in a checkout, with a chosen environment, and collects the files it wrote.
//!
//! Files to collect are removed before the program starts: a report of an earlier run can then never be taken for this one's.

use super::registry::{Inner, blocking};
use super::{Gate, arguments, confine, error, failed, tool_error};
use crate::base::limits::FILE_BYTES;
use crate::model::tool::{ToolError, ToolErrorKind, ToolRequest};
use crate::world::git::Repo;
use crate::world::{Cancel, Confinement, Finished, Kind, ProcessSpec, Root, clean_text, find_program, inherited_env, run_process};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) async fn run(inner: &Arc<Inner>, request: &Arc<ToolRequest>, gate: Gate, cancel: &Cancel) -> Result<Value, ToolError> {
    let (shared, call) = (Arc::clone(inner), Arc::clone(request));
    let (spec, base) = blocking(move || prepare(&shared, &call, &gate)).await?;
    let confined = spec.confinement.is_some();
    let done = run_process(spec, cancel).await.map_err(tool_error)?;
    let call = Arc::clone(request);
    let collected = blocking(move || collect(base.as_ref(), &call.args)).await?;
    Ok(answer(&done, collected, confined))
}

enum Base {
    Project(Arc<Inner>),
    Checkout(Arc<Root>),
}

impl AsRef<Root> for Base {
    fn as_ref(&self) -> &Root {
        match self {
            Self::Project(inner) => &inner.project,
            Self::Checkout(root) => root,
        }
    }
}

fn prepare(inner: &Arc<Inner>, request: &ToolRequest, gate: &Gate) -> Result<(ProcessSpec, Base), ToolError> {
    let args = &request.args;
    let argv = argv(args)?;
    let base = match arguments::text(args, "in") {
        Some(handle) => Base::Checkout(super::checkout::find(inner, request, gate, handle)?),
        None => Base::Project(Arc::clone(inner)),
    };
    let root = base.as_ref();
    let cwd = arguments::text(args, "cwd").unwrap_or("");
    if root.kind(cwd).map_err(tool_error)? != Some(Kind::Folder) {
        return Err(failed(format!("there is no folder `{cwd}` to run in")));
    }
    let cwd = root.path().join(root.resolve(cwd).map_err(tool_error)?.as_str());
    for (_, path) in targets(args) {
        clear(root, path, gate, matches!(base, Base::Project(_)))?;
    }
    let env = environment(inner, request)?;
    let confinement = if inner.sandbox.files { Some(confinement(inner, request, gate, &base, (&argv, &cwd, &env))?) } else { None };
    let spec = ProcessSpec {
        argv,
        cwd,
        env,
        confinement,
        stdin: arguments::text(args, "stdin").map(str::to_owned),
        timeout: timeout(args, request.timeout_ms),
        keep_bytes: inner.config.output_bytes,
    };
    Ok((spec, base))
}

/// What the kernel lets the program reach.
fn confinement(
    inner: &Inner,
    request: &ToolRequest,
    gate: &Gate,
    base: &Base,
    (argv, cwd, env): (&[String], &Path, &BTreeMap<String, String>),
) -> Result<Confinement, ToolError> {
    let mut confinement = match base {
        Base::Project(inner) => confine::project(gate, &inner.project, &inner.protected)?,
        Base::Checkout(root) => confine::checkout(gate, root)?,
    };
    let called = argv.first().map(|program| find_program(program, cwd, env)).unwrap_or_default();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let never = [inner.project.path(), inner.scratch.root()];
    confinement.read.extend(confine::programs(&inherited_env(), &called, home.as_deref(), &never));
    confinement.read.extend(inner.config.further_read.iter().cloned());
    let own = inner.scratch.own(&request.role, &request.owner).into_iter();
    for folder in own.chain(inner.config.further_write.iter().cloned()) {
        confinement.read.push(folder.clone());
        confinement.write.push(folder);
    }
    Ok(confinement)
}

fn argv(args: &Value) -> Result<Vec<String>, ToolError> {
    let wrong = |message: &str| error(ToolErrorKind::Arguments, message);
    let shell = if cfg!(windows) { ["cmd", "/C"] } else { ["sh", "-c"] };
    let argv = match (arguments::texts(args, "argv"), arguments::text(args, "shell")) {
        (Some(argv), None) => argv,
        (None, Some(line)) => shell.into_iter().chain([line]).map(str::to_owned).collect(),
        _ => return Err(wrong("exec takes either `argv` (program and arguments) or `shell` (a line)")),
    };
    match argv.iter().find(|argument| argument.contains('\0')) {
        Some(_) => Err(wrong("an argument holds a NUL character")),
        None => Ok(argv),
    }
}

/// The smaller of what the call asks for and what its attempt has left.
fn timeout(args: &Value, left_ms: u64) -> Duration {
    let asked = args.get("timeout").and_then(Value::as_f64).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    asked.unwrap_or(Duration::MAX).min(Duration::from_millis(left_ms))
}

fn environment(inner: &Inner, request: &ToolRequest) -> Result<BTreeMap<String, String>, ToolError> {
    let mut env = inherited_env();
    env.extend(inner.scratch.env(&request.role, &request.owner)?);
    // No program may wait for a person: there is none at its terminal.
    let quiet = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_PAGER", "cat"), ("PAGER", "cat"), ("GIT_EDITOR", "true")];
    env.extend(quiet.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    for (name, value) in request.args.get("env").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain || value.contains('\0') {
            let message = format!("`{}` cannot be an environment variable", name.escape_debug());
            return Err(error(ToolErrorKind::Arguments, message));
        }
        env.insert(name.clone(), value.to_owned());
    }
    Ok(env)
}

fn targets(args: &Value) -> impl Iterator<Item = (&String, &str)> {
    let named = args.get("collect").and_then(Value::as_object).into_iter().flatten();
    named.map(|(name, path)| (name, path.as_str().unwrap_or_default()))
}

/// Removes what stands where a file will be collected; in the project never a file that belongs to it.
fn clear(root: &Root, path: &str, gate: &Gate, in_project: bool) -> Result<(), ToolError> {
    let real = root.resolve(path).map_err(tool_error)?;
    gate.unprotected(&real)?;
    if in_project {
        let tracked = Repo::open(root.path()).and_then(|repo| repo.map_or(Ok(false), |repo| repo.is_tracked(real.as_str())));
        if tracked.map_err(tool_error)? {
            let message = format!("`{path}` is a file of the project; collect only files the program makes anew");
            return Err(error(ToolErrorKind::Arguments, message));
        }
    }
    root.remove(path).map(|_| ()).map_err(tool_error)
}

fn collect(root: &Root, args: &Value) -> Result<Map<String, Value>, ToolError> {
    let read = |(name, path): (&String, &str)| {
        let bytes = root.read(path, FILE_BYTES).map_err(tool_error)?;
        Ok((name.clone(), bytes.map_or(Value::Null, |bytes| String::from_utf8_lossy(&bytes).into())))
    };
    targets(args).map(read).collect()
}

fn answer(done: &Finished, collected: Map<String, Value>, confined: bool) -> Value {
    let refused = if confined { refusals(&[&done.stdout.text, &done.stderr.text]) } else { Vec::new() };
    json!({
        "exit": done.exit,
        "signal": done.signal,
        "timed_out": done.timed_out,
        "stdout": clean_text(&done.stdout.text),
        "stderr": clean_text(&done.stderr.text),
        "truncated": done.stdout.omitted > 0 || done.stderr.omitted > 0,
        "ms": done.ms,
        "collected": collected,
        "confined": confined,
        "refused": refused,
        // Only whoever reads the journal knows about an interrupted try.
        "rerun": false
    })
}

/// Lines that tell of something the kernel refused. A program that keeps silent about it was refused all the same.
fn refusals(outputs: &[&str]) -> Vec<String> {
    const SIGNS: [&str; 5] = ["Permission denied", "Operation not permitted", "PermissionError", "EACCES", "Invalid cross-device link"];
    const MOST: usize = 20;
    const LONGEST: usize = 300;
    let lines = outputs.iter().flat_map(|output| output.lines()).filter(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    lines.take(MOST).map(|line| clean_text(line).chars().take(LONGEST).collect()).collect()
}
