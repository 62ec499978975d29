//! The net of a document: which cell each flow end means, which flows enter and leave a cell. Built once; reports nothing.

use crate::base::Span;
use crate::model::{Cell, End, Flow, Term, TypeRef, Workflow};
use crate::syntax::{Member, Node};
use std::collections::BTreeMap;

/// A cell with its place in the source and the flows around it.
pub(super) struct CellInfo<'a> {
    pub cell: &'a Cell,
    pub member: Option<&'a Member>,
    /// Indices of flows.
    pub incoming: Vec<usize>,
    /// Indices of flows.
    pub outgoing: Vec<usize>,
    pub inputs: Slots<'a>,
    pub outputs: Slots<'a>,
}

impl CellInfo<'_> {
    /// The key of the cell in its step.
    pub(super) fn span(&self) -> Span {
        self.member.map_or_else(Span::default, |member| member.key_span)
    }

    /// The `index`-th entry of `in` or `out`.
    pub(super) fn entry_span(&self, key: &str, index: usize) -> Span {
        let entry = self.member.and_then(|member| member.value.get(key)).and_then(|list| list.items().get(index));
        entry.map_or_else(|| self.span(), |entry| entry.span)
    }
}

/// The entries of `in` or `out`, equal ones together.
pub(super) struct Slots<'a> {
    pub slots: Vec<Slot<'a>>,
    by_type: BTreeMap<&'a TypeRef, Vec<usize>>,
}

/// One entry with the times it is listed.
pub(super) struct Slot<'a> {
    pub term: &'a Term,
    pub count: usize,
    /// Index of the first listing.
    pub first: usize,
}

impl<'a> Slots<'a> {
    fn new(terms: impl Iterator<Item = &'a Term>) -> Self {
        let mut slots: Vec<Slot<'a>> = Vec::new();
        let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_type: BTreeMap<&TypeRef, Vec<usize>> = BTreeMap::new();
        for (first, term) in terms.enumerate() {
            let index = *by_key.entry(term.key()).or_insert(slots.len());
            if let Some(slot) = slots.get_mut(index) {
                slot.count += usize::from(term.count);
                continue;
            }
            slots.push(Slot { term, count: usize::from(term.count), first });
            for alternative in &term.alternatives {
                by_type.entry(alternative).or_default().push(index);
            }
        }
        Self { slots, by_type }
    }

    /// Slots that hold every alternative of `term`. Looks only at those of its rarest alternative.
    pub(super) fn fitting<'s>(&'s self, term: &'s Term) -> impl Iterator<Item = usize> + 's {
        let empty: &[usize] = &[];
        let lists = term.alternatives.iter().map(|alternative| self.by_type.get(alternative).map_or(empty, Vec::as_slice));
        let rarest = lists.min_by_key(|list| list.len()).unwrap_or(empty);
        rarest.iter().copied().filter(|index| self.slots.get(*index).is_some_and(|slot| term.fits(slot.term)))
    }

    /// True when some slot has `name` among its alternatives.
    pub(super) fn has(&self, name: &TypeRef) -> bool {
        self.by_type.contains_key(name)
    }

    /// Names of all types listed.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.by_type.keys().map(ToString::to_string)
    }
}

/// Cells by place, flows by cell.
pub(super) struct Net<'a> {
    pub cells: Vec<CellInfo<'a>>,
    by_end: BTreeMap<(u32, &'a str), usize>,
    /// Both ends of each flow, where they are cells.
    pub ends: Vec<(Option<usize>, Option<usize>)>,
    /// Every role, step or flow that is written was read; else a name may be missing only because its item could not be read.
    pub whole_roles: bool,
    pub whole_cells: bool,
    pub whole_flows: bool,
}

impl<'a> Net<'a> {
    pub(super) fn new(root: &'a Node, workflow: &'a Workflow) -> Self {
        let items = |section: &str| root.get(section).and_then(|section| section.get("items")).map(Node::items).unwrap_or_default();
        let mut net = Net {
            cells: Vec::new(),
            by_end: BTreeMap::new(),
            ends: Vec::new(),
            whole_roles: !items("roles").is_empty() && items("roles").len() == workflow.roles.len(),
            whole_cells: items("steps").len() == workflow.steps.len(),
            whole_flows: root.get("flows").and_then(|flows| flows.get("items")).is_some() && items("flows").len() == workflow.flows.len(),
        };
        for step in &workflow.steps {
            let index = step.at.rsplit('/').next().and_then(|index| index.parse::<usize>().ok());
            let members =
                index.and_then(|index| items("steps").get(index)).and_then(|node| node.get("cells")).filter(|cells| cells.is_object());
            let members = members.map(Node::members);
            net.whole_cells &= members.is_some_and(|members| members.len() == step.cells.len());
            let mut by_key: BTreeMap<&str, &Member> = BTreeMap::new();
            for member in members.unwrap_or_default() {
                by_key.entry(&member.key).or_insert(member);
            }
            for cell in &step.cells {
                net.by_end.entry((cell.seq, cell.role.as_str())).or_insert(net.cells.len());
                net.cells.push(CellInfo {
                    cell,
                    member: by_key.get(cell.role.as_str()).copied(),
                    incoming: Vec::new(),
                    outgoing: Vec::new(),
                    inputs: Slots::new(cell.inputs.iter().map(|entry| &entry.term)),
                    outputs: Slots::new(cell.outputs.iter().map(|entry| &entry.term)),
                });
            }
        }
        for (index, flow) in workflow.flows.iter().enumerate() {
            let ends = (net.find(&flow.from), net.find(&flow.to));
            if let Some(cell) = ends.0.and_then(|cell| net.cells.get_mut(cell)) {
                cell.outgoing.push(index);
            }
            if let Some(cell) = ends.1.and_then(|cell| net.cells.get_mut(cell)) {
                cell.incoming.push(index);
            }
            net.ends.push(ends);
        }
        net
    }

    pub(super) fn find(&self, end: &End) -> Option<usize> {
        self.by_end.get(&(end.seq, end.role.as_str())).copied()
    }
}

/// True when a delivery of the flow makes its target active: forward, or a loop.
pub(super) fn activates(flow: &Flow) -> bool {
    flow.from.seq < flow.to.seq || (flow.looping && flow.from.seq > flow.to.seq)
}
