//! What an interpretation has in scope when it begins.

use super::prepare::nonce;
use super::state::{Arrival, Machine};
use super::units::By;
use crate::model::Policy;
use crate::rule::Scope;
use serde_json::{Map, Value, json};

impl Machine {
    /// The part of the scope that never changes during the run.
    pub(super) fn settle_base(&mut self) {
        let mut base = Scope::new();
        base.set_json("params", &Value::Object(self.prepared.params.clone()));
        base.set_json("config", self.plan.config());
        base.set_json("ids", &Value::Object(self.prepared.ids.clone()));
        base.set_json("project", &self.project);
        base.set_json("balance", &self.prepared.balance);
        self.base = base;
    }

    /// The scope of a cell's attempt, without what changes while it runs.
    pub(super) fn cell_scope(&self, cell: usize, attempt: u32) -> Scope {
        let net = &self.plan.net().cells[cell];
        let role = &self.plan.net().roles[net.role];
        let mut scope = self.common_scope(role, &format!("{}.r{}", net.id, self.round), Some(cell));
        scope.set_json("cell", &json!({"role": role, "seq": net.seq, "task": self.plan.cell(cell).task, "id": net.id}));
        scope.set_json("attempt", &Value::from(attempt));
        scope.set_json("inputs", &Value::Object(self.inputs_value(cell)));
        scope.set_json("received", &self.received_value(cell));
        scope
    }

    /// The scope of a program of `on`.
    pub(super) fn program_scope(&self, event: &str) -> Scope {
        let role = self.program_role();
        let mut scope = self.common_scope(&role, &format!("on.{event}.r{}", self.round), None);
        scope.set_json("cell", &json!({"role": role, "seq": 0, "task": event, "id": format!("on.{event}")}));
        scope.set_json("attempt", &Value::from(1));
        scope
    }

    fn common_scope(&self, role: &str, identity: &str, cell: Option<usize>) -> Scope {
        let mut scope = self.base.child();
        scope.set_json("role", &Value::from(role));
        scope.set_json("round", &Value::from(self.round));
        scope.set_json("nonce", &Value::from(nonce(&self.prepared.seed, identity)));
        scope.set_json("now", &Value::from(self.now.rfc3339()));
        if let Some(estimate) = self.plan.workflow().execution.estimate.as_deref() {
            let mut inner = scope.child();
            inner.set_json("state", &Value::Object(self.state_for(cell)));
            inner.set_json("usage", &self.usage(self.of(cell)));
            inner.set_json("run", &Value::Object(self.run_facts(self.of(cell))));
            let value = self.plan.engine().eval(estimate, &inner).and_then(|v| crate::rule::to_json(&v));
            scope.set_json("estimate", &value.unwrap_or(Value::Null));
        }
        scope
    }

    /// The role whose permissions bind the programs of `on`.
    pub(super) fn program_role(&self) -> String {
        let first = || self.plan.net().roles.first().cloned().unwrap_or_default();
        self.plan.workflow().execution.on_as.clone().unwrap_or_else(first)
    }

    /// Permission layers of a role and, if given, a cell.
    pub(super) fn layers(&self, role: &str, cell: Option<usize>) -> Vec<Policy> {
        let of_role = self.plan.workflow().roles.iter().find(|r| r.id == role).and_then(|r| r.agent.as_ref()?.permissions.clone());
        of_role.into_iter().chain(cell.and_then(|c| self.plan.cell(c).permissions.clone())).collect()
    }

    /// State as it stood when the cell's step began: the round's start, and what cells ordered before it changed.
    pub(super) fn state_for(&self, cell: Option<usize>) -> Map<String, Value> {
        let mut state = self.state.clone();
        for (by, names) in &self.patches {
            if self.sees(cell, Some(*by)) {
                state.extend(names.clone());
            }
        }
        if let Some(kept) = cell.map(|c| &self.cells[c].kept) {
            state.extend(kept.clone());
        }
        state
    }

    /// Whether an observer (`None`: a program) sees what `by` (`None`: a program) did in this round.
    pub(super) fn sees(&self, observer: Option<usize>, by: Option<usize>) -> bool {
        match (observer, by) {
            (None, _) | (_, None) => true,
            (Some(observer), Some(by)) => observer == by || self.plan.net().before(by, observer),
        }
    }

