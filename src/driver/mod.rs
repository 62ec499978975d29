//! The driver: receive → append → apply → drain → dispatch. It alone joins the pure machine, the journal and the executors.

mod event;

pub use event::Event;
