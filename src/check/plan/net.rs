//! The round net: cells, slots and flows with every name resolved to an index. Built once from a checked document.
//!
//! Cells are ordered by (seq, role order): the index of a cell is its place in the order of everything. Never holds run-time data.

use crate::model::{Cell, Entry, Flow, Ordering, Term, Workflow};
use std::collections::{BTreeMap, BTreeSet};

/// The net of one document.
#[derive(Clone, Debug)]
pub struct Net {
    /// Role ids in document order.
    pub roles: Vec<String>,
    /// Cells by (seq, role order).
    pub cells: Vec<NetCell>,
    /// Flows in document order.
    pub flows: Vec<NetFlow>,
    /// How cells overlap.
    pub ordering: Ordering,
    /// Under `flows`: for each cell, the cells ordered before it (bit set). Empty under `steps`.
    before: Vec<Vec<u64>>,
}

/// One cell of the net.
#[derive(Clone, Debug)]
pub struct NetCell {
    /// Index into [`Net::roles`].
    pub role: usize,
    /// Step number.
    pub seq: u32,
    /// `role@seq`.
    pub id: String,
    /// Where the cell stands in the document: (step index, cell index).
    pub source: (usize, usize),
    /// Inputs, merged by term.
    pub slots: Vec<Slot>,
    /// Outputs, merged by term.
    pub outs: Vec<Slot>,
    /// Active in round 1 without a delivery.
    pub entry: bool,
    /// Forwards what it received.
    pub relay: bool,
    /// Indexes of the flows that leave it, in document order.
    pub outgoing: Vec<usize>,
    /// Indexes of the forward flows that come in.
    pub incoming: Vec<usize>,
}

/// An entry of `in` or `out` with how often it is listed.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The term; its own count is folded into `count`.
    pub term: Term,
    /// How many values fill it.
    pub count: usize,
    /// Sorted alternatives joined by `|`.
    pub key: String,
    /// Cells with a forward flow into it.
    pub forward_sources: Vec<usize>,
    /// Some flow (of any kind) brings it.
    pub fed: bool,
}

/// One flow of the net.
#[derive(Clone, Debug)]
pub struct NetFlow {
    /// Flow id.
    pub id: String,
    /// Sending cell.
    pub from: usize,
    /// Receiving cell.
    pub to: usize,
    /// Forward, or feedback.
    pub forward: bool,
    /// Starts its target in the next round.
    pub looping: bool,
    /// Condition on delivery.
    pub when: Option<String>,
    /// What travels.
    pub parts: Vec<Part>,
}

/// One term of a flow, resolved at both ends.
#[derive(Clone, Debug)]
pub struct Part {
    /// The term.
    pub term: Term,
    /// Index into the sender's `outs`.
    pub out: usize,
    /// Index into the receiver's `slots`.
    pub slot: usize,
    /// Index of the first value it takes (not 0 only where values are dealt out).
    pub offset: usize,
}

impl Net {
    /// Resolves a document. `None` when it names something that does not exist or does not fit: such a document was rejected by the checks.
    #[must_use]
    pub fn new(workflow: &Workflow) -> Option<Self> {
        let roles: Vec<String> = workflow.roles.iter().map(|r| r.id.clone()).collect();
        let mut cells = cells_in_order(workflow, &roles)?;
        let index: BTreeMap<(String, u32), usize> = cells.iter().enumerate().map(|(i, c)| ((roles[c.role].clone(), c.seq), i)).collect();
        let mut flows = Vec::with_capacity(workflow.flows.len());
        for flow in &workflow.flows {
            flows.push(resolve(flow, &index, &cells)?);
        }
        deal(&mut flows, &cells);
        connect(&mut cells, &flows);
        mark_entries(&mut cells);
        attach_sources(&mut cells, &flows);
        let ordering = workflow.execution.ordering;
        let before = if ordering == Ordering::Flows { closure(&cells) } else { Vec::new() };
        Some(Self { roles, cells, flows, ordering, before })
    }

    /// Whether cell `a` is ordered before cell `b` in every round.
    #[must_use]
    pub fn before(&self, a: usize, b: usize) -> bool {
        match self.ordering {
            Ordering::Steps => self.cells[a].seq < self.cells[b].seq,
            Ordering::Flows => self.before[b][a / 64] >> (a % 64) & 1 == 1,
        }
    }

    /// Index of a cell by role id and step.
    #[must_use]
    pub fn find(&self, role: &str, seq: u32) -> Option<usize> {
        self.cells.iter().position(|c| c.seq == seq && self.roles[c.role] == role)
    }
}

fn attach_sources(cells: &mut [NetCell], flows: &[NetFlow]) {
    let mut seen = BTreeSet::new();
    for flow in flows {
        for part in &flow.parts {
            let slot = &mut cells[flow.to].slots[part.slot];
            slot.fed = true;
            if flow.forward && seen.insert((flow.to, part.slot, flow.from)) {
                slot.forward_sources.push(flow.from);
            }
        }
    }
}

