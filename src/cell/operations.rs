//! One function per operation of the language (docs/language.md, 4).

use super::interpreter::{Control, Host, Interpreter, Mode, Step, Stop, Waiting, at};
use super::position::{Branch, Frame};
use super::stores::{log_request, plain, store_order};
use crate::agent::{Failure, FailureKind};
use crate::model::{Op, OpKind};
use crate::rule::{Leaves, evaluate, to_json};
use serde_json::{Map, Value};

impl Interpreter {
    pub(super) fn execute(&mut self, host: &Host<'_>, op: &Op) -> Result<Control, Failure> {
        match &op.kind {
            OpKind::Let(names) => self.let_names(host, op, names),
            OpKind::Set(names) => self.set_state(host, op, names),
            OpKind::Rules { table, with } => self.rules(host, op, table, with),
            OpKind::Call { tool, with } => self.call(host, op, tool, with),
            OpKind::Agent(agent) => self.open_session(host, op, agent),
            OpKind::For { over, .. } => self.for_each(host, op, over),
            OpKind::Do { .. } => Ok(Control::Enter(self.nested(Branch::Body))),
            OpKind::Store(documents) => self.store(host, op, documents),
            OpKind::Emit(values) => self.emit_all(host, op, values),
            OpKind::Stop { result, reason } => self.stop(host, op, result, reason.as_deref()),
            OpKind::Return => Ok(Control::Return),
            OpKind::Fail(message) => Err(Failure::new(FailureKind::Fail, plain(&self.text(host, op, message)?))),
            OpKind::Log(fields) => self.log(host, op, fields),
            OpKind::Ask { .. } | OpKind::Workflow { .. } => {
                Err(Failure::new(FailureKind::Fail, format!("this version cannot run the operation at {}", op.at)))
            }
        }
    }

    fn tree(&self, host: &Host<'_>, op: &Op, value: &Value, leaves: Leaves) -> Result<Value, Failure> {
        host.engine.tree(value, leaves, &self.scope).map_err(|e| at(op, &e))
    }

    fn text(&self, host: &Host<'_>, op: &Op, source: &str) -> Result<Value, Failure> {
        host.engine.text(source, &self.scope).and_then(|v| to_json(&v)).map_err(|e| at(op, &e))
    }

    fn object(&self, host: &Host<'_>, op: &Op, map: &Map<String, Value>, leaves: Leaves) -> Result<Map<String, Value>, Failure> {
        map.iter().map(|(name, value)| Ok((name.clone(), self.tree(host, op, value, leaves)?))).collect()
    }

    fn let_names(&mut self, host: &Host<'_>, op: &Op, names: &Map<String, Value>) -> Result<Control, Failure> {
        for (name, value) in names {
            let value = self.tree(host, op, value, Leaves::Expressions)?;
            self.bind(name, value);
        }
        Ok(Control::Next(Value::Null))
    }

    fn set_state(&mut self, host: &Host<'_>, op: &Op, names: &Map<String, Value>) -> Result<Control, Failure> {
        for (name, value) in names {
            let value = self.tree(host, op, value, Leaves::Templates)?;
            self.state.insert(name.clone(), value.clone());
            self.finished.set.insert(name.clone(), value);
            self.scope.set_json("state", &Value::Object(self.state.clone()));
        }
        self.constraints(host, op, names)?;
        Ok(Control::Next(Value::Null))
    }

    /// A constraint is decided again after each `set` that touches a name in it.
    fn constraints(&self, host: &Host<'_>, op: &Op, names: &Map<String, Value>) -> Result<(), Failure> {
        for constraint in &host.workflow.execution.constraints {
            let touched = names.keys().any(|name| mentions(&constraint.assert, name));
            if touched && !host.engine.truth(&constraint.assert, &self.scope).map_err(|e| at(op, &e))? {
                let message = plain(&self.text(host, op, &constraint.message)?);
                return Err(Failure::new(FailureKind::Fail, format!("constraint broken: {message}")));
            }
        }
        Ok(())
    }

    fn rules(&self, host: &Host<'_>, op: &Op, table: &str, with: &Map<String, Value>) -> Result<Control, Failure> {
        let inputs = self.object(host, op, with, Leaves::Expressions)?;
        let Some(compiled) = host.tables.get(table) else {
            return Err(Failure::new(FailureKind::Fail, format!("no decision table `{table}` (at {})", op.at)));
        };
        let result = evaluate(host.engine, compiled, &inputs);
        result.map(Control::Next).map_err(|e| Failure::new(FailureKind::Fail, format!("decision table `{table}`: {e} (at {})", op.at)))
    }

    fn call(&mut self, host: &Host<'_>, op: &Op, tool: &str, with: &Map<String, Value>) -> Result<Control, Failure> {
        let args = Value::Object(self.object(host, op, with, Leaves::Templates)?);
        if let Some(status) = self.status(tool) {
            return Ok(Control::Next(status));
        }
        let key = format!("{}/{}{}", self.who.key, op.at, self.passes());
        let request = self.tool_request(host, tool, args, &[], key).map_err(|e| at(op, &e))?;
        Ok(Control::Wait(Step::Tool(request), Waiting::Tool(op.bind.clone())))
    }

