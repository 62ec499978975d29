//! A full disk: a real one, of a few megabytes, in a mount of its own.

use super::{Base, Trial};
use std::process::Command;

/// Runs in name spaces of its own, with a small file system over the project's run directory; `None` where the system allows no such thing.
fn on_a_small_disk(trial: &Trial, kilobytes: u32) -> Option<(i32, String)> {
    let possible = Command::new("unshare").args(["-rm", "true"]).output().is_ok_and(|output| output.status.success());
    if !possible {
        eprintln!("no mount name spaces here: the full disk is not tried");
        return None;
    }
    // The copy lies on the small disk; afterwards everything that is there is copied back to be looked at.
    let script = format!(
        "set -e; mkdir -p '{0}.disk'; mount -t tmpfs -o size={kilobytes}k none '{0}.disk'; cp -a '{0}' '{0}.disk/project'; \
         code=0; \"$1\" resume --format json --repo '{0}.disk/project' || code=$?; rm -rf '{0}'; cp -a '{0}.disk/project' '{0}'; exit $code",
        trial.project.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_rsf")]).env("RSF_NO_WATCHDOG", "1");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("RSF_CRASH_AT");
    let output = command.output().unwrap();
    Some((
        output.status.code().unwrap_or(-1),
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
    ))
}

#[test]
fn a_full_disk_ends_the_run_as_the_document_says_and_what_was_written_stays() {
    let base = Base::new();
    let mut told = 0;
    // Where exactly it becomes full differs: within a report, a log, the journal, git.
    for kilobytes in [4600, 4800, 5000, 5200] {
        let trial = base.trial();
        let Some((code, said)) = on_a_small_disk(&trial, kilobytes) else { return };
        if code == 0 {
            continue;
        }
        assert!(said.contains("disk") || said.contains("space"), "{kilobytes}: {said}");
        told += usize::from(said.contains("\"result\":\"FATAL\""));
        // Whatever happened, the journal is whole, and with room the run goes on from it (or says how it ended).
        let output = trial.rsf(&["replay"]).output().unwrap();
        assert!(output.status.success(), "{kilobytes}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(told > 0, "no disk was full in a place where the document could end the run");
}
