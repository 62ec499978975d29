//! How long to wait before a question is asked again: pure arithmetic over what the provider said.

use crate::base::digest_bytes;
use std::time::Duration;

/// Longest wait a provider may ask for that is believed at all.
const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest wait of our own.
const LONGEST: Duration = Duration::from_secs(60);

/// What the headers say about waiting, as text.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitHeaders {
    /// `retry-after-ms`.
    pub(super) after_ms: Option<String>,
    /// `retry-after`: seconds or a date.
    pub(super) after: Option<String>,
    /// `date`: the provider's clock.
    pub(super) date: Option<String>,
}

impl WaitHeaders {
    /// The wait asked for; `None` when nothing believable was said. `now` is used where the provider does not tell its own time.
    pub(super) fn asked(&self, now: jiff::Timestamp) -> Option<Duration> {
        let millis = self.after_ms.as_deref().and_then(|text| text.trim().parse::<f64>().ok()).and_then(|ms| believable(ms / 1000.0));
        millis.or_else(|| {
            let text = self.after.as_deref()?.trim();
            text.parse::<f64>().ok().map_or_else(|| self.until(text, now), believable)
        })
    }

    fn until(&self, text: &str, now: jiff::Timestamp) -> Option<Duration> {
        let due = http_date(text)?;
        let now = self.date.as_deref().and_then(http_date).unwrap_or(now);
        let seconds = u64::try_from(due.as_second().saturating_sub(now.as_second())).unwrap_or(0);
        Some(Duration::from_secs(seconds)).filter(|wait| *wait <= BELIEVED)
    }
}

fn believable(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait <= BELIEVED)
}

fn http_date(text: &str) -> Option<jiff::Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

/// Our own wait before try number `tries` + 1: doubles each time.
pub(super) fn backoff(base: Duration, tries: u32) -> Duration {
    base.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(LONGEST)
}

/// Up to a tenth more (a second at most), so that parallel sessions do not all come back at once. The same `key` gives the same wait.
pub(super) fn jittered(wait: Duration, key: &str) -> Duration {
    let digits = digest_bytes(key.as_bytes());
    let part = digits.get(..4).and_then(|four| u16::from_str_radix(four, 16).ok()).unwrap_or(0);
    let room = (wait / 10).min(Duration::from_secs(1));
    wait + room.mul_f64(f64::from(part) / f64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(after: &str, date: Option<&str>) -> Option<Duration> {
        let headers = WaitHeaders { after_ms: None, after: Some(after.to_owned()), date: date.map(str::to_owned) };
        headers.asked("2026-10-21T07:00:00Z".parse().unwrap())
    }

    #[test]
    fn seconds_and_dates_are_understood() {
        assert_eq!(asked("7", None), Some(Duration::from_secs(7)));
        let due = "Wed, 21 Oct 2026 07:28:00 GMT";
        assert_eq!(asked(due, Some("Wed, 21 Oct 2026 07:27:30 GMT")), Some(Duration::from_secs(30)));
        assert_eq!(asked(due, None), Some(Duration::from_secs(28 * 60)));
        assert_eq!(asked("Wed, 21 Oct 2026 06:00:00 GMT", None), Some(Duration::ZERO));
    }

    #[test]
    fn junk_is_not_believed() {
        for junk in ["-3", "soon", "", "NaN", "inf", "1e300", "99999999", "Wed, 21 Oct 2099 07:28:00 GMT"] {
            assert_eq!(asked(junk, None), None, "{junk}");
        }
    }

    #[test]
    fn milliseconds_win_when_sane() {
        let now = "2026-10-21T07:00:00Z".parse().unwrap();
        let headers = |ms: &str| WaitHeaders { after_ms: Some(ms.to_owned()), after: Some("7".to_owned()), date: None };
        assert_eq!(headers("1500").asked(now), Some(Duration::from_millis(1500)));
        assert_eq!(headers("-1").asked(now), Some(Duration::from_secs(7)));
    }

    #[test]
    fn waits_grow_and_stay_bounded() {
        let base = Duration::from_millis(500);
        assert_eq!(backoff(base, 1), base);
        assert_eq!(backoff(base, 3), Duration::from_secs(2));
        assert_eq!(backoff(base, u32::MAX), LONGEST);
        assert!(jittered(Duration::from_secs(100), "a") <= Duration::from_secs(101));
        assert_ne!(jittered(LONGEST, "a"), jittered(LONGEST, "b"));
    }
}
