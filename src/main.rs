//! The program: arguments in, exit status out.

use clap::Parser;

fn main() -> rsf::cli::Status {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    // Agents run hooks at every call of a tool: no other argument is looked at before.
    rsf::cli::hook::event(&args).unwrap_or_else(|| rsf::cli::Cli::parse().run())
}
