//! Tools: one registry, one permission gate, one file per tool.
//!
//! Whoever calls (a program's `call`, an agent's tool call), every call goes through the registry and its gate. A tool never decides about
//! permissions itself and never touches the world but through its [`Desk`] and room `world`.

mod coverage;
mod desk;
mod given;
pub mod rdf_index;
pub mod rdf_insert;
pub mod rdf_query;
mod rdf_terms;
pub mod reports_coverage;
pub mod reports_tests;
pub mod syntax_query;

pub use desk::Desk;
