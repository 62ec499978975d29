//! The signals of the terminal and of the system: the first asks for a stop, the second interrupts. Nothing else is done here.

use super::Handle;
use std::io;
use tokio::task::JoinHandle;

/// Listens for SIGINT and SIGTERM until the task is aborted or its runtime ends.
///
/// # Errors
/// The signals cannot be listened to.
#[cfg(unix)]
pub fn listen(handle: Handle) -> io::Result<JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::spawn(async move {
        loop {
            let heard = tokio::select! { heard = interrupt.recv() => heard, heard = terminate.recv() => heard };
            match heard {
                Some(()) => handle.signal(),
                None => return,
            }
        }
    }))
}

/// Listens for the interrupt key until the task is aborted or its runtime ends.
///
/// # Errors
/// None on this system; the signature is that of the others.
#[cfg(not(unix))]
pub fn listen(handle: Handle) -> io::Result<JoinHandle<()>> {
    Ok(tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            handle.signal();
        }
    }))
}
