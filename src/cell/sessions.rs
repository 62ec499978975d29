//! Agent operations: opens a session with everything rendered, and passes its questions and calls on.

use super::contract;
use super::grants::grants;
use super::interpreter::Control;
use super::interpreter::{Host, Interpreter, Step, Waiting, at};
use super::stores::plain;
use crate::agent::{Asker, Failure, FailureKind, Next, OutputContract, Session, SessionSpec, ToolSpec};
use crate::governor::{Governor, Watch};
use crate::model::tool::ToolRequest;
use crate::model::{Agent, Op, OpKind, Policy, Prompt};
use crate::rule::{ExprError, to_json};
use serde_json::Value;
use std::sync::Arc;

/// Local name under which the answer of a lone agent operation is kept until the cell emits it.
pub(super) const ANSWER: &str = "answer";

/// A session under way.
pub(super) struct Talk {
    pub session: Session,
    /// Permission layers of the operation.
    layers: Vec<Policy>,
    /// Name the answer is bound to.
    bind: Option<String>,
    /// Pointer of the operation and passes of its loops.
    key: String,
    calls: u32,
}

impl Interpreter {
    /// Violations of what a governor said, since the last call; each is among the risk flags as well.
    pub fn take_violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    pub(super) fn open_session(&mut self, host: &Host<'_>, op: &Op, agent: &Agent) -> Result<Control, Failure> {
        self.sessions += 1;
        let defaults = host.workflow.roles.iter().find(|r| r.id == self.who.role).and_then(|r| r.agent.as_ref());
        let spec = self.session_spec(host, op, agent, defaults)?;
        self.independent(host, op, &spec.model)?;
        let layers = agent.permissions.iter().cloned().collect();
        let key = format!("{}/{}{}", self.who.key, op.at, self.passes());
        let mut talk = Box::new(Talk { session: Session::new(spec), layers, bind: op.bind.clone(), key, calls: 0 });
        let next = talk.session.start();
        let (step, waiting) = self.step_of(host, talk, next)?;
        Ok(Control::Wait(step, waiting))
    }

    fn session_spec(&mut self, host: &Host<'_>, op: &Op, agent: &Agent, defaults: Option<&Agent>) -> Result<SessionSpec, Failure> {
        let model = agent.model.as_ref().or(defaults.and_then(|d| d.model.as_ref()));
        let Some(model) = model else {
            return Err(Failure::new(FailureKind::Fail, format!("no model is named for {} (at {})", self.who.role, op.at)));
        };
        let model = self.render(host, op, model)?;
        let session_id = match host.workflow.execution.ids.get("session_id") {
            Some(template) => self.render(host, op, template)?,
            None => format!("{}/{}", self.who.owner, self.sessions),
        };
        self.scope.set_json("session_id", &Value::from(session_id.clone()));
        let system = self.prompt(host, op, agent.system.as_ref().or(defaults.and_then(|d| d.system.as_ref())))?;
        let mut prompt = self.prompt(host, op, agent.prompt.as_ref().or(defaults.and_then(|d| d.prompt.as_ref())))?;
        let governor = self.governor(host, agent.governor.as_deref().or(defaults.and_then(|d| d.governor.as_deref())), &session_id)?;
        if let Some(constraint) = governor.as_ref().and_then(|(_, governor)| governor.options.constraint.as_ref()) {
            let text = host.engine.file(constraint, &self.scope).map_err(|e| at(op, &e))?;
            prompt = [prompt.trim_end(), text.trim_end()].join("\n\n").trim_start().to_owned();
        }
        let tools = agent.tools.as_ref().or(defaults.and_then(|d| d.tools.as_ref())).map_or(&[][..], Vec::as_slice);
        let turns = agent.max_turns.as_ref().or(defaults.and_then(|d| d.max_turns.as_ref()));
        let max_turns = self.turns(host, op, turns)?;
        Ok(SessionSpec {
            asker: self.asker(),
            session_id,
            model,
            system,
            prompt,
            tools: offered(tools)?,
            output: self.output_contract(host, agent),
            max_turns,
            max_repairs: host.limits.repairs,
            output_bytes: host.limits.output_bytes,
            governor: governor.map(|(watch, _)| watch),
        })
    }

