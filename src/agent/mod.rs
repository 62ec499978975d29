//! An agent session as a pure sub-machine: what to ask the model, which tools to call, when it is done.
//!
//! It never talks to a model itself: it gives requests and is fed replies.

mod dialogue;

pub use dialogue::*;
