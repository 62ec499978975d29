//! `rsf logs`: the log records of a run, from its journal, so that they are there whatever became of the log files.

use super::archive::{choose, project};
use super::ready::{Refused, refuse};
use super::{Status, print};
use crate::journal::{Entry, Reader, Record};
use crate::report::text::one_line;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// How often a growing journal is looked at.
const PAUSE: Duration = Duration::from_millis(300);
/// Levels from the least to the most urgent.
const LEVELS: [&str; 4] = ["DEBUG", "INFO", "WARNING", "ERROR"];

/// Show the log records of a run; the newest one unless named.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// Records of this agent or role only.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Records of this level and the more urgent ones.
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS, ignore_case = true)]
    pub level: Option<String>,
    /// Records with this `interaction_id` only.
    #[arg(long, value_name = "ID")]
    pub interaction_id: Option<String>,
    /// Go on showing records as they come, until the run is over.
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// The records themselves, one JSON object per line.
    #[arg(long)]
    pub json: bool,
}

/// Shows them.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let found = choose(&project(&args.repo)?, args.run.as_deref())?;
    let broken = |error: crate::journal::JournalError| refuse(Status::Code(1), &error.to_string());
    let mut reader = Reader::open(&found.folder).map_err(broken)?;
    loop {
        let records = reader.poll().map_err(broken)?;
        for record in &records {
            if let Some(line) = line(args, record, &reader) {
                print(&line);
            }
        }
        let over = records.iter().any(|record| matches!(record.entry, Entry::End { .. }));
        if over || !args.follow || (records.is_empty() && !found.is_live()) {
            return Ok(Status::Ok);
        }
        std::thread::sleep(PAUSE);
    }
}

fn line(args: &Args, record: &Record, reader: &Reader) -> Option<String> {
    let Entry::Request(request) = &record.entry else { return None };
    let log = reader.blobs().expand(request.request.get("log")?.clone()).ok()?;
    let fields = log.get("record")?.as_object()?;
    if !wanted(args, fields) {
        return None;
    }
    let text = log.get("text").and_then(Value::as_str).unwrap_or_default();
    Some(if args.json || text.is_empty() { format!("{}\n", Value::Object(fields.clone())) } else { format!("{}\n", one_line(text)) })
}

fn wanted(args: &Args, fields: &Map<String, Value>) -> bool {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let rank = |level: &str| LEVELS.iter().position(|known| known.eq_ignore_ascii_case(level));
    let by = args.agent.as_deref().is_none_or(|agent| text("agent") == agent || text("role") == agent);
    let id = args.interaction_id.as_deref().is_none_or(|id| text("interaction_id") == id);
    let level = args.level.as_deref().is_none_or(|level| rank(text("level")) >= rank(level));
    by && id && level
}
