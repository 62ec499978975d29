//! Schemas of handovers by type and sender role. Holds compiled schemas only; reads no file.

use super::Schema;
use std::collections::BTreeMap;

/// Type name → sender role (or `""` for every role) → schema.
#[derive(Clone, Default)]
pub struct TypeSchemas(BTreeMap<String, BTreeMap<String, Schema>>);

impl TypeSchemas {
    /// Declares the schema of `name` as sent by `role` (`""`: by any role).
    pub fn insert(&mut self, name: &str, role: &str, schema: Schema) {
        self.0.entry(name.to_owned()).or_default().insert(role.to_owned(), schema);
    }

    /// The schema a value of `name` made by `role` must satisfy, if one is declared.
    #[must_use]
    pub fn find(&self, name: &str, role: &str) -> Option<&Schema> {
        let by_role = self.0.get(name)?;
        by_role.get(role).or_else(|| by_role.get(""))
    }
}
