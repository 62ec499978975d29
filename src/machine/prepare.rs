//! What is decided before a run exists: parameters through `on.accept`, constraints, ids. Pure; nothing is written yet.

use crate::base::{Timestamp, digest_bytes};
use crate::cell::{Host, Interpreter, Mode, Present, Step, Who, same_model};
use crate::check::plan::Plan;
use crate::rule::{Scope, to_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The settled beginning of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// Name of the run: the loop id where the document gives one. Safe as a folder's name.
    pub run_id: String,
    /// Parameters after `on.accept`.
    pub params: Map<String, Value>,
    /// `interaction_id`, `loop_id`.
    pub ids: Map<String, Value>,
    /// Random text that every `nonce` comes from.
    pub seed: String,
    /// What a person confirms, if the document says so.
    pub confirm: Option<String>,
    /// What a provider said is left on its account, null where none said so.
    #[serde(default)]
    pub balance: Value,
}

/// The document refuses these parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Runs `on.accept` and the constraints over the plan's parameters and makes the run's ids.
///
/// # Errors
/// The text of a `fail`, a broken constraint, or parameters that do not fit their schema.
pub fn prepare(plan: &Plan, now: Timestamp, seed: &str, project: &Value) -> Result<Prepared, Refusal> {
    let mut scope = Scope::new();
    scope.set_json("params", &Value::Object(plan.params().clone()));
    scope.set_json("config", plan.config());
    scope.set_json("project", project);
    scope.set_json("state", &Value::Object(plan.workflow().execution.state.clone()));
    scope.set_json("now", &Value::from(now.rfc3339()));
    scope.set_json("nonce", &Value::from(nonce(seed, "run")));
    scope.set_json("ids", &json!({}));
    let mut prepared = Prepared { params: plan.params().clone(), seed: seed.to_owned(), ..Prepared::default() };
    accept(plan, now, &scope, &mut prepared)?;
    scope.set_json("params", &Value::Object(prepared.params.clone()));
    check_params(plan, &prepared.params)?;
    check_constraints(plan, &scope)?;
    name(plan, now, &mut scope, &mut prepared)?;
    independent(plan, &scope)?;
    Ok(prepared)
}

/// Six hexadecimal digits from the run's seed and an identity.
#[must_use]
pub(super) fn nonce(seed: &str, identity: &str) -> String {
    digest_bytes(format!("{seed}|{identity}").as_bytes())[..6].to_owned()
}

pub(super) fn host(plan: &Plan) -> Host<'_> {
    Host {
        workflow: plan.workflow(),
        engine: plan.engine(),
        tables: plan.tables(),
        governors: plan.governors(),
        schemas: plan.schemas(),
        outputs: plan.outputs(),
        limits: plan.limits(),
    }
}

fn accept(plan: &Plan, now: Timestamp, scope: &Scope, prepared: &mut Prepared) -> Result<(), Refusal> {
    let Some(ops) = plan.workflow().execution.on.get("accept") else { return Ok(()) };
    let who = Who {
        role: String::new(),
        cell: "on.accept".to_owned(),
        round: 0,
        attempt: 1,
        item: None,
        owner: "on.accept".to_owned(),
        key: "on.accept".to_owned(),
        layers: Vec::new(),
        deadline: now,
    };
    let ids = Map::new();
    let state = plan.workflow().execution.state.clone();
    let mut interpreter = Interpreter::new(who, Mode::Program, Vec::new(), &ids, scope.clone(), state);
    let present = Present { now, facts: Vec::new() };
    match interpreter.start(&host(plan), ops, &present, &ids) {
        Step::Done(finished) => {
            prepared.params.extend(finished.set);
            prepared.confirm = finished.locals.get("confirm").map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
            Ok(())
        }
        Step::Failed(failure) => Err(Refusal(failure.message)),
        _ => Err(Refusal("`on.accept` must be pure: it may not call tools, agents, stores or logs".to_owned())),
    }
}

fn check_params(plan: &Plan, params: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(schema) = plan.params_schema() else { return Ok(()) };
    let faults = schema.check(&Value::Object(params.clone()));
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(Refusal(format!("parameter at `{}`: {}", fault.pointer, fault.message))),
    }
}

fn check_constraints(plan: &Plan, scope: &Scope) -> Result<(), Refusal> {
    for constraint in &plan.workflow().execution.constraints {
        let holds =
            plan.engine().truth(&constraint.assert, scope).map_err(|e| Refusal(format!("constraint `{}`: {e}", constraint.assert)))?;
        if !holds {
            let message = plan.engine().text(&constraint.message, scope).and_then(|v| to_json(&v));
            let message = message.map_or_else(|e| e.to_string(), |v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
            return Err(Refusal(format!("constraint broken: {message}")));
        }
    }
    Ok(())
}

/// Judges whose model must differ from the judged role's, as far as both are known before the run; each session looks again when it starts.
fn independent(plan: &Plan, scope: &Scope) -> Result<(), Refusal> {
    let workflow = plan.workflow();
    let model = |id: &str| {
        let role = workflow.roles.iter().find(|role| role.id == id)?;
        let value = plan.engine().text(role.agent.as_ref()?.model.as_deref()?, scope).and_then(|v| to_json(&v)).ok()?;
        value.as_str().map(str::to_owned)
    };
    for rule in workflow.execution.independence.iter().filter(|rule| rule.differ.iter().any(|what| what == "model")) {
        for role in &rule.roles {
            if let (Some(judge), Some(judged)) = (model(role), model(&rule.from))
                && same_model(&judge, &judged)
            {
                return Err(Refusal(format!(
                    "independence broken: {role} must judge with another model than {}, both are `{judged}`",
                    rule.from
                )));
            }
        }
    }
    Ok(())
}

fn name(plan: &Plan, now: Timestamp, scope: &mut Scope, prepared: &mut Prepared) -> Result<(), Refusal> {
    for id in ["interaction_id", "loop_id"] {
        if let Some(template) = plan.workflow().execution.ids.get(id) {
            let value = plan.engine().text(template, scope).and_then(|v| to_json(&v)).map_err(|e| Refusal(format!("id `{id}`: {e}")))?;
            prepared.ids.insert(id.to_owned(), value);
            scope.set_json("ids", &Value::Object(prepared.ids.clone()));
        }
    }
    let loop_id = prepared.ids.get("loop_id").and_then(Value::as_str).map(str::to_owned);
    let run_id = loop_id.unwrap_or_else(|| format!("run-{}-{}", now.compact(), nonce(&prepared.seed, "run")));
    prepared.run_id = safe(&run_id);
    Ok(())
}

/// A name that is safe as a folder: everything but letters, digits, `-`, `_` and `.` becomes `-`.
fn safe(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect();
    let safe = safe.trim_matches('.').to_owned();
    if safe.is_empty() { "run".to_owned() } else { safe.chars().take(120).collect() }
}
