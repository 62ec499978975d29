//! Doors to the world: the clock, files of a confined folder, processes, and git.
//!
//! Everything that touches the machine goes through here, and nothing here knows what it is asked for: no workflow, no permission, no
//! tool. Architecture invariant: a door answers with a value or a [`Fault`]; it never panics, never hangs without a bound, and never
//! follows a path out of the folder it was opened on.

mod cancel;
mod capture;
mod clock;
mod crash;
mod fault;
mod files;
pub mod git;
mod lock;
mod paths;
mod process;
pub mod project;
mod sandbox;
mod survivors;
mod walk;

pub use cancel::Cancel;
pub use capture::{Captured, clean_text};
pub use clock::{Clock, FixedClock, SystemClock};
pub use crash::{crash_point, torn_point};
pub use fault::{Fault, FaultKind};
pub use files::{Kind, Root};
pub use lock::Lock;
pub use paths::{DRAFTS, RelPath, TEMPORARY_PREFIX, is_git_component};
pub use process::{Finished, ProcessSpec, find_program, inherited_env, run_process};
pub use sandbox::{Confinement, Support, support};
pub use survivors::end_users_of;
pub use walk::{Listing, compile_globs};
