//! The core document (roles, steps, cells, flows) and the root keys of the execution part.

use super::{Agent, Op, Pointer, Policy, Table, Term};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// `MAJOR.MINOR`, compared as two integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

/// A whole workflow document.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    /// Format version.
    pub version: Version,
    /// What the workflow is for.
    pub description: String,
    /// The columns, in document order.
    pub roles: Vec<Role>,
    /// The rows, in document order (ascending `seq` once checked).
    pub steps: Vec<Step>,
    /// The flows, in document order.
    pub flows: Vec<Flow>,
    /// Root keys of the execution part.
    pub execution: Execution,
}

/// A column of the table.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// Unique name.
    pub id: String,
    /// Who this is.
    pub description: String,
    /// Defaults of the role's agent operations, and its permissions.
    pub agent: Option<Agent>,
    /// Where it stands.
    pub at: Pointer,
}

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Position in the round, from 1.
    pub seq: u32,
    /// What happens in this row.
    pub description: String,
    /// Time-out from the description's annotation, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The cells, in document order.
    pub cells: Vec<Cell>,
    /// Where it stands.
    pub at: Pointer,
}

/// One task of one role in one step.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The column.
    pub role: String,
    /// The row.
    pub seq: u32,
    /// Short title.
    pub task: String,
    /// Prose.
    pub description: String,
    /// Entries as listed (duplicates are counts).
    pub inputs: Vec<Entry>,
    /// Entries as listed.
    pub outputs: Vec<Entry>,
    /// What the cell does; `None` in a plain document or a relay.
    pub run: Option<Vec<Op>>,
    /// Narrows the role's permissions.
    pub permissions: Option<Policy>,
    /// `timeout`, a template that gives `300s`, `5m`, `2h` or a number of seconds.
    pub timeout: Option<String>,
    /// When and how often a failed attempt is tried again.
    pub retry: Option<Retry>,
    /// Operations run after the last failed attempt.
    pub recover: Vec<Op>,
    /// Expression giving the items the cell runs over.
    pub each: Option<String>,
    /// Cells sharing this name never overlap.
    pub exclusive: Option<String>,
    /// Where it stands.
    pub at: Pointer,
}

/// An entry of `in` or `out`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The parsed term.
    pub term: Term,
    /// Where it stands.
    pub at: Pointer,
}

/// `retry` of a cell.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// Further attempts after the first: a number, or a template that gives one.
    pub max: Value,
    /// Time before the second attempt, doubled for each further one; none unless given. A template as in `timeout`.
    pub backoff: Option<String>,
    /// Kinds of failure that are retried; empty means all.
    pub on: Vec<String>,
}

/// `sync` or `async`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowKind {
    /// Within one role.
    #[default]
    Sync,
    /// The receiver is spawned afresh.
    Async,
}

/// `{role, seq}`, one end of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    /// Role id.
    pub role: String,
    /// Step number.
    pub seq: u32,
}

/// A typed flow between two cells.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Unique name.
    pub id: String,
    /// Spawned afresh or not.
    pub kind: FlowKind,
    /// Sending cell.
    pub from: End,
    /// Receiving cell.
    pub to: End,
    /// Terms that travel together.
    pub what: Vec<Term>,
    /// Prose.
    pub description: String,
    /// Time-out from the annotation, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `"loop": true` or a loop annotation.
    pub looping: bool,
    /// A feedback annotation (or a loop mark) was given.
    pub feedback_marked: bool,
    /// Condition on delivery, an expression.
    pub when: Option<String>,
    /// Where it stands.
    pub at: Pointer,
}

/// How cells of a round overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// The next step starts when the present one is done.
    #[default]
    Steps,
    /// A cell starts when the flows into it are settled.
    Flows,
}

