//! The descriptors of all tools, by field.

pub mod knowledge;

use super::tool::Descriptor;
use std::sync::LazyLock;

/// Every tool.
#[must_use]
pub fn descriptors() -> &'static [Descriptor] {
    static ALL: LazyLock<Vec<Descriptor>> = LazyLock::new(knowledge::list);
    &ALL
}