    /// The governor of a session. The kind and name of the task are `config.task` and `config.task_id`, else nothing and the session's id.
    fn governor(&self, host: &Host<'_>, path: Option<&str>, session_id: &str) -> Result<Option<(Watch, Arc<Governor>)>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let Some(governor) = host.governors.get(path) else {
            return Err(Failure::new(FailureKind::Fail, format!("the governor `{path}` is not part of the plan")));
        };
        let config = |name: &str| {
            let value = self.scope.get("config").and_then(|config| config.get_attr(name).ok());
            value.and_then(|value| value.as_str().map(str::to_owned)).filter(|text| !text.is_empty())
        };
        let (task, id) = (config("task").unwrap_or_default(), config("task_id").unwrap_or_else(|| session_id.to_owned()));
        let watch = Watch::new(Arc::clone(governor), host.engine.clone(), &task, &id);
        Ok(Some((watch, Arc::clone(governor))))
    }

    fn output_contract(&self, host: &Host<'_>, agent: &Agent) -> OutputContract {
        match host.outputs.get(&agent.at) {
            Some(schema) => contract::explicit(schema, &self.envelope),
            None => contract::of_outs(&self.outs, host.schemas, &self.who.role, &self.envelope),
        }
    }

    fn render(&self, host: &Host<'_>, op: &Op, source: &str) -> Result<String, Failure> {
        host.engine.text(source, &self.scope).and_then(|v| to_json(&v)).map(|v| plain(&v)).map_err(|e| at(op, &e))
    }

    fn prompt(&self, host: &Host<'_>, op: &Op, prompt: Option<&Prompt>) -> Result<String, Failure> {
        match prompt {
            None => Ok(String::new()),
            Some(Prompt::Text(text)) => self.render(host, op, text),
            Some(Prompt::File(path)) => host.engine.file(path, &self.scope).map_err(|e| at(op, &e)),
        }
    }

    fn turns(&self, host: &Host<'_>, op: &Op, turns: Option<&Value>) -> Result<u32, Failure> {
        let value = match turns {
            None => return Ok(host.limits.turns),
            Some(Value::String(text)) => Value::from(self.render(host, op, text)?),
            Some(value) => value.clone(),
        };
        let number = value.as_u64().or_else(|| value.as_str().and_then(|s| s.trim().parse().ok()));
        match number.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
            Some(turns) => Ok(turns.min(host.limits.turns)),
            None => Err(Failure::new(FailureKind::Fail, format!("`max_turns` must be a whole number from 1, got {value} (at {})", op.at))),
        }
    }

    /// A judge whose model must differ from the judged role's is kept to it at every session start.
    fn independent(&mut self, host: &Host<'_>, op: &Op, model: &str) -> Result<(), Failure> {
        for rule in &host.workflow.execution.independence {
            if !rule.roles.contains(&self.who.role) || !rule.differ.iter().any(|d| d == "model") {
                continue;
            }
            let judged = host.workflow.roles.iter().find(|r| r.id == rule.from).and_then(|r| r.agent.as_ref()?.model.as_ref());
            let Some(judged) = judged else { continue };
            if same_model(&self.render(host, op, judged)?, model) {
                let message = format!("{} must judge with another model than {}, both are `{model}`", self.who.role, rule.from);
                self.risks.push(message.clone());
                return Err(Failure::new(FailureKind::Fail, format!("independence broken: {message}")));
            }
        }
        Ok(())
    }

    pub(super) fn converse(&mut self, host: &Host<'_>, ops: &[Op], talk: Box<Talk>, next: Next) -> Step {
        if let Next::Done { output } = next {
            self.close_session(ops, &talk, output);
            return self.run(host, ops);
        }
        match self.step_of(host, talk, next) {
            Ok((step, waiting)) => {
                self.waiting = waiting;
                step
            }
            Err(failure) => Step::Failed(failure),
        }
    }

    /// What a session wants, as a step; calls that the core answers itself are answered here.
    fn step_of(&mut self, host: &Host<'_>, mut talk: Box<Talk>, mut next: Next) -> Result<(Step, Waiting), Failure> {
        loop {
            match next {
                Next::Ask(mut request) => {
                    request.timeout_ms = self.time_left();
                    return Ok((Step::Model(request), Waiting::Talk(talk)));
                }
                Next::Call { call } => {
                    if let Some(status) = self.status(&call.name) {
                        next = talk.session.tool(Ok(status));
                        continue;
                    }
                    talk.calls += 1;
                    let key = format!("{}/{}", talk.key, talk.calls);
                    let layers = talk.layers.clone();
                    let tool = dotted(&call.name);
                    let request = self
                        .tool_request(host, &tool, call.arguments, &layers, key)
                        .map_err(|e| Failure::new(FailureKind::Fail, e.to_string()))?;
                    return Ok((Step::Tool(request), Waiting::Talk(talk)));
                }
                Next::Failed(failure) => {
                    self.note_session(&talk);
                    return Err(failure);
                }
                Next::Done { .. } => {
                    return Err(Failure::new(FailureKind::Crash, "a session ended before it began"));
                }
            }
        }
    }

    fn close_session(&mut self, ops: &[Op], talk: &Talk, output: Value) {
        self.note_session(talk);
        if single_agent(ops).is_some() {
            self.bind(ANSWER, output.clone());
        }
        self.result(talk.bind.as_deref(), output);
    }

    /// Binds `session` and passes its risk flags on.
    fn note_session(&mut self, talk: &Talk) {
        let record = talk.session.record();
        let flags = record.risk_flags.iter().map(|flag| format!("{}: {flag}", self.who.cell));
        self.risks.extend(flags);
        self.violations.extend(record.violations.iter().cloned());
        let mut value = serde_json::to_value(&record).unwrap_or(Value::Null);
        if let Some(tokens) = value.get_mut("tokens").and_then(Value::as_object_mut) {
            tokens.insert("total".to_owned(), Value::from(record.tokens.input + record.tokens.output));
        }
        self.bind("session", value);
    }

    pub(super) fn asker(&self) -> Asker {
        Asker {
            role: self.who.role.clone(),
            cell: self.who.cell.clone(),
            round: self.who.round,
            attempt: self.who.attempt,
            item: self.who.item,
            session: self.sessions,
            turn: 0,
        }
    }

    /// What the kernel refused to a program that this program of the cell started.
    pub(super) fn note_refusals(&mut self, result: &Value) {
        let refused = crate::agent::refusals(result);
        self.risks.extend(refused.map(|line| format!("{}: a started program was refused: {line}", self.who.cell)));
    }

    pub(super) fn tool_request(
        &self,
        host: &Host<'_>,
        tool: &str,
        args: Value,
        extra: &[Policy],
        key: String,
    ) -> Result<ToolRequest, ExprError> {
        let layers: Vec<&Policy> = self.who.layers.iter().chain(extra).collect();
        Ok(ToolRequest {
            tool: tool.to_owned(),
            args,
            grants: grants(&layers, host.engine, &self.scope)?,
            role: self.who.role.clone(),
            owner: self.who.owner.clone(),
            key,
            timeout_ms: self.time_left(),
        })
    }
}

