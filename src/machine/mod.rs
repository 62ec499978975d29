//! The pure machine: a run as a fold over inputs.
//!
//! Contract: one [`Input`] is applied, then every [`Command`] it gave is drained before the next input. Both enums are closed; whoever
//! drives must handle each. Time, randomness and identities come in as inputs. The same inputs in the same order give the same commands,
//! byte for byte; inputs of parallel cells may come in any order and give the same canonical record.
//!
//! One transition per file: `apply` takes an input, `schedule` starts cells, `fill` fills entries, `attempt` and `programs` follow one
//! interpretation, `settle` takes a success or a failure, `deliver` moves values along flows, `rounds` begins and ends rounds.

mod abort;
mod apply;
mod attempt;
mod contract;
mod deliver;
mod facts;
mod fill;
mod ledger;
mod prepare;
mod programs;
mod rounds;
mod schedule;
mod scope;
mod settle;
mod state;
mod units;

pub use contract::*;
pub use prepare::{Prepared, Refusal, prepare};
pub use state::Machine;
