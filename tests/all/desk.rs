//! A desk in memory: files without a disk, so that a tool's test shows what the tool does and nothing else.
#![allow(dead_code, reason = "every test file uses its own part")]

use globset::{Glob, GlobSetBuilder};
use rsf::model::Grants;
use rsf::model::tool::{ToolError, ToolErrorKind, ToolRequest};
use rsf::tool::Desk;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub struct MemoryDesk {
    request: ToolRequest,
    pub files: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl MemoryDesk {
    pub fn new() -> Self {
        let request = ToolRequest {
            tool: String::new(),
            args: Value::Null,
            grants: Grants::default(),
            role: "writer".to_owned(),
            owner: "writer@1.r1.a1".to_owned(),
            key: "k".to_owned(),
            timeout_ms: 1000,
        };
        Self { request, files: RefCell::default() }
    }

    pub fn with(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.borrow_mut().insert(path.to_owned(), bytes.into());
        self
    }

    pub fn bytes(&self, path: &str) -> Vec<u8> {
        self.files.borrow().get(path).cloned().unwrap_or_default()
    }

    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("UTF-8")
    }
}

impl Desk for MemoryDesk {
    fn request(&self) -> &ToolRequest {
        &self.request
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
        Ok(self.files.borrow().get(path).cloned())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ToolError> {
        self.files.borrow_mut().insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn files(&self, globs: &[String]) -> Result<Vec<String>, ToolError> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(Glob::new(glob).map_err(|e| ToolError { kind: ToolErrorKind::Arguments, message: e.to_string() })?);
        }
        let set = set.build().expect("globs");
        Ok(self.files.borrow().keys().filter(|path| set.is_match(path)).cloned().collect())
    }

    fn next_number(&self, _name: &str, _key: &str) -> Result<u64, ToolError> {
        Ok(1)
    }
}

pub fn case(path: &str) -> Vec<u8> {
    let full = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(path);
    std::fs::read(&full).unwrap_or_else(|e| panic!("{}: {e}", full.display()))
}

pub fn case_text(path: &str) -> String {
    String::from_utf8(case(path)).expect("UTF-8")
}

/// The value is what the tool's descriptor says its result is.
pub fn holds(name: &str, value: &Value) {
    let tools = rsf::model::tools::descriptors();
    let tool = tools.iter().find(|tool| tool.name == name).expect("a tool of that name");
    jsonschema::validator_for(&tool.arguments).expect("a schema");
    let schema = jsonschema::validator_for(&tool.result).expect("a schema");
    let faults: Vec<String> = schema.iter_errors(value).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{name}: {faults:?}");
}
