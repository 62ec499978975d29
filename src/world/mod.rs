//! Doors to the world: what the floors above use in place of the operating system.
//!
//! Nothing here knows a workflow.

mod cancel;
mod clock;

pub use cancel::Cancel;
pub use clock::{Clock, SystemClock};
