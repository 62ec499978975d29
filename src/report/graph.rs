//! A document as a picture: roles are columns, steps are rows, flows are arrows (`rsf graph`).
//!
//! Sync flows are solid, async ones dashed, loops thick and labelled, deposits (other feedback) dotted. Ids in the output are made here;
//! every text of the document goes into a quoted label with whatever the two formats could misread escaped.

use super::text::one_line;
use crate::model::{Cell, End, Flow, FlowKind, Workflow};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How a flow is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrow {
    Sync,
    Async,
    Loop,
    Deposit,
}

impl Arrow {
    fn of(flow: &Flow) -> Self {
        match (flow.from.seq > flow.to.seq, flow.looping, flow.kind) {
            (true, true, _) => Self::Loop,
            (true, false, _) => Self::Deposit,
            (false, _, FlowKind::Sync) => Self::Sync,
            (false, _, FlowKind::Async) => Self::Async,
        }
    }
}

/// Cells in row order with the number each has in the picture, the ends of flows that are no cells included.
struct Nodes<'a> {
    numbers: BTreeMap<(&'a str, u32), usize>,
    missing: Vec<&'a End>,
    /// Role → its cells.
    columns: BTreeMap<&'a str, Vec<&'a Cell>>,
    /// Cells of undeclared roles.
    strays: Vec<&'a Cell>,
}

impl<'a> Nodes<'a> {
    fn of(workflow: &'a Workflow) -> Self {
        let mut numbers = BTreeMap::new();
        let mut columns: BTreeMap<&str, Vec<&Cell>> = workflow.roles.iter().map(|role| (role.id.as_str(), Vec::new())).collect();
        let mut strays = Vec::new();
        for cell in workflow.steps.iter().flat_map(|step| &step.cells) {
            let next = numbers.len();
            numbers.entry((cell.role.as_str(), cell.seq)).or_insert(next);
            columns.get_mut(cell.role.as_str()).unwrap_or(&mut strays).push(cell);
        }
        let mut missing = Vec::new();
        for end in workflow.flows.iter().flat_map(|flow| [&flow.from, &flow.to]) {
            let next = numbers.len();
            numbers.entry((end.role.as_str(), end.seq)).or_insert_with(|| {
                missing.push(end);
                next
            });
        }
        Self { numbers, missing, columns, strays }
    }

    fn column(&self, role: &str) -> &[&'a Cell] {
        self.columns.get(role).map_or(&[], Vec::as_slice)
    }

    fn id(&self, role: &str, seq: u32) -> String {
        self.numbers.get(&(role, seq)).map_or_else(|| "unknown".to_owned(), |number| format!("c{number}"))
    }
}

fn label(flow: &Flow) -> String {
    let what: Vec<String> = flow.what.iter().map(ToString::to_string).collect();
    let word = if Arrow::of(flow) == Arrow::Loop { "loop " } else { "" };
    let when = flow.when.as_deref().map(|when| format!(" when {when}")).unwrap_or_default();
    format!("{word}{}: {}{when}", flow.id, what.join(" + "))
}

/// The document as a Mermaid flowchart.
#[must_use]
pub fn mermaid(workflow: &Workflow) -> String {
    let nodes = Nodes::of(workflow);
    let mut out = String::from("flowchart TB\n");
    for (index, role) in workflow.roles.iter().enumerate() {
        let _ = writeln!(out, "  subgraph r{index}[\"{}\"]", entities(&role.id));
        for cell in nodes.column(&role.id) {
            let _ = writeln!(out, "    {}[\"{} {}\"]", nodes.id(&cell.role, cell.seq), cell.seq, entities(&cell.task));
        }
        out.push_str("  end\n");
    }
    for cell in &nodes.strays {
        let text = format!("{} {} of an undeclared role", cell.seq, cell.task);
        let _ = writeln!(out, "  {}([\"{}\"])", nodes.id(&cell.role, cell.seq), entities(&text));
    }
    mermaid_steps(workflow, &mut out);
    for end in &nodes.missing {
        let _ = writeln!(out, "  {}([\"{} {} is no cell\"])", nodes.id(&end.role, end.seq), end.seq, entities(&end.role));
    }
    for flow in &workflow.flows {
        let shaft = match Arrow::of(flow) {
            Arrow::Sync => "-->",
            Arrow::Async | Arrow::Deposit => "-.->",
            Arrow::Loop => "==>",
        };
        let (from, to) = (nodes.id(&flow.from.role, flow.from.seq), nodes.id(&flow.to.role, flow.to.seq));
        let _ = writeln!(out, "  {from} {shaft}|\"{}\"| {to}", entities(&label(flow)));
    }
    mermaid_styles(workflow, &mut out);
    out
}

