//! The names an expression sees: layers of values, cheap to clone, looked up one name at a time.
//!
//! A scope is never serialised as a whole.

use super::{Val, to_val};
use minijinja::value::{Enumerator, Object};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Layered names → values. A clone shares everything until it is written to.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    top: Arc<Layer>,
}

#[derive(Clone, Debug, Default)]
struct Layer {
    names: BTreeMap<String, Val>,
    below: Option<Arc<Layer>>,
}

impl Scope {
    /// A scope without names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds `name` in the uppermost layer.
    pub fn set(&mut self, name: &str, value: Val) {
        Arc::make_mut(&mut self.top).names.insert(name.to_owned(), value);
    }

    /// Binds `name` to a JSON value.
    pub fn set_json(&mut self, name: &str, value: &serde_json::Value) {
        self.set(name, to_val(value));
    }

    /// A new empty layer above this scope; what is set there leaves this scope as it is.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { top: Arc::new(Layer { names: BTreeMap::new(), below: Some(Arc::clone(&self.top)) }) }
    }

    /// The value of `name`, from the uppermost layer that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Val> {
        let mut layer = Some(&self.top);
        while let Some(here) = layer {
            if let Some(value) = here.names.get(name) {
                return Some(value.clone());
            }
            layer = here.below.as_ref();
        }
        None
    }
}

/// Name under which a template's functions find the scope they run in; texts may not use names that begin with two underscores.
pub(super) const ROOT: &str = "__root";

/// A scope as MiniJinja's context, with the depth of nested `render` calls.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) scope: Scope,
    pub(super) depth: usize,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Val) -> Option<Val> {
        match key.as_str()? {
            ROOT => Some(Val::from_dyn_object(Arc::clone(self))),
            name => self.scope.get(name),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}
