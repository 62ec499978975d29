//! Gives every text of the document to the engine, so that only texts seen here can ever be evaluated.

use super::build::{Files, PlanError, pointer, schema_file};
use crate::model::{Agent, Cell, Op, OpKind, Policy, Prompt, Retry, Workflow};
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
                self.errors.push(PlanError { file: Some(path.clone()), ..PlanError::text(path, &error) });
            }
        }
    }

    fn root(&mut self, workflow: &Workflow) {
        let execution = &workflow.execution;
        for (name, text) in &execution.ids {
            self.text(text, &pointer("/ids", name));
        }
        for definition in execution.types.values() {
            for (index, text) in definition.store.iter().enumerate() {
                self.text(text, &format!("{}/store/{index}", definition.at));
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
        if let Some(retry) = &cell.retry {
            self.retry(retry, &format!("{}/retry", cell.at));
        }
        if let Some(policy) = &cell.permissions {
            self.policy(policy, &cell.at);
        }
    }

    fn retry(&mut self, retry: &Retry, at: &str) {
        if let Value::String(max) = &retry.max {
            let place = format!("{at}/max");
            self.text(max, &place);
            if !max.contains("{{") && !max.contains("{%") && max.trim().parse::<u32>().is_err() {
                self.errors.push(PlanError::coded("RSF915", place, format!("`retry.max` is a whole number or a template, not `{max}`")));
            }
        }
        if let Some(backoff) = &retry.backoff {
            self.text(backoff, &format!("{at}/backoff"));
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
            OpKind::Set(map) => self.tree(&object(map), Leaves::Templates, &format!("{}/set", op.at)),
            OpKind::Store(map) => self.tree(&object(map), Leaves::Templates, &format!("{}/store", op.at)),
            OpKind::Emit(map) => self.tree(&object(map), Leaves::Templates, &format!("{}/emit", op.at)),
            OpKind::Log(map) => self.tree(&object(map), Leaves::Templates, &format!("{}/log", op.at)),
            OpKind::Call { with, .. } | OpKind::Workflow { with, .. } => {
                self.tree(&object(with), Leaves::Templates, &format!("{}/with", op.at))
            }
            OpKind::Agent(agent) => self.agent(agent),
            OpKind::Ask { question, choices, .. } => {
                self.text(question, &format!("{}/ask/question", op.at));
                for (index, choice) in choices.iter().enumerate() {
                    self.text(choice, &format!("{}/ask/choices/{index}", op.at));
                }
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
                self.text(result, &format!("{}/stop", op.at));
                reason.iter().for_each(|reason| self.text(reason, &format!("{}/reason", op.at)));
            }
            OpKind::Fail(text) => self.text(text, &format!("{}/fail", op.at)),
            OpKind::Return => {}
        }
    }

    fn agent(&mut self, agent: &Agent) {
        if let Some(model) = &agent.model {
            self.text(model, &format!("{}/model", agent.at));
        }
        for (key, prompt) in [("system", &agent.system), ("prompt", &agent.prompt)] {
            let Some(prompt) = prompt else { continue };
            match prompt {
                Prompt::Text(text) => self.text(text, &format!("{}/{key}", agent.at)),
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
        for (key, globs) in [("read", &policy.read), ("write", &policy.write)] {
            for (index, glob) in globs.iter().flatten().enumerate() {
                self.text(glob, &format!("{at}/permissions/{key}/{index}"));
            }
        }
    }

    fn maybe(&mut self, expression: Option<&str>, at: &str) {
        if let Some(expression) = expression {
            self.expression(expression, at);
        }
    }

    fn expression(&mut self, source: &str, at: &str) {
        if let Err(error) = self.engine.add_expression(source) {
            self.errors.push(PlanError::text(at, &error));
        }
    }

    fn text(&mut self, source: &str, at: &str) {
        if let Err(error) = self.engine.add_text(source) {
            self.errors.push(PlanError::text(at, &error));
        }
    }

    fn tree(&mut self, value: &Value, mode: Leaves, at: &str) {
        for (pointer, error) in self.engine.add_tree(value, mode) {
            self.errors.push(PlanError::text(format!("{at}{pointer}"), &error));
        }
    }
}
