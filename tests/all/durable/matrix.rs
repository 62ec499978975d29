//! Which points are tried, and what must hold of each.

use super::{Base, Death, Trial};
use crate::durable::trial::{differences, last};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The points to try, out of so many.
fn chosen(total: usize) -> Vec<usize> {
    let every = |step: usize| (1..=total).step_by(step.max(1)).collect::<Vec<_>>();
    match std::env::var("RSF_CRASH_POINTS").ok().as_deref() {
        Some("all") => every(1),
        Some(text) => {
            if let Some(step) = text.strip_prefix("every:").and_then(|step| step.parse().ok()) {
                return every(step);
            }
            let (from, to) = text.split_once("..").expect("RSF_CRASH_POINTS is `all`, `every:n` or `from..to`");
            (from.parse().unwrap()..to.parse().unwrap()).filter(|point| *point <= total).collect()
        }
        None => Vec::new(),
    }
}

/// Kills a run at `deaths`, one after the other, goes on, and gives what differs from the undisturbed run.
fn survive(trial: &Trial, deaths: &[String], wanted: &BTreeMap<String, String>) -> Result<usize, String> {
    let mut killed = 0;
    for at in deaths {
        match trial.resume(Some(at)) {
            (Death::Killed, _) => killed += 1,
            (Death::Exit(0), _) => break,
            (Death::Exit(code), text) => return Err(format!("ended with {code} on the way to {at}:\n    {}", last(&text))),
        }
    }
    if killed > 0 {
        match trial.resume(None) {
            (Death::Exit(0), _) => {}
            (death, text) => return Err(format!("did not go on ({death:?}):\n    {}", last(&text))),
        }
    }
    let differences = differences(wanted, &trial.account());
    if differences.is_empty() { Ok(killed) } else { Err(format!("differs:\n{differences}")) }
}

/// Tries every list of deaths, on as many threads as there are processors; gives the failures.
fn try_all(base: &Base, wanted: &BTreeMap<String, String>, all: &[Vec<String>]) -> (usize, Vec<String>) {
    let (next, killed, failures) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(deaths) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            match survive(&base.trial(), deaths, wanted) {
                Ok(count) => drop(killed.fetch_add(count, Ordering::Relaxed)),
                Err(what) => failures.lock().unwrap().push(format!("killed at {}: {what}", deaths.join(", then "))),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    (killed.into_inner(), failures.into_inner().unwrap())
}

/// The undisturbed run and the points it passes.
fn undisturbed(base: &Base) -> (BTreeMap<String, String>, Vec<String>) {
    let trial = base.trial();
    let points = trial.points();
    (trial.account(), points)
}

/// The points of a sample: for each name of a point one in the middle of the run, and one more where the name is frequent.
fn sample(points: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    points.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().map(|(name, count)| format!("{name}#{}", count.div_ceil(2))).collect()
}

#[test]
fn crashes_in_a_row_and_during_the_resume_change_nothing() {
    let base = Base::new();
    let (wanted, points) = undisturbed(&base);
    let total = points.len();
    // Early, in the middle, late; the second and third kill come within what the first resume does again, or much later.
    let lists: [&[usize]; 5] = [&[total / 3, 1], &[total / 3, 3, 2], &[total / 2, 10, 10], &[1, 1, 1, total / 4], &[total * 9 / 10, 5, 40]];
    let deaths: Vec<Vec<String>> = lists.iter().map(|list| list.iter().map(ToString::to_string).collect()).collect();
    let (killed, failures) = try_all(&base, &wanted, &deaths);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(killed, deaths.iter().map(Vec::len).sum::<usize>(), "a point was not reached");
}

#[test]
fn a_run_killed_anywhere_goes_on_as_if_nothing_had_happened() {
    let base = Base::new();
    let (wanted, points) = undisturbed(&base);
    let again = base.trial();
    again.points();
    assert_eq!(differences(&wanted, &again.account()), "", "two undisturbed runs differ");
    let asked = chosen(points.len());
    let singles = if asked.is_empty() { sample(&points) } else { asked.iter().map(ToString::to_string).collect() };
    let deaths: Vec<Vec<String>> = singles.into_iter().map(|at| vec![at]).collect();
    let (killed, failures) = try_all(&base, &wanted, &deaths);
    eprintln!("crash points: {} in a run, {} tried, {killed} kills, {} failed", points.len(), deaths.len(), failures.len());
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), deaths.len(), failures.join("\n"));
    assert_eq!(killed, deaths.len(), "a point was not reached");
}
