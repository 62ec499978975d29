//! The journal of a run: what went into the machine and what it asked for, so that a run is a fold over its inputs (docs/journal.md).
//!
//! One append-only, hash-chained file of JSON lines per run, large values beside it as blobs named by their digest, one writer with group
//! commit, any number of readers while it grows. This room never invents a record: what cannot be read is named, cut off at the tail or refused.

mod blob;
mod canonical;
mod delta;
mod disk;
mod error;
mod line;
mod lock;
mod reader;
mod record;
mod scan;
mod writer;

pub use blob::{BLOB_TEXT_BYTES, BLOB_TREE_BYTES, Blobs};
pub use canonical::canonical;
pub use delta::{full_requests, request_digest};
pub use disk::{Disk, Durability, FileDisk, MemoryDisk};
pub use error::JournalError;
pub use lock::{Holder, RunLock};
pub use reader::Reader;
pub use record::{Entry, FORMAT, Header, Record, RequestRecord};
pub use writer::{Journal, Opened, run_folder};