    /// The same for what is counted: an item sees its own share of the present attempt and nothing of the others'.
    fn counts(&self, observer: By, by: By) -> bool {
        if observer.cell.is_none() || observer.cell != by.cell {
            return self.sees(observer.cell, by.cell);
        }
        by.attempt < observer.attempt || by.item.is_none() || observer.item.is_none() || by.item == observer.item
    }

    pub(super) fn usage(&self, observer: By) -> Value {
        self.ledger.usage(|by| self.counts(observer, by))
    }

    pub(super) fn run_facts(&self, observer: By) -> Map<String, Value> {
        let mut run = self.facts.run(&self.prepared.run_id, |by| self.counts(observer, by));
        let result = self.ending.as_ref().map(|(result, _)| result.clone());
        let reason = self.ending.as_ref().and_then(|(_, reason)| reason.clone());
        run.insert("result".to_owned(), Value::from(result));
        run.insert("reason".to_owned(), Value::from(reason));
        run
    }

    /// `inputs`: every alternative of every entry, null when absent; a list for a counted entry.
    fn inputs_value(&self, cell: usize) -> Map<String, Value> {
        let net = &self.plan.net().cells[cell];
        let mut inputs = Map::new();
        for (slot, filled) in net.slots.iter().zip(&self.cells[cell].filled) {
            for alternative in &slot.term.alternatives {
                let values: Vec<Value> = filled
                    .iter()
                    .flatten()
                    .filter(|arrival| arrival.token.type_ref == *alternative)
                    .map(|arrival| self.visible(cell, &alternative.name, &arrival.token.value))
                    .collect();
                let value = match (slot.count, values.len()) {
                    (_, 0) => Value::Null,
                    (1, _) => values.into_iter().next().unwrap_or(Value::Null),
                    _ => Value::Array(values),
                };
                inputs.insert(alternative.to_string(), value);
            }
        }
        inputs
    }

    /// `received`: deliveries of this round to the role's cells up to this step, in the order of everything.
    fn received_value(&self, cell: usize) -> Value {
        let net = self.plan.net();
        let own = &net.cells[cell];
        let mut arrivals: Vec<&Arrival> = net
            .cells
            .iter()
            .zip(&self.cells)
            .filter(|(other, _)| other.role == own.role && other.seq <= own.seq)
            .flat_map(|(_, state)| state.arrived.iter().flatten())
            .collect();
        arrivals.sort_by_key(|a| a.place);
        arrivals
            .into_iter()
            .map(|arrival| {
                let type_ref = &arrival.token.type_ref;
                json!({
                    "type": type_ref.to_string(),
                    "from": self.end_value(arrival.from),
                    "origin": self.end_value(arrival.token.origin),
                    "value": self.visible(cell, &type_ref.name, &arrival.token.value),
                })
            })
            .collect()
    }

    fn end_value(&self, cell: Option<usize>) -> Value {
        let net = self.plan.net();
        cell.map_or(Value::Null, |c| json!({"role": net.roles[net.cells[c].role], "seq": net.cells[c].seq}))
    }

    /// A value without what the role must not see (`independence.blind_to`).
    fn visible(&self, cell: usize, type_name: &str, value: &Value) -> Value {
        let net = self.plan.net();
        let role = &net.roles[net.cells[cell].role];
        let mut value = value.clone();
        for rule in &self.plan.workflow().execution.independence {
            if !rule.roles.contains(role) {
                continue;
            }
            for hidden in &rule.blind_to {
                match hidden.split_once('.') {
                    None if hidden == type_name => return Value::Null,
                    Some((name, field)) if name == type_name => hide(&mut value, field),
                    _ => {}
                }
            }
        }
        value
    }
}

/// Takes a field (dots reach inside) out of a value; the values of an `each` cell come as a list.
fn hide(value: &mut Value, field: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, field)),
        Value::Object(object) => {
            if let Some((outer, inner)) = field.split_once('.') {
                object.get_mut(outer).into_iter().for_each(|value| hide(value, inner));
            } else {
                object.shift_remove(field);
            }
        }
        _ => {}
    }
}
