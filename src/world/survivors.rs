//! Processes that outlive the command that started them: daemons that left its group are found by a mark in their environment.
//!
//! Linux only (`/proc`); elsewhere the process group is all there is. Only processes that carry this call's own mark are ended.

/// Most searches for processes of one kind.
const SWEEPS: u32 = 5;

/// Name of the environment variable that carries the mark.
pub(super) const MARK: &str = "RSF_PROCESS_MARK";

/// Ends every process whose environment holds `mark`. Returns how many there were.
pub(super) fn end_marked(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}").into_bytes();
    end_those(&|entry| entry == wanted)
}

/// Ends every process whose environment variable `name` is a path below `folder`: those of an engine that crashed, known by the scratch
/// folder that only it handed out. Returns how many there were.
pub fn end_users_of(name: &str, folder: &std::path::Path) -> usize {
    let mut wanted = format!("{name}={}", folder.display()).into_bytes();
    wanted.push(b'/');
    let below = |entry: &[u8]| entry.starts_with(&wanted);
    // Again while some are found: one may have been starting another.
    (0..SWEEPS).map(|_| end_those(&below)).take_while(|ended| *ended > 0).sum()
}

#[cfg(target_os = "linux")]
fn end_those(wanted: &dyn Fn(&[u8]) -> bool) -> usize {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    let mut ended = 0;
    for raw in pids {
        let Some(pid) = Pid::from_raw(raw) else { continue };
        if !carries(raw, wanted) {
            continue;
        }
        // Through a handle, and looked at once more, so that a number used again by another process is never hit.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if carries(raw, wanted) && pidfd_send_signal(&handle, Signal::KILL).is_ok() {
            ended += 1;
        }
    }
    ended
}

#[cfg(target_os = "linux")]
fn carries(pid: i32, wanted: &dyn Fn(&[u8]) -> bool) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| environment.split(|byte| *byte == 0).any(wanted))
}

/// Ends nothing: there is no way to find them here.
#[cfg(not(target_os = "linux"))]
fn end_those(_wanted: &dyn Fn(&[u8]) -> bool) -> usize {
    0
}
