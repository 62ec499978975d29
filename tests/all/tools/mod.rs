//! Tools through the registry: arguments, the gate, and what each tool answers.

mod desk;

mod calls;
mod checkouts;
mod files;
#[cfg(target_os = "linux")]
mod hostile;
mod numbers;
mod permissions;
mod programs;
mod repository;
