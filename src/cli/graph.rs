//! `rsf graph`: a document as a picture, in a language that other programs draw.

use super::{Status, complain, find::find, print};
use crate::base::Severity;
use crate::model::Workflow;
use crate::report::graph::{dot, mermaid};

/// Language of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// Mermaid, which many Markdown viewers draw.
    #[default]
    Mermaid,
    /// Graphviz.
    Dot,
}

/// Print a workflow's roles, steps and flows as a graph.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The workflow: a file, or the name of a built-in one.
    #[arg(value_name = "WORKFLOW")]
    pub workflow: String,

    /// Language of the picture.
    #[arg(long, value_enum, default_value_t)]
    pub format: Language,
}

/// The picture's text.
#[must_use]
pub fn render(workflow: &Workflow, language: Language) -> String {
    match language {
        Language::Mermaid => mermaid(workflow),
        Language::Dot => dot(workflow),
    }
}

/// Prints the picture; a document that is rejected is drawn as far as it goes, with its findings on standard error.
pub fn run(args: &Args) -> Status {
    match find(&args.workflow, None) {
        Err(message) => {
            complain(&format!("rsf: {message}"));
            Status::Usage
        }
        Ok(loaded) => {
            let rejected = loaded.problems.iter().any(|problem| problem.severity == Severity::Error);
            if rejected {
                super::validate::show(&loaded);
            }
            print(&render(&loaded.workflow, args.format));
            if rejected { Status::Rejected } else { Status::Ok }
        }
    }
}
