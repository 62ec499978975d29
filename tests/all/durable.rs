//! The crash matrix: a whole run of the flagship workflow is killed (SIGKILL) at each of its fault points, resumed, and compared with one that
//! nobody disturbed. `RSF_CRASH_POINTS=all` (or `from..to`, or `every:n`) tries more than the sample of an ordinary test run.
#![cfg(target_os = "linux")]

mod deaths;
mod disk;
mod matrix;
mod seeing;
mod trial;

use trial::{Base, Death, Trial};
