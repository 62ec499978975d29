//! Files a document names: they exist in the bundle, schemas compile, tables read.
//!
//! # RSF906 missing file
//! A path names no file of the bundle. Paths are written from the bundle's root, the folder that holds `workflows/`, `prompts/` and `schemas/`.
//! # RSF907 schema that does not compile
//! A JSON Schema is not valid, or refers to something outside itself.
//! # RSF912 decision table that cannot be read
//! A file named in `rules` is no JSON document, or no decision table.

use super::execution::flatten;
use super::{BundleFile, Context, shown};
use crate::base::{Problem, Severity};
use crate::model::{Agent, OpKind, Prompt, TableRef, decode_table};
use crate::schema::Schema;
use crate::syntax;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn check(context: &mut Context<'_>) {
    let mut pass = Files { seen: BTreeSet::new() };
    let workflow = context.workflow;
    let execution = &workflow.execution;
    if let Some(params) = &execution.params {
        compile(context, params, "/params");
    }
    for entry in execution.types.values() {
        for path in entry.schema.values() {
            pass.schema(context, path, &format!("{}/schema", entry.at));
        }
    }
    for (name, table) in &execution.rules {
        let mut pointer = "/rules".to_owned();
        syntax::push_segment(&mut pointer, name);
        match table {
            TableRef::Path(path) => pass.table(context, path, &pointer),
            TableRef::Inline(table) => inputs(context, &table.inputs, &format!("{pointer}/inputs")),
        }
    }
    let role_agents = workflow.roles.iter().filter_map(|role| role.agent.as_ref());
    let cells = workflow.steps.iter().flat_map(|step| &step.cells);
    let lists =
        cells.flat_map(|cell| [cell.run.as_deref().unwrap_or_default(), &cell.recover]).chain(execution.on.values().map(Vec::as_slice));
    let ops: Vec<_> = lists.flat_map(flatten).collect();
    let agents = ops.iter().filter_map(|op| if let OpKind::Agent(agent) = &op.kind { Some(&**agent) } else { None });
    for agent in role_agents.chain(agents) {
        pass.agent(context, agent);
    }
    for op in &ops {
        if let OpKind::Workflow { path, .. } = &op.kind {
            pass.exists(context, path, &format!("{}/workflow", op.at));
        }
    }
}

struct Files {
    /// Paths already looked into: a bad file is one finding.
    seen: BTreeSet<String>,
}

impl Files {
    fn agent(&mut self, context: &mut Context<'_>, agent: &Agent) {
        for (prompt, key) in [(&agent.system, "system"), (&agent.prompt, "prompt")] {
            if let Some(Prompt::File(path)) = prompt {
                self.exists(context, path, &format!("{}/{key}", agent.at));
            }
        }
        if let Some(path) = &agent.governor {
            self.table(context, path, &format!("{}/governor", agent.at));
        }
        match &agent.output {
            Some(Value::String(path)) => self.schema(context, path, &format!("{}/output", agent.at)),
            Some(schema) => compile(context, schema, &format!("{}/output", agent.at)),
            None => {}
        }
    }

    /// The file, unless it is missing (reported once), computed, or was looked into before.
    fn exists<'a>(&mut self, context: &mut Context<'a>, path: &str, pointer: &str) -> Option<&'a BundleFile> {
        if path.contains("{{") || path.contains("{%") || !self.seen.insert(path.to_owned()) {
            return None;
        }
        let file = context.files.get(path);
        if file.is_none() {
            let hint = context.hint(path, context.files.keys().map(String::as_str));
            let help =
                hint.unwrap_or_else(|| "paths are written from the folder that holds `workflows/`, `prompts/` and `schemas/`".to_owned());
            context.error("RSF906", context.place(pointer), format!("there is no file `{}`", shown(path)), help);
        }
        file
    }

    fn schema(&mut self, context: &mut Context<'_>, path: &str, pointer: &str) {
        let Some(file) = self.exists(context, path, pointer) else { return };
        let (tree, problems) = syntax::parse(file.text.as_bytes(), file.id);
        if unreadable(context, "RSF907", path, pointer, problems) {
            return;
        }
        let Some(root) = &tree.root else { return };
        if let Err(error) = Schema::compile(&root.to_json()) {
            let span = tree.get(&error.pointer).unwrap_or(root).head_span();
            let problem = Problem::error("RSF907", format!("the schema `{}` does not compile: {}", shown(path), error.message))
                .at(context.file, context.place(pointer), "named here")
                .at(file.id, span, "");
            context.problems.push(problem.help("mend the schema; it may refer only to itself"));
        }
    }

    fn table(&mut self, context: &mut Context<'_>, path: &str, pointer: &str) {
        let Some(file) = self.exists(context, path, pointer) else { return };
        let (tree, problems) = syntax::parse(file.text.as_bytes(), file.id);
        if unreadable(context, "RSF912", path, pointer, problems) {
            return;
        }
        if let Some(root) = &tree.root {
            let (table, problems) = decode_table(root, file.id, "");
            context.problems.extend(problems);
            for (name, schema) in &table.inputs {
                let Err(error) = Schema::compile(schema) else { continue };
                let mut place = "/inputs".to_owned();
                syntax::push_segment(&mut place, name);
                let span = tree.get(&format!("{place}{}", error.pointer)).unwrap_or(root).head_span();
                let problem = Problem::error("RSF907", format!("the schema does not compile: {}", error.message));
                context.problems.push(problem.at(file.id, span, "").help("mend the schema; it may refer only to itself"));
            }
        }
    }
}

/// Reports a file that is no JSON; true when it is not.
fn unreadable(context: &mut Context<'_>, code: &'static str, path: &str, pointer: &str, problems: Vec<Problem>) -> bool {
    let errors: Vec<Problem> = problems.into_iter().filter(|problem| problem.severity == Severity::Error).collect();
    let Some(first) = errors.first() else { return false };
    let mut problem = Problem::error(code, format!("`{}` is no JSON document: {}", shown(path), first.message)).at(
        context.file,
        context.place(pointer),
        "named here",
    );
    problem.labels.extend(first.labels.iter().cloned());
    problem.help.clone_from(&first.help);
    context.problems.push(problem);
    true
}

fn compile(context: &mut Context<'_>, schema: &Value, pointer: &str) {
    if let Err(error) = Schema::compile(schema) {
        let place = context.place(&format!("{pointer}{}", error.pointer));
        context.error(
            "RSF907",
            place,
            format!("the schema does not compile: {}", error.message),
            "mend the schema; it may refer only to itself",
        );
    }
}

fn inputs(context: &mut Context<'_>, inputs: &serde_json::Map<String, Value>, pointer: &str) {
    for (name, schema) in inputs {
        let mut place = pointer.to_owned();
        syntax::push_segment(&mut place, name);
        compile(context, schema, &place);
    }
}
