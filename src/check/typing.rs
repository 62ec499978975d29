//! What flows carry against what cells make and take, and the spelling of terms.
//!
//! # RSF401 no list of types
//! The text is no sum of terms. Terms are joined by `+`; a term is `Type`, `Type(variant)`, alternatives `A|B`, perhaps with a count `(×2)` from 2 to 99.
//! # RSF402 other character (warning)
//! A character stands for another one: a Latin `x` for `×`, a full-width `＋`, `｜`, `（` or `）`. It is understood; the message names both.
//! # RSF403 the sender does not make it
//! A flow carries a type that the sending cell does not list in `out`.
//! # RSF404 the receiver does not take it
//! A flow carries a type that the receiving cell does not list in `in`.
//! # RSF405 too many of a type
//! A flow carries more values of a type than the cell lists. A type listed twice is a count of two.
//! # RSF406 union too wide
//! A flow carries alternatives that no single entry of the cell has all of. The alternatives of a flow are a part of one entry's.

use super::net::{CellInfo, Slots};
use super::{Context, cell_name, shown};
use crate::base::Span;
use crate::model::{Flow, Term};

pub(super) fn check(context: &mut Context<'_>) {
    let workflow = context.workflow;
    for (index, flow) in workflow.flows.iter().enumerate() {
        let Some((from, to)) = context.net.ends.get(index).copied() else { continue };
        if flow.from.seq == flow.to.seq {
            continue;
        }
        for term in &flow.what {
            let at = |cell: Option<usize>, side| {
                cell.and_then(|cell| context.net.cells.get(cell)).and_then(|info| fault(context, info, term, side))
            };
            let faults = merged(at(from, Side::Sender), at(to, Side::Receiver));
            for fault in faults.into_iter().flatten() {
                let span = term_span(context, flow, term);
                context.error(fault.code, span, format!("flow `{}`: {}", shown(&flow.id), fault.message), fault.help);
            }
        }
    }
}

struct Fault {
    code: &'static str,
    message: String,
    help: String,
    /// A nearly equal name was found.
    hinted: bool,
}

/// One finding where one slip in `what` explains the faults at both ends: the same kind of fault, or the same name that was probably meant.
fn merged(sender: Option<Fault>, receiver: Option<Fault>) -> [Option<Fault>; 2] {
    match (sender, receiver) {
        (Some(a), Some(b)) if a.code == b.code || (a.hinted && b.hinted && a.help == b.help) => {
            let help = if a.help == b.help { a.help } else { format!("{}; {}", a.help, b.help) };
            [Some(Fault { code: a.code, message: format!("{}, and {}", a.message, b.message), help, hinted: a.hinted }), None]
        }
        both => [both.0, both.1],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

fn fault(context: &Context<'_>, info: &CellInfo<'_>, term: &Term, side: Side) -> Option<Fault> {
    let (slots, key, verb) = match side {
        Side::Sender => (&info.outputs, "out", "make"),
        Side::Receiver => (&info.inputs, "in", "take"),
    };
    let most = slots.fitting(term).filter_map(|index| slots.slots.get(index)).map(|slot| slot.count).max();
    let (name, list) = (cell_name(info.cell), format!("{}.{key}", cell_name(info.cell)));
    match most {
        Some(count) if count >= usize::from(term.count) => None,
        Some(count) => {
            let wanted = usize::from(term.count);
            let message = format!("{list} lists `{}` {}, but {wanted} travel", shown(&term.key()), times(count));
            let help = "list it as often as it travels, or lower the count".to_owned();
            Some(Fault { code: "RSF405", message, help, hinted: false })
        }
        None if term.alternatives.len() > 1 && term.alternatives.iter().any(|alternative| slots.has(alternative)) => {
            let message = format!("no entry of {list} has all alternatives of `{}`", shown(&term.to_string()));
            let help = format!("make one entry of {list} `{}`", shown(&term.key()));
            Some(Fault { code: "RSF406", message, help, hinted: false })
        }
        None => {
            let code = if side == Side::Sender { "RSF403" } else { "RSF404" };
            let message = format!("{name} does not {verb} `{}`", shown(&term.key()));
            let hint = near(context, slots, term);
            let hinted = hint.is_some();
            let help = hint.unwrap_or_else(|| format!("list it in {list}, or correct `what`"));
            Some(Fault { code, message, help, hinted })
        }
    }
}

fn near(context: &Context<'_>, slots: &Slots<'_>, term: &Term) -> Option<String> {
    let names: Vec<String> = slots.names().take(200).collect();
    let name = term.alternatives.first()?.to_string();
    context.hint(&name, names.iter().map(String::as_str))
}

/// The place of a term in the flow's `what`.
fn term_span(context: &Context<'_>, flow: &Flow, term: &Term) -> Span {
    let Some(node) = context.node(&format!("{}/what", flow.at)) else { return context.place(&flow.at) };
    let text = node.as_str().unwrap_or_default();
    let name = term.alternatives.first().map(|alternative| alternative.name.as_str()).unwrap_or_default();
    let written = term.to_string();
    let mut at = 0;
    for part in text.split_inclusive(['+', '＋']) {
        let bare = part.trim_end_matches(['+', '＋']);
        if [written.as_str(), name].contains(&bare.trim()) {
            let start = at + (bare.len() - bare.trim_start().len());
            return node.inner_span(start, start + bare.trim().len());
        }
        at += part.len();
    }
    // Written otherwise than it is shown (blanks, another order): the first mention of the name, else the whole.
    match text.find(name) {
        Some(start) if !name.is_empty() => node.inner_span(start, start + name.len()),
        _ => node.span,
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
