//! A switch that is thrown once: "stop what you are doing". It never kills anything itself; whoever works watches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// A cheap handle on one switch; clones share it. Once cancelled it stays so.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    thrown: AtomicBool,
    waiting: Notify,
}

impl Cancel {
    /// A switch that is not thrown.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws the switch and wakes everyone who waits for it.
    pub fn cancel(&self) {
        self.0.thrown.store(true, Ordering::SeqCst);
        self.0.waiting.notify_waiters();
    }

    /// True once the switch was thrown.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.thrown.load(Ordering::SeqCst)
    }

    /// Waits until the switch is thrown; returns at once when it was.
    pub async fn cancelled(&self) {
        let mut notified = std::pin::pin!(self.0.waiting.notified());
        // Registered before the flag is read, so that a switch thrown in between is not missed.
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cancel;

    #[tokio::test]
    async fn every_clone_sees_it_before_and_after() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        let waiting = tokio::spawn(async move { other.cancelled().await });
        tokio::task::yield_now().await;
        assert!(!cancel.is_cancelled());
        cancel.cancel();
        waiting.await.unwrap();
        cancel.cancelled().await;
        assert!(cancel.is_cancelled());
    }
}
