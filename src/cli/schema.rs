//! `rsf schema`: the JSON Schema of documents, for editors.

use super::{Status, print};
use crate::model;

/// Print the JSON Schema of workflow documents, for editors.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Status {
    print(model::document_schema());
    Status::Ok
}