fn cells_in_order(workflow: &Workflow, roles: &[String]) -> Option<Vec<NetCell>> {
    let by_role: BTreeMap<&str, usize> = roles.iter().enumerate().map(|(i, r)| (r.as_str(), i)).collect();
    let mut cells = Vec::new();
    for (step_index, step) in workflow.steps.iter().enumerate() {
        for (cell_index, cell) in step.cells.iter().enumerate() {
            cells.push(net_cell(cell, *by_role.get(cell.role.as_str())?, step.seq, (step_index, cell_index)));
        }
    }
    cells.sort_by_key(|c| (c.seq, c.role));
    Some(cells)
}

fn net_cell(cell: &Cell, role: usize, seq: u32, source: (usize, usize)) -> NetCell {
    let slots = merge(&cell.inputs);
    let outs = merge(&cell.outputs);
    let relay =
        cell.run.is_none() && !outs.is_empty() && outs.iter().all(|out| slots.iter().any(|s| s.key == out.key && s.count >= out.count));
    NetCell {
        role,
        seq,
        id: format!("{}@{seq}", cell.role),
        source,
        slots,
        outs,
        entry: false,
        relay,
        outgoing: Vec::new(),
        incoming: Vec::new(),
    }
}

fn merge(entries: &[Entry]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries {
        let key = entry.term.key();
        let count = usize::from(entry.term.count.max(1));
        if let Some(slot) = by_key.get(&key).and_then(|index| slots.get_mut(*index)) {
            slot.count += count;
        } else {
            by_key.insert(key.clone(), slots.len());
            slots.push(Slot { term: entry.term.clone(), count, key, forward_sources: Vec::new(), fed: false });
        }
    }
    slots
}

fn resolve(flow: &Flow, index: &BTreeMap<(String, u32), usize>, cells: &[NetCell]) -> Option<NetFlow> {
    let from = *index.get(&(flow.from.role.clone(), flow.from.seq))?;
    let to = *index.get(&(flow.to.role.clone(), flow.to.seq))?;
    let mut parts = Vec::with_capacity(flow.what.len());
    for term in &flow.what {
        let out = cells[from].outs.iter().position(|s| term.fits(&s.term))?;
        let slot = cells[to].slots.iter().position(|s| term.fits(&s.term))?;
        parts.push(Part { term: term.clone(), out, slot, offset: 0 });
    }
    let forward = flow.from.seq < flow.to.seq;
    Some(NetFlow { id: flow.id.clone(), from, to, forward, looping: !forward && flow.looping, when: flow.when.clone(), parts })
}

/// Where a type is listed N times and the counts of its flows add up to N, the values are dealt out in document order (docs/language.md, 2).
fn deal(flows: &mut [NetFlow], cells: &[NetCell]) {
    let mut totals: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for flow in flows.iter() {
        for part in &flow.parts {
            *totals.entry((flow.from, part.out)).or_default() += usize::from(part.term.count);
        }
    }
    let mut next: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for flow in flows.iter_mut() {
        for part in &mut flow.parts {
            let key = (flow.from, part.out);
            if totals.get(&key) == Some(&cells[flow.from].outs[part.out].count) {
                let offset = next.entry(key).or_default();
                part.offset = *offset;
                *offset += usize::from(part.term.count);
            }
        }
    }
}

fn connect(cells: &mut [NetCell], flows: &[NetFlow]) {
    for (index, flow) in flows.iter().enumerate() {
        cells[flow.from].outgoing.push(index);
        if flow.forward {
            cells[flow.to].incoming.push(index);
        }
    }
}

/// The cells of the first step, and any later cell with neither inputs nor incoming flows.
fn mark_entries(cells: &mut [NetCell]) {
    let first = cells.iter().map(|c| c.seq).min().unwrap_or(1);
    let mut targets = vec![false; cells.len()];
    for (index, cell) in cells.iter().enumerate() {
        targets[index] = !cell.incoming.is_empty();
    }
    for (cell, has_flow) in cells.iter_mut().zip(targets) {
        cell.entry = cell.seq == first || (cell.slots.is_empty() && !has_flow);
    }
}

/// Reachability over forward flows and the order of each role's own cells.
fn closure(cells: &[NetCell]) -> Vec<Vec<u64>> {
    let words = cells.len().div_ceil(64).max(1);
    let mut before: Vec<Vec<u64>> = vec![vec![0; words]; cells.len()];
    let mut last_of_role: BTreeMap<usize, usize> = BTreeMap::new();
    let sources: Vec<Vec<usize>> =
        cells.iter().map(|cell| cell.slots.iter().flat_map(|s| s.forward_sources.iter().copied()).collect()).collect();
    for (index, cell) in cells.iter().enumerate() {
        let mut direct = sources[index].clone();
        direct.extend(last_of_role.insert(cell.role, index));
        for source in direct {
            let inherited = before[source].clone();
            for (word, bits) in before[index].iter_mut().zip(inherited) {
                *word |= bits;
            }
            before[index][source / 64] |= 1 << (source % 64);
        }
    }
    before
}
