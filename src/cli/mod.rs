//! Commands: one file each, with its arguments and its function.

pub mod demo;
pub mod graph;
pub mod init;
pub mod params;
pub mod place;
pub mod reference;
pub mod resume;
pub mod run;
pub mod settings;
