//! A request to stop that can be waited for. Once made it stays made; it says nothing about why.

use std::sync::Arc;
use tokio::sync::watch;

/// A token shared by whoever may cancel and whoever must stop. Clones are the same token.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// A token that nobody has cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Asks everybody who holds the token to stop.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// True once [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the token is cancelled (at once when it is already).
    pub async fn cancelled(&self) {
        // The sender lives in `self`, so the only way out of `wait_for` is the value itself.
        let _ = self.0.subscribe().wait_for(|done| *done).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
