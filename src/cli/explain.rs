//! `rsf explain`: the manual of a finding's code.

use super::{Status, complain, print};
use crate::check;

/// Explain the code of a finding, such as RSF301; without a code, list them all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The code
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

pub(super) fn run(args: &Args) -> Status {
    let Some(code) = &args.code else {
        for (code, title) in check::codes() {
            print(&format!("{code}  {title}\n"));
        }
        return Status::Ok;
    };
    match check::explain(code) {
        Some(text) => {
            print(&format!("{}\n", text.trim_end()));
            Status::Ok
        }
        None => {
            complain(&format!("rsf: there is no code `{}`; `rsf explain` lists them all", code.escape_debug()));
            Status::Usage
        }
    }
}
