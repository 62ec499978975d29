//! Ground floor: spans, source files, problems, limits, digests, time and money as plain data.
//!
//! Everything above may import this room; it imports nothing of the crate. It does no I/O and reads no clock.

mod bounds;
mod digest;
pub mod limits;
mod money;
mod names;
mod problem;
mod source;
mod time;

pub use bounds::{Limits, duration_ms};
pub use digest::{canonical_json, digest_bytes, digest_json};
pub use money::{Money, cost};
pub use names::{closest, fold_hint, slip};
pub use problem::{Label, Problem, Severity};
pub use source::{FileId, SourceFile, Sources, Span};
pub use time::Timestamp;
