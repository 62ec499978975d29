//! Tools: one registry, one permission gate, one file per tool.
//!
//! Whoever calls (a program's `call`, an agent's tool call), every call goes through the registry and its gate. A tool never decides about
//! permissions itself and never touches the world but through its [`Desk`] and room `world`.

mod desk;

pub use desk::Desk;
