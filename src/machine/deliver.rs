//! Moves what a cell emitted along its flows: forward ones deliver now, feedback ones are held until the round's end.

use super::contract::NoteEvent;
use super::state::{Arrival, Held, Machine, Remembered, Token};
use serde_json::{Map, Value};

/// One flow's share of an emission.
pub(super) struct Delivery {
    flow: usize,
    /// Per part of the flow.
    parts: Vec<Vec<Token>>,
}

impl Machine {
    /// Which flows of `cell` deliver, and what: all parts emitted, the union part matching, `when` true.
    pub(super) fn deliveries(
        &self,
        cell: usize,
        tokens: &[(usize, Vec<Token>)],
        set: &Map<String, Value>,
    ) -> Result<Vec<Delivery>, String> {
        let net = self.plan.net();
        let mut deliveries = Vec::new();
        for index in &net.cells[cell].outgoing {
            let flow = &net.flows[*index];
            let parts: Option<Vec<Vec<Token>>> = flow
                .parts
                .iter()
                .map(|part| {
                    let (_, made) = tokens.iter().find(|(out, _)| *out == part.out)?;
                    let taken = made.get(part.offset..part.offset + usize::from(part.term.count))?;
                    taken.iter().all(|t| part.term.alternatives.contains(&t.type_ref)).then(|| taken.to_vec())
                })
                .collect();
            let Some(parts) = parts else { continue };
            if let Some(when) = &flow.when
                && !self.wanted(cell, &flow.id, when, &parts, set).map_err(|e| format!("`when` of flow `{}`: {e}", flow.id))?
            {
                continue;
            }
            deliveries.push(Delivery { flow: *index, parts });
        }
        Ok(deliveries)
    }

    fn wanted(&self, cell: usize, flow: &str, when: &str, parts: &[Vec<Token>], set: &Map<String, Value>) -> Result<bool, String> {
        if self.simulated {
            // In a proof a condition is a free outcome; the script decides.
            return Ok(!self.cells[cell].withheld.iter().any(|withheld| withheld == flow));
        }
        let mut value = Map::new();
        for part in parts {
            let Some(first) = part.first() else { continue };
            let whole = if part.len() == 1 { (*first.value).clone() } else { part.iter().map(|t| (*t.value).clone()).collect() };
            value.insert(first.type_ref.to_string(), whole);
        }
        let mut scope = self.cell_scope(cell, self.cells[cell].attempt);
        // The sender's own changes count: it succeeds together with what it sends.
        let mut state = self.state_for(Some(cell));
        state.extend(set.clone());
        scope.set_json("state", &Value::Object(state));
        for (name, value) in self.present(self.of(Some(cell))).facts {
            scope.set(name, value);
        }
        scope.set_json("value", &Value::Object(value));
        self.evaluate_flag(when, &scope)
    }

    pub(super) fn deliver(&mut self, cell: usize, delivery: Delivery) {
        let plan = std::sync::Arc::clone(&self.plan);
        let flow = &plan.net().flows[delivery.flow];
        if !flow.forward {
            self.held.push(Held { flow: delivery.flow, parts: delivery.parts });
            return;
        }
        let place = self.next_place(cell);
        let note = super::contract::Note { place, event: NoteEvent::Deliver { flow: flow.id.clone() } };
        self.out.push(super::contract::Command::Note(note));
        self.cells[flow.to].active = true;
        let role = plan.net().cells[flow.to].role;
        for (part, tokens) in flow.parts.iter().zip(delivery.parts) {
            for token in tokens {
                self.recent.push(Remembered { role, place, by: cell, token: token.clone() });
                self.cells[flow.to].arrived[part.slot].push(Arrival { token, from: Some(cell), place, looped: false });
            }
        }
    }

    /// A role remembers what it emits.
    pub(super) fn remember(&mut self, cell: usize, tokens: &[(usize, Vec<Token>)]) {
        let role = self.plan.net().cells[cell].role;
        for token in tokens.iter().flat_map(|(_, made)| made) {
            let place = self.next_place(cell);
            self.recent.push(Remembered { role, place, by: cell, token: token.clone() });
        }
    }
}