/// The root keys of the execution part; absent ones are empty.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// JSON Schema of the parameters.
    pub params: Option<Value>,
    /// Words that start the workflow.
    pub triggers: Vec<String>,
    /// What must hold before anything is written (`commands`, `git`, `python`, …), as written.
    pub requires: Map<String, Value>,
    /// Default configuration.
    pub config: Value,
    /// Name → merge patch over `config`, `limits` and defaults of `params`.
    pub profiles: Map<String, Value>,
    /// Templates of `interaction_id`, `loop_id`, `session_id`.
    pub ids: BTreeMap<String, String>,
    /// Documents the workflow hands over or stores.
    pub types: BTreeMap<String, TypeDef>,
    /// Initial state.
    pub state: Map<String, Value>,
    /// Decision tables, inline or by path.
    pub rules: BTreeMap<String, TableRef>,
    /// What must hold of config, params and state.
    pub constraints: Vec<Constraint>,
    /// Judges that must differ from the judged.
    pub independence: Vec<Independence>,
    /// Programs by event: `accept`, `start`, `resume`, `attempt`, `failure`, `end`.
    pub on: BTreeMap<String, Vec<Op>>,
    /// The role whose permissions bind the programs.
    pub on_as: Option<String>,
    /// What progress and reports show beside the table.
    pub view: Vec<View>,
    /// Expression: cost of the next round, in millionths.
    pub estimate: Option<String>,
    /// Expression: cost of one model exchange, in millionths; in scope `role`, `model`, `tokens`, `config`.
    pub price: Option<String>,
    /// Where log records go and what they hold.
    pub logs: Option<Logs>,
    /// Result name → exit code.
    pub results: BTreeMap<String, u8>,
    /// Limits by name, as written.
    pub limits: Map<String, Value>,
    /// Overlap of cells.
    pub ordering: Ordering,
    /// Types a parent workflow receives.
    pub outputs: Vec<String>,
    /// Run directory inside the project; `.rsf` unless given.
    pub dir: Option<String>,
}

/// How a stored document is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreFormat {
    /// Pretty-printed JSON and a newline.
    #[default]
    Json,
    /// The string as it is.
    Text,
}

/// Who a stored document belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The run; moved away when the next run starts.
    #[default]
    Run,
    /// The project; stays.
    Project,
}

/// One entry of `types`.
#[derive(Clone, Debug, Default)]
pub struct TypeDef {
    /// Schema path, or one per sender role; the key `""` is the one for every role.
    pub schema: BTreeMap<String, String>,
    /// Path templates the engine writes the value to.
    pub store: Vec<String>,
    /// How it is written.
    pub format: StoreFormat,
    /// Whose it is.
    pub keep: Keep,
    /// Where it stands.
    pub at: Pointer,
}

/// A decision table given inline or by path.
#[derive(Clone, Debug)]
pub enum TableRef {
    /// Written in the document.
    Inline(Table),
    /// Path from the bundle's root.
    Path(String),
}

/// `{assert, message}`.
#[derive(Clone, Debug, Default)]
pub struct Constraint {
    /// Expression that must be true.
    pub assert: String,
    /// Template shown when it is not.
    pub message: String,
    /// Where it stands.
    pub at: Pointer,
}

/// Judges that must differ from the judged one.
#[derive(Clone, Debug, Default)]
pub struct Independence {
    /// The judging roles.
    pub roles: Vec<String>,
    /// The judged role.
    pub from: String,
    /// What must differ: `model`, `session`.
    pub differ: Vec<String>,
    /// Types or fields (`Type.field`) the judges do not receive.
    pub blind_to: Vec<String>,
    /// Where it stands.
    pub at: Pointer,
}

/// One line of `view`.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Caption.
    pub label: String,
    /// Expression.
    pub value: String,
    /// Evaluated at each round's end (true) or once at the run's end as well as now (false).
    pub per_round: bool,
    /// `value`, `curve`, `table` or `bars`.
    pub shown_as: String,
}

/// `logs` of the root.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// Path template of the JSON lines file; the text file has the same path with `.log`.
    pub path: String,
    /// Field → template; in scope: `log` (what the operation gave), `role`, `session`, `ids`, `round`, `now`.
    pub record: Map<String, Value>,
    /// Template of the line for people; in scope `record`.
    pub text: String,
}
