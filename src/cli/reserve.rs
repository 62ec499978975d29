//! A file that only takes up room, so that there is room for the last words when the disk is full.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the file in the run directory.
const FILE: &str = "RESERVE";
/// Room kept: enough for the end of a run, its reports and a journal that grows by a piece.
const BYTES: usize = 3 * 1024 * 1024;

/// The room that is kept.
#[derive(Clone, Debug)]
pub struct Reserve {
    path: PathBuf,
}

/// Takes up the room. Where there is too little of it already, there is no reserve and the run is told of a full disk soon enough.
pub fn make(dir: &Path) -> Reserve {
    let reserve = Reserve { path: dir.join(FILE) };
    if fill(&reserve.path).is_err() {
        reserve.give_up();
    }
    reserve
}

impl Reserve {
    /// Gives the room back; true when there was any.
    pub fn give_up(&self) -> bool {
        std::fs::remove_file(&self.path).is_ok()
    }
}

/// Written, not just set to a length: a hole keeps no room.
fn fill(path: &Path) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, BYTES as u64).is_ok() {
        return Ok(());
    }
    file.write_all(&vec![0; BYTES])
}