/// `{"agent": …}` alone is a whole `run`.
pub(super) fn single_agent(ops: &[Op]) -> Option<&Op> {
    match ops {
        [op] if matches!(op.kind, OpKind::Agent(_)) => Some(op),
        _ => None,
    }
}

/// Descriptors of the tools named, as a model sees them.
fn offered(names: &[String]) -> Result<Vec<ToolSpec>, Failure> {
    names
        .iter()
        .map(|name| {
            let descriptor = crate::model::tools::descriptors().iter().find(|d| d.name == name);
            descriptor
                .map(|d| ToolSpec { name: d.wire_name(), description: d.description.to_owned(), parameters: d.arguments.clone() })
                .ok_or_else(|| Failure::new(FailureKind::Fail, format!("no tool is called `{name}`: `rsf reference` lists them")))
        })
        .collect()
}

/// The dotted name behind a wire name.
fn dotted(wire: &str) -> String {
    let descriptor = crate::model::tools::descriptors().iter().find(|d| d.wire_name() == wire);
    descriptor.map_or_else(|| wire.to_owned(), |d| d.name.to_owned())
}

/// Two spellings of one model name count as the same model.
#[must_use]
pub fn same_model(a: &str, b: &str) -> bool {
    let fold = |name: &str| name.trim().to_lowercase().replace(['_', ' '], "-");
    fold(a) == fold(b)
}
