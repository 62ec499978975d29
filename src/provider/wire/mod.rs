//! Wire formats: pure functions from a request to a body and from a body to a reply. No I/O.

pub mod chat;
mod fault;
mod surrogate;

pub use super::options::BodyOptions;
pub use fault::{FaultClass, WireFault};
