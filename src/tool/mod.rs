//! Tools: one registry, one permission gate, one file per tool.
//!
//! Whoever calls (a program's `call`, an agent's tool call), every call goes through [`Registry::call`] and its gate. A tool never decides about
//! permissions itself and never touches the world but through room `world`.
