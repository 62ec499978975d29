//! A lock between processes, kept on a file inside a confined folder. It ends with the process that holds it, however that ends.

use super::{Fault, Root};
use cap_std::fs::{File, OpenOptions};
use std::time::{Duration, Instant};

/// Pause before the second try; doubled up to [`LONGEST`].
const PAUSE: Duration = Duration::from_micros(250);
const LONGEST: Duration = Duration::from_millis(20);

/// A held lock; dropping it lets others in.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Root {
    /// Takes the lock on the file at `path` (made when missing, never removed), waiting at most `patience`.
    ///
    /// # Errors
    /// Somebody else holds it all that time, or the file cannot be opened.
    pub fn lock(&self, path: &str, patience: Duration) -> Result<Lock, Fault> {
        let real = self.resolve(path)?;
        let what = format!("locking `{path}`");
        self.open_folder(real.split_last().0).map_err(|error| Fault::io(&what, &error))?;
        let file = self.open_real(&real, OpenOptions::new().read(true).write(true).create(true))?;
        let until = Instant::now() + patience;
        let mut pause = PAUSE;
        while !try_lock(&file).map_err(|error| Fault::io(&what, &error))? {
            if Instant::now() > until {
                return Err(Fault::failed(format!("{what}: another process holds it; wait until it has ended")));
            }
            std::thread::sleep(pause);
            pause = pause.saturating_mul(2).min(LONGEST);
        }
        Ok(Lock { _file: file })
    }
}

#[cfg(unix)]
fn try_lock(file: &File) -> std::io::Result<bool> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Where there is no `flock` the callers' own mutex is all there is.
#[cfg(not(unix))]
fn try_lock(_file: &File) -> std::io::Result<bool> {
    Ok(true)
}
