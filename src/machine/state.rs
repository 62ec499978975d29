//! The machine's state. Only the transitions of this room change it.

use super::contract::{Command, EffectId, Place, TimerId};
use super::facts::Facts;
use super::ledger::Ledger;
use super::prepare::Prepared;
use super::units::{Due, Unit};
use crate::agent::Failure;
use crate::base::Timestamp;
use crate::cell::Finished;
use crate::check::plan::Plan;
use crate::model::TypeRef;
use crate::rule::Scope;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A value on its way: what it is, and who made it.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// `Type:role@seq.rN`, with `#k` behind it for the k-th of one type.
    pub name: String,
    pub type_ref: TypeRef,
    pub value: Arc<Value>,
    /// Cell that made the value; a relay passes it on.
    pub origin: Option<usize>,
}

/// A token that reached an entry.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub token: Token,
    /// Sending cell; `None` for parameters.
    pub from: Option<usize>,
    /// Order of everything, of the delivery.
    pub place: Place,
    /// Released by a loop: fills the entry in this round only.
    pub looped: bool,
}

/// Where a cell stands in the present round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    /// Not decided yet.
    #[default]
    Open,
    /// An attempt (or what follows a failed one) is under way.
    Running,
    /// Succeeded.
    Done,
    /// Failed for good.
    Failed,
    /// Was not active, or was skipped after a stop.
    Idle,
}

/// One cell's part of the state.
#[derive(Default)]
pub(super) struct CellState {
    pub status: Status,
    /// Active in this round.
    pub active: bool,
    /// Its turn came while another cell held its `exclusive` name: it counts as started.
    pub waits: bool,
    /// Per slot: what was delivered this round.
    pub arrived: Vec<Vec<Arrival>>,
    /// Per slot: the newest complete set of earlier rounds or deposits.
    pub retained: Vec<Option<Vec<Arrival>>>,
    /// Per slot: what the present attempts read.
    pub filled: Vec<Option<Vec<Arrival>>>,
    pub attempt: u32,
    /// Items of an `each` cell, with what each left behind.
    pub items: Option<Items>,
    /// Changes of state by programs that followed failed attempts.
    pub kept: Map<String, Value>,
    /// The failure being handled.
    pub failure: Option<Failure>,
    /// In a simulation: flows whose `when` does not hold.
    pub withheld: Vec<String>,
    /// Notes given in this round.
    pub notes: u32,
}

/// Progress of an `each` cell.
pub(super) struct Items {
    pub values: Vec<Value>,
    pub next: usize,
    pub done: BTreeMap<usize, Finished>,
    pub failed: BTreeMap<usize, Failure>,
    /// Risk flags by item, told when all are over.
    pub risks: BTreeMap<usize, Vec<String>>,
    /// When the attempt's time is up.
    pub deadline: Timestamp,
}

/// A feedback value waiting for the round's end.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub flow: usize,
    /// Per part of the flow.
    pub parts: Vec<Vec<Token>>,
}

/// What a role remembers of one round still under way.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub role: usize,
    pub place: Place,
    /// The cell whose success made it known.
    pub by: usize,
    pub token: Token,
}

/// The run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was applied yet.
    Fresh,
    /// `on.start` runs.
    Starting,
    /// Rounds run.
    Rounds,
    /// The run was given up; `on.failure` runs.
    Aborting,
    /// `on.end` runs, or last records are awaited.
    Closing,
    /// Over.
    Ended,
}

/// A requested stop in the order of everything.
#[derive(Clone, Debug)]
pub(super) struct Requested {
    /// A stop from `on.failure` outranks the others.
    pub from_failure: bool,
    pub place: Place,
    /// Cell that asked; `None` for a program.
    pub cell: Option<usize>,
    pub result: String,
    pub reason: Option<String>,
}

/// The pure machine of one run.
pub struct Machine {
    pub(super) plan: Arc<Plan>,
    pub(super) prepared: Prepared,
    pub(super) simulated: bool,
    pub(super) project: Value,
    pub(super) now: Timestamp,
    pub(super) phase: Phase,
    pub(super) round: u32,
    pub(super) cells: Vec<CellState>,
    pub(super) held: Vec<Held>,
    /// Per role: the newest round's values of each type, of earlier rounds.
    pub(super) memory: Vec<BTreeMap<TypeRef, Vec<(Place, Token)>>>,
    /// Of this round.
    pub(super) recent: Vec<Remembered>,
    /// State at the round's start.
    pub(super) state: Map<String, Value>,
    /// Changes of this round: (cell, names).
    pub(super) patches: BTreeMap<usize, Map<String, Value>>,
    pub(super) units: BTreeMap<String, Unit>,
    /// What goes on by itself.
    pub(super) due: VecDeque<Due>,
    /// How often the run went on after its process ended.
    pub(super) resumes: u32,
    pub(super) pending: BTreeMap<EffectId, String>,
    /// Records that nobody waits for but the end.
    pub(super) loose: BTreeSet<EffectId>,
    pub(super) timers: BTreeMap<TimerId, u64>,
    pub(super) stops: Vec<Requested>,
    /// The failure that ends the run.
    pub(super) failure: Option<(Place, String)>,
    pub(super) facts: Facts,
    pub(super) ledger: Ledger,
    pub(super) base: Scope,
    pub(super) out: Vec<Command>,
    /// Result decided, and why.
    pub(super) ending: Option<(String, Option<String>)>,
}

impl Machine {
    /// A machine that interprets its cells.
    #[must_use]
    pub fn new(plan: Arc<Plan>, prepared: Prepared) -> Self {
        Self::build(plan, prepared, false)
    }

    /// A machine whose cells end as [`super::Input::Scripted`] says.
    #[must_use]
    pub fn simulated(plan: Arc<Plan>, prepared: Prepared) -> Self {
        Self::build(plan, prepared, true)
    }

    fn build(plan: Arc<Plan>, prepared: Prepared, simulated: bool) -> Self {
        let net = plan.net();
        let cells = net
            .cells
            .iter()
            .map(|cell| CellState {
                arrived: vec![Vec::new(); cell.slots.len()],
                retained: vec![None; cell.slots.len()],
                ..CellState::default()
            })
            .collect();
        let memory = vec![BTreeMap::new(); net.roles.len()];
        let state = plan.workflow().execution.state.clone();
        Self {
            prepared,
            simulated,
            project: Value::Null,
            now: Timestamp::default(),
            phase: Phase::Fresh,
            round: 0,
            cells,
            held: Vec::new(),
            memory,
            recent: Vec::new(),
            state,
            patches: BTreeMap::new(),
            units: BTreeMap::new(),
            due: VecDeque::new(),
            resumes: 0,
            pending: BTreeMap::new(),
            loose: BTreeSet::new(),
            timers: BTreeMap::new(),
            stops: Vec::new(),
            failure: None,
            facts: Facts::default(),
            ledger: Ledger::default(),
            base: Scope::new(),
            out: Vec::new(),
            ending: None,
            plan,
        }
    }

    /// The plan being run.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What was decided before the run began: parameters, ids, seed.
    #[must_use]
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Effects asked for whose outcome has not come yet.
    #[must_use]
    pub fn pending(&self) -> Vec<EffectId> {
        self.pending.keys().chain(&self.loose).cloned().collect()
    }

    /// Timers that are set: identity and full delay in milliseconds.
    #[must_use]
    pub fn pending_timers(&self) -> Vec<(TimerId, u64)> {
        self.timers.iter().map(|(id, ms)| (id.clone(), *ms)).collect()
    }

    /// True when the run is over.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.phase == Phase::Ended
    }
}
