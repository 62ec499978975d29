//! Hooks of coding agents: a governor's table applied to sessions that run elsewhere.
//!
//! An agent starts one process per event and hands it JSON on standard input. [`run`] answers with nothing, or with one JSON object. A fault
//! of ours is a sentence for standard error and never more: it must not keep a person from working with their agent.
//!
//! Architecture invariant: what is announced was recorded before. A stop whose count cannot be recorded is left in peace, so that no session
//! can be held back twice at one count.

mod agent;
mod check;
mod event;
mod payload;
mod project;
mod settings;
mod shell;
mod simulate;
mod state;
mod table;

pub use agent::{Agent, Event, Scope};
pub use check::{Finding, findings};
pub use event::{Call, Reply, run};
pub use payload::Payload;
pub use settings::{Edit, SettingsError, install, registered, uninstall};
pub use shell::{command_of, is_ours, words};
pub use simulate::simulate;
pub use table::{Rules, TABLE, load};
