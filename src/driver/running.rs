//! Effects under way. Whatever happens to a task, its effect gets an outcome or was given up on purpose.

use crate::executor::{EffectKind, Executor, Task};
use crate::machine::{EffectId, Outcome, Request};
use crate::world::Cancel;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

/// Which start of an effect a task belongs to: an effect that was cancelled and asked for again is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serial(u64);

#[derive(Debug)]
struct Slot {
    serial: Serial,
    cancel: Cancel,
    since: Instant,
}

/// A task that ended.
#[derive(Debug)]
pub struct Ended {
    pub id: EffectId,
    pub serial: Serial,
    pub outcome: Outcome,
}

#[derive(Default)]
pub struct Running {
    tasks: JoinSet<Option<Outcome>>,
    /// Which effect a task performs; never iterated.
    effects: HashMap<Id, (EffectId, Serial, EffectKind)>,
    slots: BTreeMap<EffectId, Slot>,
    next: u64,
    /// What went wrong where no effect can tell.
    complaints: Vec<String>,
}

impl Running {
    /// Makes room for an effect that will be started once it is durable. Gives the switch of an effect of the same identity that this one replaces.
    pub fn reserve(&mut self, id: &EffectId, now: Instant) -> Option<Cancel> {
        self.next += 1;
        let slot = Slot { serial: Serial(self.next), cancel: Cancel::new(), since: now };
        self.slots.insert(id.clone(), slot).map(|old| old.cancel)
    }

    /// Starts an effect that room was made for.
    pub fn start(&mut self, executor: &Arc<dyn Executor>, id: EffectId, request: Box<Request>, rerun: bool, now: Instant) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.since = now;
        let (serial, cancel, kind) = (slot.serial, slot.cancel.clone(), EffectKind::of(&request));
        let task = Task { id: id.clone(), request, rerun, cancel };
        let executor = Arc::clone(executor);
        // The call itself is made inside the task, so that a panic in it is caught like any other.
        let handle = self.tasks.spawn(async move { Some(executor.perform(task).await) });
        self.effects.insert(handle.id(), (id, serial, kind));
    }

    /// Runs something that may block and that nobody waits for until the run is over.
    pub fn chore(&mut self, work: impl FnOnce() + Send + 'static) {
        self.tasks.spawn_blocking(move || {
            work();
            None
        });
    }

    /// Gives an effect up; its outcome will be dropped. Gives its switch.
    pub fn give_up(&mut self, id: &EffectId) -> Option<Cancel> {
        self.slots.remove(id).map(|slot| slot.cancel)
    }

    pub fn is_awaited(&self, id: &EffectId) -> bool {
        self.slots.contains_key(id)
    }

    /// True when no outcome is awaited.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes the outcome of a task if its effect still waits for it; gives how long it took.
    pub fn accept(&mut self, ended: &Ended, now: Instant) -> Option<Duration> {
        if self.slots.get(&ended.id)?.serial != ended.serial {
            return None;
        }
        self.slots.remove(&ended.id).map(|slot| now.saturating_duration_since(slot.since))
    }

    /// Waits for the next task to end; pends for ever while there is none. `None` is a chore.
    pub async fn next(&mut self) -> Option<Ended> {
        match self.tasks.join_next_with_id().await {
            Some(joined) => self.ended(joined),
            None => std::future::pending().await,
        }
    }

    /// At most `most` tasks that have ended already.
    pub fn ended_already(&mut self, most: usize) -> Vec<Ended> {
        let mut all = Vec::new();
        while all.len() < most {
            let Some(joined) = self.tasks.try_join_next_with_id() else { break };
            all.extend(self.ended(joined));
        }
        all
    }

    fn ended(&mut self, joined: Result<(Id, Option<Outcome>), JoinError>) -> Option<Ended> {
        let task = joined.as_ref().map_or_else(JoinError::id, |(task, _)| *task);
        let Some((id, serial, kind)) = self.effects.remove(&task) else {
            if let Err(error) = joined {
                self.complaints.push(format!("the engine failed while clearing up behind an attempt: {}", reason(error)));
            }
            return None;
        };
        let outcome = match joined {
            Ok((_, outcome)) => outcome.unwrap_or_else(|| kind.crashed("the effect ended without an outcome")),
            Err(error) => kind.crashed(&format!("the engine failed while performing this effect: {}", reason(error))),
        };
        Some(Ended { id, serial, outcome })
    }

    /// What went wrong since the last call where no effect can tell.
    pub fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// Throws all switches, waits for the tasks to end, and abandons those that have not after `grace`.
    pub async fn end_all(&mut self, grace: Duration) {
        for slot in std::mem::take(&mut self.slots).into_values() {
            slot.cancel.cancel();
        }
        let drained = async {
            while let Some(joined) = self.tasks.join_next_with_id().await {
                self.ended(joined);
            }
        };
        if tokio::time::timeout(grace, drained).await.is_err() {
            self.tasks.abort_all();
        }
        self.effects.clear();
    }
}

fn reason(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "its task was taken away".to_owned() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::BoxFuture;
    use crate::machine::LogRequest;

    struct AtOnce;

    impl Executor for AtOnce {
        fn perform(&self, _task: Task) -> BoxFuture<Outcome> {
            Box::pin(async { Outcome::Logged })
        }
        fn release(&self, _owner: &str) {}
    }

    #[tokio::test]
    async fn an_outcome_belongs_to_the_start_it_came_from() {
        let executor: Arc<dyn Executor> = Arc::new(AtOnce);
        let request = || Box::new(Request::Log(LogRequest { path: String::new(), record: serde_json::Map::new(), text: String::new() }));
        let (id, now) = (EffectId("a@1.r1.a1/0".into()), Instant::now());
        let mut running = Running::default();
        assert!(running.reserve(&id, now).is_none());
        running.start(&executor, id.clone(), request(), false, now);
        let first = running.next().await.unwrap();
        assert!(running.reserve(&id, now).is_some(), "the effect that is replaced can be cancelled");
        assert!(running.accept(&first, now).is_none(), "its outcome is not that of the new one");
        assert!(running.is_awaited(&id));
        running.start(&executor, id.clone(), request(), false, now);
        let second = running.next().await.unwrap();
        assert!(running.accept(&second, now).is_some() && running.is_empty());
    }

    #[tokio::test]
    async fn a_chore_that_fails_is_told_and_an_effect_that_does_not_end_is_abandoned() {
        let mut running = Running::default();
        running.chore(|| panic!("no broom"));
        assert!(running.next().await.is_none());
        assert!(running.complaints().concat().contains("no broom"));
        running.tasks.spawn(std::future::pending());
        running.end_all(Duration::from_millis(1)).await;
    }
}
