//! A project with one commit, and the tools of it: what the tests of this folder work with.

use rsf::model::tool::{ToolError, ToolErrorKind, ToolRequest};
use rsf::model::{Access, Exec, Grants};
use rsf::tool::{ProjectConfig, Registry};
use rsf::world::Cancel;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

static KEYS: AtomicU32 = AtomicU32::new(0);

/// A project with one commit, and the tools of it.
pub struct Desk {
    pub project: TempDir,
    pub scratch: TempDir,
    pub registry: Registry,
    pub grants: Grants,
}

pub fn globs(list: &[&str]) -> Vec<Vec<String>> {
    vec![list.iter().map(|glob| (*glob).to_owned()).collect()]
}

impl Desk {
    pub fn new() -> Self {
        Self::with("workflows/w.json")
    }

    /// With a workflow's file of its own.
    pub fn with(protected: &str) -> Self {
        let project = tempfile::tempdir().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        git(project.path(), &["init", "-q", "-b", "main"]);
        git(project.path(), &["config", "user.name", "A Person"]);
        git(project.path(), &["config", "user.email", "a@example.org"]);
        for (path, text) in
            [("src/app.py", "def f():\n    return 1\n"), ("tests/test_app.py", "def test():\n    assert 1\n"), ("workflows/w.json", "{}")]
        {
            fs::create_dir_all(project.path().join(path).parent().unwrap()).unwrap();
            fs::write(project.path().join(path), text).unwrap();
        }
        git(project.path(), &["add", "-A"]);
        git(project.path(), &["commit", "-q", "-m", "first"]);
        let registry = Registry::new(ProjectConfig {
            root: project.path().to_owned(),
            run_dir: ".rsf".to_owned(),
            scratch_root: scratch.path().join("s"),
            protected: vec![protected.to_owned()],
            output_bytes: 4000,
            further_read: vec![],
            further_write: vec![],
        });
        let grants =
            Grants { read: globs(&["**"]), write: globs(&["**"]), exec: Exec::Yes, network: false, git: Access::Write, rdf: Access::No };
        Self { project, scratch, registry: registry.unwrap(), grants }
    }

    pub fn request(&self, tool: &str, args: Value) -> ToolRequest {
        let key = format!("key {}", KEYS.fetch_add(1, Ordering::SeqCst));
        ToolRequest {
            tool: tool.to_owned(),
            args,
            grants: self.grants.clone(),
            role: "r".to_owned(),
            owner: "r@1.r1.a1".to_owned(),
            key,
            timeout_ms: 60_000,
        }
    }

    pub async fn send(&self, request: ToolRequest) -> Result<Value, ToolError> {
        let name = request.tool.clone();
        let answer = self.registry.call(request, Cancel::new()).await;
        if let Ok(value) = &answer {
            let schema = &rsf::model::tools::find(&name).unwrap().result;
            assert!(jsonschema::is_valid(schema, value), "{name} answers {value}");
        }
        answer
    }

    pub async fn call(&self, tool: &str, args: Value) -> Value {
        self.send(self.request(tool, args)).await.unwrap()
    }

    pub async fn fault(&self, tool: &str, args: Value) -> (ToolErrorKind, String) {
        let error = self.send(self.request(tool, args)).await.unwrap_err();
        (error.kind, error.message)
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        fs::create_dir_all(self.project.path().join(path).parent().unwrap()).unwrap();
        fs::write(self.project.path().join(path), bytes).unwrap();
    }

    pub fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.project.path().join(path)).unwrap()
    }
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
