//! The driver: receive → append → apply → drain → dispatch. It alone joins the pure machine, the journal and the executors.
//!
//! Law of this room: nothing leaves before it is durable. Inputs that arrive together are appended and applied one after the other, with what
//! each gave; then there is one commit; only then are effects started, cancelled, and watchers told.

mod contract;
mod event;
mod past;
mod replay;
mod run;
mod running;
mod signals;
mod telling;
mod timers;

pub use contract::{Core, DriverError, Handle, Heartbeat, Options, RunEnd};
pub use event::Event;
pub use past::{Verified, compatible, retell, round_begins, verify};
pub use run::Driver;
pub use signals::listen;
pub use telling::past_events;
