//! Gives every text of the document to the engine, so that only texts seen here can ever be evaluated.

use super::build::{Files, PlanError, schema_file};
use crate::model::{Agent, Cell, Op, OpKind, Policy, Prompt, Workflow};
use crate::rule::{Engine, Leaves};
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;

/// What registration found beside texts.
pub(super) struct Registered {
    /// Schemas of agent operations with an `output` of their own, by pointer.
    pub outputs: BTreeMap<String, Schema>,
    /// Paths of governors' tables, with the place that names each first.
    pub governors: BTreeMap<String, String>,
}

struct Registrar<'a> {
    files: &'a Files,
    engine: &'a mut Engine,
    errors: &'a mut Vec<PlanError>,
    outputs: BTreeMap<String, Schema>,
    governors: BTreeMap<String, String>,
}

/// Registers all texts of `workflow` and all template files of the bundle.
pub(super) fn register(workflow: &Workflow, files: &Files, engine: &mut Engine, errors: &mut Vec<PlanError>) -> Registered {
    let mut registrar = Registrar { files, engine, errors, outputs: BTreeMap::new(), governors: BTreeMap::new() };
    registrar.templates();
    registrar.root(workflow);
    for role in &workflow.roles {
        if let Some(agent) = &role.agent {
            registrar.agent(agent);
        }
    }
    for cell in workflow.steps.iter().flat_map(|s| &s.cells) {
        registrar.cell(cell);
    }
    for flow in &workflow.flows {
        registrar.maybe(flow.when.as_deref(), &format!("{}/when", flow.at));
    }
    Registered { outputs: registrar.outputs, governors: registrar.governors }
}