    /// `usage.status` is answered from what is in scope.
    pub(super) fn status(&self, tool: &str) -> Option<Value> {
        if tool != "usage.status" && tool != "usage_status" {
            return None;
        }
        let fact = |name: &str| self.scope.get(name).and_then(|v| to_json(&v).ok()).unwrap_or(Value::Null);
        Some(serde_json::json!({"usage": fact("usage"), "balance": fact("balance")}))
    }

    /// Numbers of the passes of the loops around the operation, so that each pass has keys of its own.
    pub(super) fn passes(&self) -> String {
        use std::fmt::Write as _;
        self.frames.iter().fold(String::new(), |mut text, frame| {
            if let Frame::Loop { pass, .. } = frame {
                let _ = write!(text, "#{pass}");
            }
            text
        })
    }

    fn for_each(&mut self, host: &Host<'_>, op: &Op, over: &str) -> Result<Control, Failure> {
        let items = host.engine.eval(over, &self.scope).and_then(|v| to_json(&v)).map_err(|e| at(op, &e))?;
        let Value::Array(items) = items else {
            return Err(Failure::new(FailureKind::Fail, format!("`for` needs a list (at {})", op.at)));
        };
        let outer = |name: &str| self.scope.get(name).filter(|v| !v.is_undefined()).and_then(|v| to_json(&v).ok());
        let outer = (outer("item"), outer("index"));
        let path = self.path(Branch::Body);
        Ok(Control::Enter(Frame::Loop { path, items, pass: 0, results: Vec::new(), bind: op.bind.clone(), outer }))
    }

    fn store(&mut self, host: &Host<'_>, op: &Op, documents: &Map<String, Value>) -> Result<Control, Failure> {
        let mut orders = Vec::new();
        for (name, value) in documents {
            let Some(definition) = host.workflow.execution.types.get(name).filter(|d| !d.store.is_empty()) else {
                return Err(Failure::new(FailureKind::Fail, format!("type `{name}` declares no `store` (at {})", op.at)));
            };
            let mut value = self.tree(host, op, value, Leaves::Templates)?;
            let faults = self.envelope.seal(&mut value, host.schemas.find(name, &self.who.role));
            if !faults.is_empty() {
                return Err(Failure::new(FailureKind::Schema, format!("`{name}` does not fit its schema: {}", faults.join("; "))));
            }
            orders.push(store_order(name, definition, &value, host.engine, &self.scope).map_err(|e| at(op, &e))?);
        }
        if orders.is_empty() {
            return Ok(Control::Next(Value::Null));
        }
        let step = self.write(orders, Waiting::Store);
        let waiting = std::mem::replace(&mut self.waiting, Waiting::Nothing);
        Ok(Control::Wait(step, waiting))
    }

    fn emit_all(&mut self, host: &Host<'_>, op: &Op, values: &Map<String, Value>) -> Result<Control, Failure> {
        if self.mode == Mode::Program {
            return Err(Failure::new(FailureKind::Fail, format!("a program of `on` has nobody to emit to (at {})", op.at)));
        }
        for (key, value) in values {
            let value = self.tree(host, op, value, Leaves::Templates)?;
            self.emit(host, key, value)?;
        }
        Ok(Control::Next(Value::Null))
    }

    fn stop(&mut self, host: &Host<'_>, op: &Op, result: &str, reason: Option<&str>) -> Result<Control, Failure> {
        let result = plain(&self.text(host, op, result)?);
        let reason = reason.map(|text| self.text(host, op, text).map(|v| plain(&v))).transpose()?;
        self.finished.stops.push(Stop { result, reason });
        Ok(Control::Next(Value::Null))
    }

    fn log(&mut self, host: &Host<'_>, op: &Op, fields: &Map<String, Value>) -> Result<Control, Failure> {
        let given = self.object(host, op, fields, Leaves::Templates)?;
        let Some(logs) = &host.workflow.execution.logs else { return Ok(Control::Next(Value::Null)) };
        let line = log_request(logs, given, host.engine, &self.scope).map_err(|e| at(op, &e))?;
        Ok(Control::Wait(Step::Log(line), Waiting::Log))
    }
}

/// Whether an expression speaks of `state.{name}`, or of the state in a way that may mean any name of it.
fn mentions(expression: &str, name: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    expression.match_indices("state").any(|(start, word)| {
        let rest = &expression[start + word.len()..];
        if expression[..start].ends_with(in_word) || rest.starts_with(in_word) {
            return false;
        }
        match rest.trim_start().strip_prefix('.') {
            Some(path) => path.trim_start().strip_prefix(name).is_some_and(|after| !after.starts_with(in_word)),
            None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_constraint_mentions_whole_names_only() {
        assert!(mentions("state.model != config.models.a", "model"));
        assert!(!mentions("state.models != 1", "model"));
        assert!(!mentions("config.model == 1", "model"));
        assert!(!mentions("estate.model == 1", "model"));
        assert!(mentions("state['model'] == 1", "model"));
        assert!(mentions("state|length == 1", "model"));
    }
}
