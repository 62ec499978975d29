//! `rsf status`: where a run stands, also while it runs, from another terminal.

use super::archive::{Told, choose, project};
use super::find::find;
use super::ready::Refused;
use super::runs::state;
use super::{Status, print};
use crate::base::Timestamp;
use crate::driver::past_events;
use crate::journal::{Entry, RunLock};
use crate::machine::NoteEvent;
use crate::report::board::Board;
use crate::report::{Sheet, text};
use crate::world::{Clock, SystemClock};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Size of the table of cells.
const SCREEN: (usize, usize) = (110, 40);

/// Say where a run stands; the newest one unless named.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// The project.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// As a JSON object.
    #[arg(long)]
    pub json: bool,
    /// A folder of further workflows whose names may be used.
    #[arg(long, value_name = "DIR")]
    pub workflows: Option<PathBuf>,
}

/// Shows it.
pub fn run(args: &Args) -> Status {
    attempt(args).unwrap_or_else(|Refused(status)| status)
}

fn attempt(args: &Args) -> Result<Status, Refused> {
    let root = project(&args.repo)?;
    let found = choose(&root, args.run.as_deref())?;
    let told = found.told()?;
    let (state, (round, running)) = (state(&found, &told), told.place());
    let holder = if state == "running" { RunLock::holder(&found.dir).ok().flatten() } else { None };
    let at = |record: Option<&crate::journal::Record>| record.map_or(Timestamp(0), |record| record.at);
    let (began, last) = (at(told.records.first()), at(told.records.last()));
    if args.json {
        let reason = told.end().and_then(|(_, reason)| reason);
        print(&format!(
            "{}\n",
            json!({"run": found.name, "state": state, "reason": reason, "round": round, "running": running, "since": began.rfc3339(),
                "last": last.rfc3339(), "records": told.records.len(), "view": view(&told), "workflow": told.header.workflow})
        ));
        return Ok(Status::Ok);
    }
    let mut out = format!("run {} of {}: {state}", text::one_line(&found.name), text::one_line(&told.header.workflow));
    if let Some((_, Some(reason))) = told.end() {
        let _ = write!(out, " ({})", text::one_line(reason));
    }
    let until = if holder.is_some() { SystemClock.now() } else { last };
    let took = u64::try_from(until.0.saturating_sub(began.0)).unwrap_or(0);
    let _ = writeln!(
        out,
        "\nbegan {}, {} until {}, {} records, round {round}",
        began.rfc3339(),
        text::duration(took),
        if holder.is_some() { "now" } else { "its last record" },
        told.records.len()
    );
    if let Some(holder) = holder {
        let _ = writeln!(out, "held by {}", text::one_line(&holder));
    } else if state == "unfinished" {
        let _ = writeln!(out, "`rsf resume {}` goes on with it", text::one_line(&found.name));
    }
    for (label, value) in view(&told) {
        let _ = writeln!(out, "{}: {}", text::one_line(&label), text::clip(&text::one_line(&crate::report::view::plain(&value)), SCREEN.0));
    }
    out.push_str(&table(args, &told));
    print(&out);
    Ok(Status::Ok)
}

/// The values of the document's `view` as they were shown last.
fn view(told: &Told) -> Map<String, Value> {
    let mut views = told.records.iter().rev().filter_map(|record| match &record.entry {
        Entry::Note(note) => match &note.event {
            NoteEvent::View { values, .. } => Some(values.clone()),
            _ => None,
        },
        _ => None,
    });
    views.next().unwrap_or_default()
}

/// The table of cells, where the document can still be found.
fn table(args: &Args, told: &Told) -> String {
    let Ok(loaded) = find(&told.header.workflow, args.workflows.as_deref()) else { return String::new() };
    let mut board = Board::new(Sheet::of(&loaded.workflow));
    past_events(&told.records, "", |_| 0).iter().for_each(|event| board.event(event));
    board.draw(SCREEN.0, SCREEN.1).into_iter().map(|line| line + "\n").collect()
}
