//! The scripted model: answers read from a file, chosen by who asks and what was asked. A pure function of the request, so that a run
//! that goes on after a crash gets the same answers. An unexpected question is an error that shows it.

mod choose;
mod fill;
mod load;

pub(super) use load::Script;