/// The captions of the rows, as a column of their own.
fn mermaid_steps(workflow: &Workflow, out: &mut String) {
    if workflow.steps.is_empty() {
        return;
    }
    out.push_str("  subgraph steps[\"steps\"]\n");
    for (index, step) in workflow.steps.iter().enumerate() {
        let _ = writeln!(out, "    s{index}[\"{} {}\"]", step.seq, entities(&step.description));
    }
    out.push_str("  end\n");
    let chain: Vec<String> = (0..workflow.steps.len()).map(|index| format!("s{index}")).collect();
    if chain.len() > 1 {
        let _ = writeln!(out, "  {}", chain.join(" ~~~ "));
    }
}

/// Mermaid has one broken line: the pattern tells dashed from dotted. Links are counted in the order of writing, the rows' chain first.
fn mermaid_styles(workflow: &Workflow, out: &mut String) {
    let before = workflow.steps.len().saturating_sub(1);
    for (index, flow) in workflow.flows.iter().enumerate() {
        let style = match Arrow::of(flow) {
            Arrow::Sync => continue,
            Arrow::Async => "stroke-dasharray:8 4",
            Arrow::Deposit => "stroke-dasharray:2 4",
            Arrow::Loop => "stroke-width:4px",
        };
        let _ = writeln!(out, "  linkStyle {} {style}", before + index);
    }
}

/// The document in Graphviz' language.
#[must_use]
pub fn dot(workflow: &Workflow) -> String {
    let nodes = Nodes::of(workflow);
    // `newrank` lets a row span the columns' clusters.
    let mut out = String::from("digraph workflow {\n  newrank=true;\n  rankdir=TB;\n  node [shape=box, style=rounded];\n");
    for (index, role) in workflow.roles.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{index} {{\n    label={};", quoted(&role.id));
        for cell in nodes.column(&role.id) {
            let _ = writeln!(out, "    {} [label={}];", nodes.id(&cell.role, cell.seq), quoted(&format!("{} {}", cell.seq, cell.task)));
        }
        out.push_str("  }\n");
    }
    for cell in &nodes.strays {
        let text = quoted(&format!("{} {} of an undeclared role", cell.seq, cell.task));
        let _ = writeln!(out, "  {} [label={text}, style=dashed];", nodes.id(&cell.role, cell.seq));
    }
    for end in &nodes.missing {
        let text = quoted(&format!("{} {} is no cell", end.seq, end.role));
        let _ = writeln!(out, "  {} [label={text}, style=dashed];", nodes.id(&end.role, end.seq));
    }
    dot_rows(workflow, &nodes, &mut out);
    for flow in &workflow.flows {
        let style = match Arrow::of(flow) {
            Arrow::Sync => "style=solid",
            Arrow::Async => "style=dashed",
            Arrow::Loop => "style=bold, penwidth=3, constraint=false",
            Arrow::Deposit => "style=dotted, constraint=false",
        };
        let (from, to) = (nodes.id(&flow.from.role, flow.from.seq), nodes.id(&flow.to.role, flow.to.seq));
        let _ = writeln!(out, "  {from} -> {to} [label={}, {style}];", quoted(&label(flow)));
    }
    out.push_str("}\n");
    out
}

fn dot_rows(workflow: &Workflow, nodes: &Nodes<'_>, out: &mut String) {
    for (index, step) in workflow.steps.iter().enumerate() {
        let text = quoted(&format!("{} {}", step.seq, step.description));
        let cells: Vec<String> = step.cells.iter().map(|cell| nodes.id(&cell.role, cell.seq)).collect();
        let _ = writeln!(out, "  {{ rank=same; s{index} [label={text}, shape=plaintext]; {} }}", cells.join("; "));
        if index > 0 {
            let _ = writeln!(out, "  s{} -> s{index} [style=invis];", index - 1);
        }
    }
}

/// A text inside a quoted Mermaid label: whatever is neither a letter, a digit nor plainly harmless becomes a numeric entity.
fn entities(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if c.is_alphanumeric() || " .,:@_-/()×→…".contains(c) || !c.is_ascii() {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", c as u32);
        }
    }
    out
}

/// A quoted Graphviz string; backslashes and ampersands would start escapes and entities.
fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;"))
}
