//! The descriptors of all tools, by field.

pub mod knowledge;
