//! Where a journal lies: a file with its blobs, or memory. This is the only file of the room that writes; what the bytes mean it does not know.

use super::Blobs;
use crate::world::{crash_point, torn_point};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the journal in its run's folder.
pub const FILE: &str = "journal.jsonl";
/// The file grows by so many bytes of zeros at a time: appending within them changes no metadata, which makes each commit cheaper.
const CHUNK: u64 = 1024 * 1024;

/// How much a commit promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives the loss of power.
    #[default]
    Full,
    /// It survives the end of the process only (benchmarks, throw-away runs).
    None,
}

/// What a journal needs of a disk. Tests hand in disks that fail.
pub trait Disk: Send {
    /// Writes `bytes` at offset `at`, growing the file where needed.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    ///
    /// # Errors
    /// Those of the operating system.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to `length` bytes, durably.
    ///
    /// # Errors
    /// Those of the operating system.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Writes a blob under its digest; a whole one appears or none.
    ///
    /// # Errors
    /// Those of the operating system.
    fn blob(&mut self, digest: &str, bytes: &[u8]) -> io::Result<()>;
    /// Makes the names of the blobs durable.
    ///
    /// # Errors
    /// Those of the operating system.
    fn sync_blobs(&mut self) -> io::Result<()>;
}

/// A journal in a folder.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    blobs: PathBuf,
    /// The file is this long; beyond the last line it holds zeros.
    reserved: u64,
    durability: Durability,
}

impl FileDisk {
    /// A new, empty journal in `folder`, which is made where it is missing.
    ///
    /// # Errors
    /// `AlreadyExists` where there is a journal; else those of the operating system.
    pub fn create(folder: &Path, durability: Durability) -> io::Result<Self> {
        let blobs = folder.join("blobs");
        fs::create_dir_all(&blobs)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(folder.join(FILE))?;
        if durability == Durability::Full {
            sync_folder(folder)?;
            folder.parent().map_or(Ok(()), sync_folder)?;
            folder.parent().and_then(Path::parent).map_or(Ok(()), sync_folder)?;
        }
        Ok(Self { file, blobs, reserved: 0, durability })
    }

    /// An existing journal, to be appended to.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(folder: &Path, durability: Durability) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(folder.join(FILE))?;
        let reserved = file.metadata()?.len();
        Ok(Self { file, blobs: folder.join("blobs"), reserved, durability })
    }

    /// Where the file system cannot reserve (or is full), nothing is lost but speed: the write itself tells.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    fn reserve(&mut self, end: u64) {
        if end > self.reserved {
            let wanted = end.div_ceil(CHUNK).saturating_mul(CHUNK);
            let length = wanted.saturating_sub(self.reserved);
            let done = rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), self.reserved, length);
            self.reserved = if done.is_ok() { wanted } else { end };
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    fn reserve(&mut self, end: u64) {
        let _ = CHUNK;
        self.reserved = self.reserved.max(end);
    }
}

impl Disk for FileDisk {
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        crash_point("journal.before");
        self.reserve(at.saturating_add(bytes.len() as u64));
        self.file.seek(SeekFrom::Start(at))?;
        torn_point("journal.torn", bytes, |half| drop(self.file.write_all(half)));
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = if self.durability == Durability::Full { self.file.sync_data() } else { Ok(()) };
        crash_point("journal.synced");
        synced
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.reserved = length;
        if self.durability == Durability::Full { self.file.sync_all() } else { Ok(()) }
    }

    fn blob(&mut self, digest: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.blobs.join(digest);
        // Same name, same content: a blob of the right length is the one. A damaged one is found by whoever reads it.
        if fs::metadata(&path).is_ok_and(|known| known.len() == bytes.len() as u64) {
            return Ok(());
        }
        let draft = self.blobs.join(format!(".{digest}.part"));
        let mut file = File::create(&draft)?;
        torn_point("blob.torn", bytes, |half| drop(file.write_all(half)));
        file.write_all(bytes)?;
        if self.durability == Durability::Full {
            file.sync_all()?;
        }
        let renamed = fs::rename(&draft, &path);
        crash_point("blob.written");
        renamed
    }

    fn sync_blobs(&mut self) -> io::Result<()> {
        if self.durability == Durability::Full { sync_folder(&self.blobs) } else { Ok(()) }
    }
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // An empty path is the parent of a relative name: the present folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// A journal in memory. Clones share it, so that it can be read while it grows.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    bytes: Arc<Mutex<Vec<u8>>>,
    blobs: Arc<Mutex<std::collections::BTreeMap<String, Vec<u8>>>>,
}

impl MemoryDisk {
    /// A copy of the file as it is now.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its blobs.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs::Memory(Arc::clone(&self.blobs))
    }
}

impl Disk for MemoryDisk {
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(at).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        file.resize(at, 0);
        file.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).truncate(length);
        Ok(())
    }

    fn blob(&mut self, digest: &str, bytes: &[u8]) -> io::Result<()> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn sync_blobs(&mut self) -> io::Result<()> {
        Ok(())
    }
}