impl Registrar<'_> {
    fn templates(&mut self) {
        for (path, text) in self.files {
            if path.starts_with("prompts/")
                && let Err(error) = self.engine.add_file(path, text)
            {
                self.errors.push(PlanError::new(path, error.to_string()));
            }
        }
    }

    fn root(&mut self, workflow: &Workflow) {
        let execution = &workflow.execution;
        for (name, text) in &execution.ids {
            self.text(text, &format!("/ids/{name}"));
        }
        for (name, definition) in &execution.types {
            for text in &definition.store {
                self.text(text, &format!("/types/{name}/store"));
            }
        }
        for constraint in &execution.constraints {
            self.expression(&constraint.assert, &format!("{}/assert", constraint.at));
            self.text(&constraint.message, &format!("{}/message", constraint.at));
        }
        for (index, view) in execution.view.iter().enumerate() {
            self.expression(&view.value, &format!("/view/{index}/value"));
        }
        self.maybe(execution.estimate.as_deref(), "/estimate");
        self.maybe(execution.price.as_deref(), "/price");
        if let Some(logs) = &execution.logs {
            self.text(&logs.path, "/logs/path");
            self.tree(&Value::Object(logs.record.clone()), Leaves::Templates, "/logs/record");
            self.text(&logs.text, "/logs/text");
        }
        for program in execution.on.values() {
            self.ops(program);
        }
    }

    fn cell(&mut self, cell: &Cell) {
        if let Some(ops) = &cell.run {
            self.ops(ops);
        }
        self.ops(&cell.recover);
        self.maybe(cell.each.as_deref(), &format!("{}/each", cell.at));
        if let Some(timeout) = &cell.timeout {
            self.text(timeout, &format!("{}/timeout", cell.at));
        }
        if let Some(Value::String(max)) = cell.retry.as_ref().map(|r| &r.max) {
            self.text(max, &format!("{}/retry/max", cell.at));
        }
        if let Some(policy) = &cell.permissions {
            self.policy(policy, &cell.at);
        }
    }

    fn ops(&mut self, ops: &[Op]) {
        for op in ops {
            self.maybe(op.when.as_deref(), &format!("{}/when", op.at));
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        let object = |map: &serde_json::Map<String, Value>| Value::Object(map.clone());
        match &op.kind {
            OpKind::Let(map) => self.tree(&object(map), Leaves::Expressions, &format!("{}/let", op.at)),
            OpKind::Rules { with, .. } => self.tree(&object(with), Leaves::Expressions, &format!("{}/with", op.at)),
            OpKind::Set(map) | OpKind::Store(map) | OpKind::Emit(map) | OpKind::Log(map) => {
                self.tree(&object(map), Leaves::Templates, &op.at);
            }
            OpKind::Call { with, .. } | OpKind::Workflow { with, .. } => {
                self.tree(&object(with), Leaves::Templates, &format!("{}/with", op.at))
            }
            OpKind::Agent(agent) => self.agent(agent),
            OpKind::Ask { question, choices, .. } => {
                self.text(question, &op.at);
                choices.iter().for_each(|choice| self.text(choice, &op.at));
            }
            OpKind::For { over, body } => {
                self.expression(over, &format!("{}/for", op.at));
                self.ops(body);
            }
            OpKind::Do { body, otherwise } => {
                self.ops(body);
                self.ops(otherwise);
            }
            OpKind::Stop { result, reason } => {
                self.text(result, &op.at);
                reason.iter().for_each(|reason| self.text(reason, &format!("{}/reason", op.at)));
            }
            OpKind::Fail(text) => self.text(text, &op.at),
            OpKind::Return => {}
        }
    }

    fn agent(&mut self, agent: &Agent) {
        if let Some(model) = &agent.model {
            self.text(model, &format!("{}/model", agent.at));
        }
        for prompt in [&agent.system, &agent.prompt].into_iter().flatten() {
            match prompt {
                Prompt::Text(text) => self.text(text, &agent.at),
                Prompt::File(path) if !self.files.contains_key(path) => {
                    self.errors.push(PlanError::new(&agent.at, format!("no file `{path}` in the bundle")));
                }
                Prompt::File(_) => {}
            }
        }
        if let Some(Value::String(turns)) = &agent.max_turns {
            self.text(turns, &format!("{}/max_turns", agent.at));
        }
        if let Some(policy) = &agent.permissions {
            self.policy(policy, &agent.at);
        }
        if let Some(path) = &agent.governor {
            self.governors.entry(path.clone()).or_insert_with(|| format!("{}/governor", agent.at));
        }
        if let Some(output) = &agent.output {
            self.output(output, &agent.at);
        }
    }

    fn output(&mut self, output: &Value, at: &str) {
        let schema = match output {
            Value::String(path) => schema_file(path, self.files),
            inline => Schema::compile(inline).map_err(|e| e.to_string()),
        };
        match schema {
            Ok(schema) => {
                self.outputs.insert(at.to_owned(), schema);
            }
            Err(message) => self.errors.push(PlanError::new(format!("{at}/output"), message)),
        }
    }

    fn policy(&mut self, policy: &Policy, at: &str) {
        for glob in [&policy.read, &policy.write].into_iter().flatten().flatten() {
            self.text(glob, &format!("{at}/permissions"));
        }
    }

    fn maybe(&mut self, expression: Option<&str>, at: &str) {
        if let Some(expression) = expression {
            self.expression(expression, at);
        }
    }

    fn expression(&mut self, source: &str, at: &str) {
        if let Err(error) = self.engine.add_expression(source) {
            self.errors.push(PlanError::new(at, error.to_string()));
        }
    }

    fn text(&mut self, source: &str, at: &str) {
        if let Err(error) = self.engine.add_text(source) {
            self.errors.push(PlanError::new(at, error.to_string()));
        }
    }

    fn tree(&mut self, value: &Value, mode: Leaves, at: &str) {
        for (pointer, error) in self.engine.add_tree(value, mode) {
            self.errors.push(PlanError::new(format!("{at}{pointer}"), error.to_string()));
        }
    }
}
