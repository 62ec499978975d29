//! Fills the entries of a cell that is about to run (docs/language.md, 2, "an `in` entry is filled by …").

use super::contract::Place;
use super::state::{Arrival, Machine, Status, Token};
use crate::check::plan::Slot;
use crate::model::Term;
use std::sync::Arc;

/// Why an entry cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// Nothing (or not enough) brings it.
    Missing(String),
    /// More was delivered than its count.
    Oversupply(String),
}

impl Machine {
    /// What fills each entry of `cell`, in slot order.
    pub(super) fn fill(&self, cell: usize) -> Result<Vec<Option<Vec<Arrival>>>, Unfilled> {
        let slots = &self.plan.net().cells[cell].slots;
        (0..slots.len()).map(|slot| self.fill_slot(cell, slot)).collect()
    }

    fn fill_slot(&self, cell: usize, index: usize) -> Result<Option<Vec<Arrival>>, Unfilled> {
        let slot = &self.plan.net().cells[cell].slots[index];
        let mut arrived = self.cells[cell].arrived[index].clone();
        arrived.sort_by_key(|a| a.place);
        if arrived.len() > slot.count {
            return Err(Unfilled::Oversupply(format!("`{}` takes {} and got {}", slot.term, slot.count, arrived.len())));
        }
        if arrived.len() == slot.count {
            return Ok(Some(arrived));
        }
        if !arrived.is_empty() {
            return Err(Unfilled::Missing(format!("`{}` needs {} and got {}", slot.term, slot.count, arrived.len())));
        }
        self.fill_without_delivery(cell, index, slot)
    }

    fn fill_without_delivery(&self, cell: usize, index: usize, slot: &Slot) -> Result<Option<Vec<Arrival>>, Unfilled> {
        let missing = || Unfilled::Missing(format!("nothing brings `{}`", slot.term));
        if !slot.fed {
            return self.given(cell, slot).or_else(|| self.remembered(cell, slot)).map(Some).ok_or_else(missing);
        }
        let source_was_active = slot.forward_sources.iter().any(|source| self.was_active(*source));
        if source_was_active {
            return Err(missing());
        }
        match &self.cells[cell].retained[index] {
            Some(retained) => Ok(Some(retained.clone())),
            None if slot.forward_sources.is_empty() => Ok(None),
            None => Err(missing()),
        }
    }

    fn was_active(&self, cell: usize) -> bool {
        let state = &self.cells[cell];
        state.active || state.status == Status::Running || state.status == Status::Done
    }

    /// An entry cell's input that no flow feeds comes from the parameters.
    fn given(&self, cell: usize, slot: &Slot) -> Option<Vec<Arrival>> {
        if !self.plan.net().cells[cell].entry || slot.count != 1 {
            return None;
        }
        slot.term.alternatives.iter().find_map(|alternative| {
            let name = alternative.to_string();
            let value = self.prepared.params.get(&name)?;
            let token =
                Token { name: format!("{name}:params"), type_ref: alternative.clone(), value: Arc::new(value.clone()), origin: None };
            Some(vec![Arrival { token, from: None, place: Place::default(), looped: false }])
        })
    }

    /// The newest values of the type that the role received or emitted earlier in the run.
    fn remembered(&self, cell: usize, slot: &Slot) -> Option<Vec<Arrival>> {
        let role = self.plan.net().cells[cell].role;
        let recent = self.recent.iter().filter(|r| r.role == role && self.plan.net().before(r.by, cell));
        let mut known: Vec<(Place, &Token)> = recent.map(|r| (r.place, &r.token)).filter(|(_, t)| names(&slot.term, t)).collect();
        if known.is_empty() {
            let past = self.memory[role].values().flatten().map(|(place, token)| (*place, token));
            known = past.filter(|(_, t)| names(&slot.term, t)).collect();
            // Values of different rounds never mix: only the newest round's set counts.
            let newest = known.iter().map(|(place, _)| place.round).max();
            known.retain(|(place, _)| Some(place.round) == newest);
        }
        known.sort_by_key(|(place, _)| *place);
        if known.len() < slot.count {
            return None;
        }
        let newest = known.split_off(known.len() - slot.count);
        Some(newest.into_iter().map(|(place, token)| Arrival { token: token.clone(), from: token.origin, place, looped: false }).collect())
    }
}

fn names(term: &Term, token: &Token) -> bool {
    term.alternatives.contains(&token.type_ref)
}
