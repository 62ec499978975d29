//! The pure machine: a run as a fold over inputs.
//!
//! Contract: one [`Input`] is applied, then every [`Command`] it gave is drained before the next input. Both enums are closed; whoever
//! drives must handle each. Time, randomness and identities come in as inputs. The same inputs in the same order give the same commands,
//! byte for byte; inputs of parallel cells may come in any order and give the same canonical record.

mod contract;

pub use contract::*;
