//! The way to a fault as a story: which cells ran, what the choosing ones emitted, which flow started whom.

use super::bdd::Bdd;
use super::explore::{Fault, Kind};
use super::round::{Round, Shape, Start, Wrong};
use crate::check::shown;

/// Cells named at the beginning and at the end of a round's story.
const NAMED: usize = 4;

/// Tells a fault. Reads the rounds of its path again.
pub(super) fn story(shape: &Shape<'_>, bdd: &mut Bdd, fault: &Fault) -> String {
    let mut rounds = Vec::new();
    for (index, (start, choices)) in fault.path.iter().enumerate() {
        let round = shape.round(bdd, start);
        let last = index + 1 == fault.path.len();
        let mut text = format!("round {}: {}", index + 1, ran(shape, bdd, &round, start, choices));
        if last {
            text.push_str(&ending(shape, bdd, &round, start, choices, fault.kind));
        }
        rounds.push(text);
    }
    if rounds.len() > 4 {
        let skipped = rounds.len() - 4;
        rounds.splice(2..2 + skipped, [format!("… {skipped} more rounds …")]);
    }
    rounds.join("; ")
}

/// The cells that succeeded.
fn ran(shape: &Shape<'_>, bdd: &Bdd, round: &Round, start: &Start, choices: &[u32]) -> String {
    let mut cells = Vec::new();
    for (c, done) in round.done.iter().enumerate() {
        if !bdd.holds(*done, choices) {
            continue;
        }
        let cell = &shape.net.cells[c];
        let mut text = shown(&cell.id);
        for (o, out) in cell.outs.iter().enumerate().filter(|(_, out)| out.term.alternatives.len() > 1) {
            let chosen = round.emits[c][o].iter().position(|when| bdd.holds(*when, choices));
            if let Some(alternative) = chosen.and_then(|a| out.term.alternatives.get(a)) {
                text.push_str(&format!(" emits {}", shown(&alternative.to_string())));
            }
        }
        let withheld = cell.outgoing.iter().map(|f| (*f, &shape.net.flows[*f]));
        for (f, flow) in withheld.filter(|(_, flow)| flow.when.is_some()) {
            if !bdd.holds(round.delivers[f], choices) {
                text.push_str(&format!(" without {}", shown(&flow.id)));
            }
        }
        cells.push(text);
    }
    if cells.len() > 2 * NAMED {
        let rest = cells.len() - NAMED;
        // What is chosen is worth telling, wherever it stands.
        let told: Vec<String> = cells.drain(NAMED..rest).filter(|text| text.contains(' ')).take(NAMED).collect();
        let told = if told.is_empty() { vec!["…".to_owned()] } else { [vec!["…".to_owned()], told, vec!["…".to_owned()]].concat() };
        cells.splice(NAMED..NAMED, told);
    }
    let loops: Vec<String> = start.loops.iter().take(NAMED).map(|flow| shown(&shape.net.flows[*flow].id)).collect();
    let begun = if loops.is_empty() { String::new() } else { format!("({} released) ", loops.join(", ")) };
    format!("{begun}{}", cells.join(" → "))
}

fn ending(shape: &Shape<'_>, bdd: &Bdd, round: &Round, start: &Start, choices: &[u32], kind: Kind) -> String {
    match kind {
        Kind::Entry(c, s, wrong) => {
            let entry = shown(&shape.net.cells[c].slots[s].term.to_string());
            let how = match wrong {
                Wrong::Empty => format!("with `{entry}` empty"),
                Wrong::Partial => format!("with `{entry}` only in part"),
                Wrong::TooMany => format!("with more of `{entry}` than it takes"),
            };
            format!("; {} is started{} {how}", shown(&shape.net.cells[c].id), starters(shape, bdd, round, start, choices, c))
        }
        Kind::DiesOut(_) => "; nothing goes on from there".to_owned(),
        Kind::Stale(c, s) => {
            let entry = shown(&shape.net.cells[c].slots[s].term.to_string());
            format!(
                "; {} is started{} with `{entry}` of an earlier round",
                shown(&shape.net.cells[c].id),
                starters(shape, bdd, round, start, choices, c)
            )
        }
    }
}

/// ` by f1 and f2`, or nothing for a cell that the run itself starts.
fn starters(shape: &Shape<'_>, bdd: &Bdd, round: &Round, start: &Start, choices: &[u32], cell: usize) -> String {
    let delivered = |f: &&usize| {
        let flow = &shape.net.flows[**f];
        if flow.forward { bdd.holds(round.delivers[**f], choices) } else { start.loops.contains(*f) }
    };
    let flows: Vec<String> = shape.into[cell].iter().filter(delivered).take(NAMED).map(|f| shown(&shape.net.flows[*f].id)).collect();
    if flows.is_empty() { String::new() } else { format!(" by {}", flows.join(" and ")) }
}
