//! Wire formats: pure functions from a request to a body and from a body to a reply. No I/O.

pub mod balance;
pub mod chat;
mod fault;
pub mod finish;
pub mod messages;
mod stream;
mod surrogate;

pub use super::options::BodyOptions;
pub use fault::{FaultClass, WireFault};
