//! An agent session as a pure sub-machine: what to ask the model, which tools to call, when it is done.
//!
//! It never talks to a model itself: it gives requests and is fed replies. It does no I/O and reads no clock.

mod answer;
mod dialogue;
mod reader;
mod record;
mod session;

pub use dialogue::*;
pub use reader::{ReadFault, Repair, read_json};
pub use record::SessionRecord;
pub(crate) use session::refusals;
pub use session::{Next, OutputContract, Session, SessionSpec};
