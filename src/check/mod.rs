//! Checks of a document, and the sealed plan of one that passed.
pub mod plan;
