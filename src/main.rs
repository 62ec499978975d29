//! The program: arguments in, exit status out.

use clap::Parser;

fn main() -> rsf::cli::Status {
    rsf::cli::Cli::parse().run()
}
