//! `rsf simulate`: runs a document on paper, with drawn or scripted outcomes in place of effects.

use super::load::{self, Loaded};
use super::{Status, complain, print};
use crate::base::Severity;
use crate::check::plan::{Plan, Settings};
use crate::machine::Scripted;
use crate::simulate::{Odds, Script, random_run, run as run_script, trace};
use crate::{model, syntax};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Run a document without effects: outcomes are drawn by given odds, or come from a script.
///
/// Prints how runs end, in how many rounds, and which cells and flows were never seen; with `--script`, the trace of the one run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The document
    file: String,
    /// Random runs
    #[arg(long, default_value_t = 1000)]
    runs: u32,
    /// Seed of the first run; each further one has the next number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Chance of an outcome: `role@seq.Alternative=0.7`, `role@seq.stop=0.1`, `role@seq.fail=0.01`, `FLOW=0.5` (its `when` holds)
    #[arg(long = "p", value_name = "WHAT=CHANCE", value_parser = chance)]
    odds: Vec<(String, f64)>,
    /// Rounds after which a run is cut off; the document's limit unless given
    #[arg(long)]
    rounds: Option<u32>,
    /// Outcomes by cell from a file: `{"outcomes": {"role@seq": [{"emit": {…}}, {"stop": "R"}, {"fail": true}]}, "limit": 5}`
    #[arg(long)]
    script: Option<PathBuf>,
}

fn chance(text: &str) -> Result<(String, f64), String> {
    let (name, chance) = text.split_once('=').ok_or("write WHAT=CHANCE, e.g. judge@3.Pass=0.7")?;
    let chance: f64 = chance.parse().map_err(|_| "a chance is a number from 0 to 1")?;
    if (0.0..=1.0).contains(&chance) { Ok((name.to_owned(), chance)) } else { Err("a chance is a number from 0 to 1".to_owned()) }
}

pub(super) fn run(args: &Args) -> Status {
    let loaded = match load::load(&args.file) {
        Ok(loaded) => loaded,
        Err(error) => {
            complain(&format!("rsf: {error}"));
            return Status::Usage;
        }
    };
    if loaded.problems.iter().any(|problem| problem.severity == Severity::Error) {
        super::validate::show(&loaded);
        return Status::Rejected;
    }
    match simulate(args, loaded) {
        Ok(text) => {
            print(&text);
            Status::Ok
        }
        Err(message) => {
            complain(&format!("rsf: {message}"));
            Status::Usage
        }
    }
}

fn simulate(args: &Args, loaded: Loaded) -> Result<String, String> {
    let script = args.script.as_ref().map(|path| read_script(path)).transpose()?;
    let limit = args.rounds.map(u64::from).or(script.as_ref().and_then(|(_, limit)| *limit));
    let plan = Arc::new(seal(loaded, limit)?);
    if let Some((script, _)) = script {
        return Ok(trace(&run_script(plan, &script, |_| 0)).join("\n") + "\n");
    }
    let odds = Odds(args.odds.iter().cloned().collect());
    if let Some(name) = odds.unknown(&plan).first() {
        return Err(format!(
            "nothing has the chance `{name}`: write role@seq.Alternative, role@seq.stop, role@seq.fail, or a flow that has a `when`"
        ));
    }
    Ok(many(args, &plan, &odds))
}

fn seal(loaded: Loaded, rounds: Option<u64>) -> Result<Plan, String> {
    let document = loaded.tree.root.as_ref().map(syntax::Node::to_json).unwrap_or_default();
    let mut settings = Settings {
        config: loaded.workflow.execution.config.clone(),
        limits: loaded.workflow.execution.limits.clone(),
        ..Settings::default()
    };
    if let Some(rounds) = rounds {
        settings.limits.insert("rounds".to_owned(), Value::from(rounds));
    }
    let tables = |text: &str| {
        let (tree, _) = syntax::parse(text.as_bytes(), crate::base::FileId(0));
        tree.root.as_ref().map(|root| model::decode_table(root, crate::base::FileId(0), "").0).ok_or_else(|| "no table".to_owned())
    };
    Plan::seal(loaded.workflow, &document, &loaded.bundle.files, settings, &tables)
        .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))
}

fn read_script(path: &std::path::Path) -> Result<(Script, Option<u64>), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let outcomes = value.get("outcomes").and_then(Value::as_object).ok_or_else(|| format!("{}: `outcomes` is missing", path.display()))?;
    let one = |value: &Value| Scripted {
        emit: value.get("emit").and_then(Value::as_object).map(|map| map.keys().cloned().collect()),
        stop: value.get("stop").and_then(Value::as_str).map(str::to_owned),
        fail: value.get("fail").and_then(Value::as_bool).unwrap_or(false),
        withhold: value
            .get("withhold")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|v| Some(v.as_str()?.to_owned()))
            .collect(),
    };
    let script = outcomes.iter().map(|(cell, list)| (cell.clone(), list.as_array().into_iter().flatten().map(one).collect())).collect();
    Ok((script, value.get("limit").and_then(Value::as_u64)))
}

fn many(args: &Args, plan: &Arc<Plan>, odds: &Odds) -> String {
    let mut results: BTreeMap<String, (u32, u64)> = BTreeMap::new();
    let mut rounds: Vec<u32> = Vec::new();
    let (mut cells, mut flows) = (BTreeSet::new(), BTreeSet::new());
    for index in 0..args.runs.max(1) {
        let seed = args.seed.wrapping_add(u64::from(index));
        let outcome = random_run(plan, odds, seed);
        results.entry(outcome.result).or_insert((0, seed)).0 += 1;
        rounds.push(outcome.rounds);
        cells.extend(outcome.cells);
        flows.extend(outcome.flows);
    }
    rounds.sort_unstable();
    let total = rounds.len();
    let at = |percent: usize| rounds.get((total * percent / 100).min(total.saturating_sub(1))).copied().unwrap_or(0);
    let mut text = format!("{total} runs, seeds {} to {}\n", args.seed, args.seed.wrapping_add(u64::from(args.runs.max(1)) - 1));
    for (result, (count, seed)) in &results {
        let percent = f64::from(*count) * 100.0 / f64::from(args.runs.max(1));
        let _ = writeln!(text, "  {}  {percent:.1} %  (first with --seed {seed} --runs 1)", crate::report::text::one_line(result));
    }
    let _ = writeln!(text, "rounds: median {}, 90 % within {}, most {}", at(50), at(90), at(100));
    let net = plan.net();
    let unseen: Vec<&str> = net.cells.iter().map(|cell| cell.id.as_str()).filter(|id| !cells.contains(*id)).collect();
    let silent: Vec<&str> = net.flows.iter().map(|flow| flow.id.as_str()).filter(|id| !flows.contains(*id)).collect();
    for (what, seen, all, missing) in [("cells", cells.len(), net.cells.len(), unseen), ("flows", flows.len(), net.flows.len(), silent)] {
        let missing =
            if missing.is_empty() { String::new() } else { format!("; never: {}", crate::report::text::one_line(&missing.join(", "))) };
        let _ = writeln!(text, "{what}: {seen} of {all}{missing}");
    }
    text
}
