//! Points at which a test may kill the process: before, within and after every write that a run makes.
//!
//! `RSF_CRASH_AT=n` kills it (SIGKILL, so that nothing is tidied up) at the n-th point, counted from 1; `RSF_CRASH_AT=name#n` at the n-th
//! point of that name; `RSF_CRASH_LOG=file` appends the name of every point passed. Compiled into debug builds and with the feature
//! `fault-points` only: in a release build every point is nothing at all, whatever the environment says. Children never inherit the variables.

#[cfg(any(debug_assertions, feature = "fault-points"))]
mod points {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    struct Counter {
        /// Point to die at: a number among all points, or among those of a name.
        at: Option<(Option<String>, u64)>,
        log: Option<std::fs::File>,
        passed: u64,
        by_name: BTreeMap<String, u64>,
    }

    static COUNTER: LazyLock<Mutex<Counter>> = LazyLock::new(|| {
        let at = std::env::var("RSF_CRASH_AT").ok().and_then(|text| match text.split_once('#') {
            Some((name, number)) => Some((Some(name.to_owned()), number.parse().ok()?)),
            None => Some((None, text.parse().ok()?)),
        });
        let log = std::env::var_os("RSF_CRASH_LOG").and_then(|path| std::fs::OpenOptions::new().append(true).create(true).open(path).ok());
        Mutex::new(Counter { at, log, passed: 0, by_name: BTreeMap::new() })
    });

    /// True at the point to die at.
    pub fn reached(name: &str) -> bool {
        let mut counter = COUNTER.lock().unwrap_or_else(PoisonError::into_inner);
        if counter.at.is_none() && counter.log.is_none() {
            return false;
        }
        counter.passed += 1;
        let passed = counter.passed;
        let named = counter.by_name.entry(name.to_owned()).or_default();
        *named += 1;
        let named = *named;
        if let Some(log) = &mut counter.log {
            let _ = writeln!(log, "{name}");
        }
        match &counter.at {
            Some((None, number)) => *number == passed,
            Some((Some(wanted), number)) => wanted == name && *number == named,
            None => false,
        }
    }

    /// Ends the process at once, as a crash would.
    pub fn die() {
        #[cfg(unix)]
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
        std::process::abort();
    }
}

/// A point at which a test may kill the process.
#[cfg(any(debug_assertions, feature = "fault-points"))]
pub fn crash_point(name: &str) {
    if points::reached(name) {
        points::die();
    }
}

/// A write that a test may tear: where it is wanted here, `half` is called with the first half of `bytes`, then the process dies.
#[cfg(any(debug_assertions, feature = "fault-points"))]
pub fn torn_point(name: &str, bytes: &[u8], half: impl FnOnce(&[u8])) {
    if points::reached(name) {
        half(bytes.get(..bytes.len() / 2).unwrap_or_default());
        points::die();
    }
}

/// Nothing, in a release build.
#[cfg(not(any(debug_assertions, feature = "fault-points")))]
pub fn crash_point(_name: &str) {}

/// Nothing, in a release build.
#[cfg(not(any(debug_assertions, feature = "fault-points")))]
pub fn torn_point(_name: &str, _bytes: &[u8], _half: impl FnOnce(&[u8])) {}
