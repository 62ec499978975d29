//! The governor: counts tool calls, looks back over the turns since the last stop, chooses the message, checks the answer to it.
//!
//! Arithmetic over a decision table, used by agent sessions and by coding agents' hooks alike. Every text and threshold stands in the table;
//! nothing here does I/O, reads a clock or knows a particular table.
//!
//! Architecture invariant: a message is given at most once for a turn count, and only for a count above every count judged before. So a
//! model that stops again without a tool call in between is never held back twice.

mod expect;
mod options;
mod table;
#[cfg(test)]
mod tests;
mod watch;

pub use expect::{Expect, Made};
pub use options::{Options, Subagents};
pub use table::{Governor, INPUTS, Message, Moment};
pub use watch::{Judgement, Watch};
