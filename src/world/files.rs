//! A folder that nothing read or written through it can leave.
//!
//! [`Root`] stands on a directory handle: the operating system resolves every path below that handle. A path is first resolved as text
//! ([`RelPath`]), then through links ([`Root::resolve`]); what is opened is the resolved path, so that a link inside the folder cannot
//! stand in for a place the caller would have refused. Only regular files are opened: a FIFO or a device would hang or never end.

use super::paths::{RelPath, TEMPORARY_PREFIX};
use super::{Fault, FaultKind, crash_point, torn_point};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How far back a record is looked for that may have been written before a crash.
const AGAIN_BYTES: u64 = 256 * 1024;

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A FIFO, socket or device.
    Special,
}

/// A confined folder.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    path: PathBuf,
    /// Folder for files that are not whole yet, instead of their own.
    drafts: Option<String>,
}

impl Root {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let what = format!("opening the folder `{}`", path.display());
        let path = path.canonicalize().map_err(|error| Fault::io(&what, &error))?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(|error| Fault::io(&what, &error))?;
        Ok(Self { dir, path, drafts: None })
    }

    /// The same, but files that are being written stand in the folder `drafts` of it until they are whole: what a crash leaves of them then
    /// is nowhere in anybody's way. A file on another file system is drafted beside its place as ever.
    #[must_use]
    pub fn with_drafts(self, drafts: impl Into<String>) -> Self {
        Self { drafts: Some(drafts.into()), ..self }
    }

    /// Removes what a process that crashed left in the drafts. Only for the one process that works on the folder.
    pub fn clear_drafts(&self) {
        if let Some(real) = self.drafts.as_deref().and_then(|drafts| self.resolve(drafts).ok()).filter(|real| !real.is_root()) {
            // What cannot be removed is in nobody's way.
            let _ = self.dir.remove_dir_all(real.as_str());
        }
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path with every link on its way followed; what does not exist yet is taken as written.
    ///
    /// # Errors
    /// Denied: leaves the folder, enters `.git`, or ends at a link that points nowhere.
    pub fn resolve(&self, path: &str) -> Result<RelPath, Fault> {
        let wanted = RelPath::parse(path)?;
        let mut existing = wanted.as_str();
        let mut rest = "";
        loop {
            if existing.is_empty() {
                return Ok(wanted);
            }
            match self.dir.symlink_metadata(existing) {
                Ok(_) => break,
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(confined(path, &error)),
            }
            let cut = existing.rfind('/').unwrap_or(0);
            rest = &wanted.as_str()[cut..];
            existing = &wanted.as_str()[..cut];
        }
        let real = self.dir.canonicalize(existing).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Fault::denied(format!("`{}` is a link that points nowhere", existing.escape_debug())),
            _ => confined(path, &error),
        })?;
        let real = real.to_str().ok_or_else(|| Fault::denied(format!("`{path}` leads to a name that is not UTF-8")))?;
        RelPath::parse(&format!("{}{rest}", real.replace(std::path::MAIN_SEPARATOR, "/")))
            .map_err(|_| Fault::denied(format!("`{}` leads to a place that no tool touches", path.escape_debug())))
    }

    /// What stands at the path, links followed; `None` for nothing.
    ///
    /// # Errors
    /// As [`Root::resolve`].
    pub fn kind(&self, path: &str) -> Result<Option<Kind>, Fault> {
        let real = self.resolve(path)?;
        if real.is_root() {
            return Ok(Some(Kind::Folder));
        }
        self.kind_of(&real)
    }

    /// True when something stands at the path.
    ///
    /// # Errors
    /// As [`Root::resolve`].
    pub fn exists(&self, path: &str) -> Result<bool, Fault> {
        Ok(self.kind(path)?.is_some())
    }

    /// The bytes of a regular file, `None` where there is none.
    ///
    /// # Errors
    /// Denied, more than `max` bytes, no regular file, unreadable.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, Fault> {
        let real = self.resolve(path)?;
        if self.regular(&real, "read")?.is_none() {
            return Ok(None);
        }
        let file = self.open_real(&real, OpenOptions::new().read(true))?;
        let size = file.metadata().map_err(|error| reading(path, &error))?.len();
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or(0));
        file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| reading(path, &error))?;
        if bytes.len() as u64 > max {
            return Err(Fault::new(FaultKind::TooLarge, format!("`{path}` is larger than {max} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Writes a file so that a reader sees the old or the new content and a crash leaves one of them: temporary file beside it, fsync,
    /// rename, fsync of the folder. Missing folders are made; the mode of an existing file is kept.
    ///
    /// # Errors
    /// Denied, disk full, unwritable.
    pub fn write_atomic(&self, path: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.put(path, bytes, true)
    }

    /// [`Root::write_atomic`] without waiting for the disk: a reader sees the old or the new content, a crash of the machine may leave either
    /// or none. For state that is cheap to lose.
    ///
    /// # Errors
    /// Denied, disk full, unwritable.
    pub fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.put(path, bytes, false)
    }

    fn put(&self, path: &str, bytes: &[u8], durable: bool) -> Result<(), Fault> {
        let real = self.resolve(path)?;
        let what = format!("writing `{path}`");
        let old = self.regular(&real, "written")?;
        let (folder, name) = real.split_last();
        let parent = self.open_folder(folder).map_err(|error| Fault::io(&what, &error))?;
        let temporary = format!("{TEMPORARY_PREFIX}{}-{}", std::process::id(), TEMPORARY.fetch_add(1, Ordering::Relaxed));
        let drafts = self.drafts.as_deref().map(|drafts| self.resolve(drafts)).transpose()?;
        let elsewhere = drafts.map(|drafts| self.open_folder(drafts.as_str())).transpose().map_err(|error| Fault::io(&what, &error))?;
        let mut written = match &elsewhere {
            Some(drafts) => draft(drafts, &temporary, &parent, name, bytes, old.as_ref(), durable),
            None => draft(&parent, &temporary, &parent, name, bytes, old.as_ref(), durable),
        };
        if elsewhere.is_some() && written.as_ref().is_err_and(|error| error.kind() == ErrorKind::CrossesDevices) {
            written = draft(&parent, &temporary, &parent, name, bytes, old.as_ref(), durable);
        }
        written.and_then(|()| if durable { sync_folder(&parent) } else { Ok(()) }).map_err(|error| Fault::io(&what, &error))
    }

    /// Appends one record to a file, making it and its folders. Where a crash tore the last line, and what is left of it is how `record`
    /// begins, it is completed; any other torn line stays as it is and the record begins a new one. With `again`, a record that is among
    /// the file's last lines already is not written a second time.
    ///
    /// # Errors
    /// Denied, disk full, unwritable.
    pub fn append(&self, path: &str, record: &[u8], again: bool) -> Result<(), Fault> {
        let real = self.resolve(path)?;
        let what = format!("appending to `{path}`");
        self.regular(&real, "written")?;
        self.open_folder(real.split_last().0).map_err(|error| Fault::io(&what, &error))?;
        let mut file = self.open_real(&real, OpenOptions::new().read(true).append(true).create(true))?;
        let reach = if again { AGAIN_BYTES.max(record.len() as u64) } else { record.len() as u64 };
        let tail = tail(&mut file, reach).map_err(|error| Fault::io(&what, &error))?;
        if again && tail.split_inclusive(|byte| *byte == b'\n').any(|line| line == record) {
            return Ok(());
        }
        let torn = tail.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = match record.strip_prefix(torn) {
            Some(rest) => rest.to_vec(),
            None => [b"\n", record].concat(),
        };
        torn_point("append.torn", &line, |half| drop(file.write_all(half)));
        let written = file.write_all(&line).map_err(|error| Fault::io(&what, &error));
        crash_point("append.written");
        written
    }

    /// Removes a file (or the link at the path, not what it points to). True when there was one.
    ///
    /// # Errors
    /// Denied, or it is a folder.
    pub fn remove(&self, path: &str) -> Result<bool, Fault> {
        let wanted = RelPath::parse(path)?;
        let (folder, name) = wanted.split_last();
        let place = self.resolve(folder)?;
        let real = if place.is_root() { name.to_owned() } else { format!("{}/{name}", place.as_str()) };
        match self.dir.remove_file(&real) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(Fault::io(&format!("removing `{path}`"), &error)),
        }
    }

    /// Moves a file or folder, making the folders of the new place.
    ///
    /// # Errors
    /// Denied, or the system refuses.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Fault> {
        let (source, target) = (self.resolve(from)?, self.resolve(to)?);
        let what = format!("moving `{from}` to `{to}`");
        if source.is_root() || target.is_root() {
            return Err(Fault::denied(format!("{what}: the project's own folder stays where it is")));
        }
        self.open_folder(target.split_last().0).map_err(|error| Fault::io(&what, &error))?;
        self.dir.rename(source.as_str(), &self.dir, target.as_str()).map_err(|error| Fault::io(&what, &error))
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// Denied, disk full, or a file is in the way.
    pub fn create_dir_all(&self, path: &str) -> Result<(), Fault> {
        let real = self.resolve(path)?;
        self.open_folder(real.as_str()).map(|_| ()).map_err(|error| Fault::io(&format!("making the folder `{path}`"), &error))
    }

    /// The folder at a resolved path, made where it is missing.
    pub(super) fn open_folder(&self, folder: &str) -> std::io::Result<Dir> {
        if folder.is_empty() {
            return self.dir.try_clone();
        }
        self.dir.create_dir_all(folder)?;
        self.dir.open_dir(folder)
    }

    fn kind_of(&self, real: &RelPath) -> Result<Option<Kind>, Fault> {
        match self.dir.symlink_metadata(real.as_str()) {
            Ok(found) if found.is_file() => Ok(Some(Kind::File)),
            Ok(found) if found.is_dir() => Ok(Some(Kind::Folder)),
            Ok(_) => Ok(Some(Kind::Special)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(confined(real.as_str(), &error)),
        }
    }

    /// Metadata of the regular file at a resolved path, `None` for nothing; anything else is refused.
    fn regular(&self, real: &RelPath, verb: &str) -> Result<Option<Metadata>, Fault> {
        let path = real.as_str();
        let kind = if real.is_root() { Some(Kind::Folder) } else { self.kind_of(real)? };
        match kind {
            None => Ok(None),
            Some(Kind::File) => self.dir.symlink_metadata(path).map(Some).map_err(|error| reading(path, &error)),
            Some(Kind::Folder) => Err(Fault::invalid(format!("`{path}` is a folder; only files are {verb}"))),
            Some(Kind::Special) => Err(Fault::denied(format!("`{path}` is no regular file (a pipe, socket or device)"))),
        }
    }

    /// Opens a resolved path without following a last link and without waiting for the other end of a pipe.
    pub(super) fn open_real(&self, real: &RelPath, options: &mut OpenOptions) -> Result<File, Fault> {
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
            options.custom_flags(flags.bits().cast_signed());
        }
        let file = self.dir.open_with(real.as_str(), options).map_err(|error| reading(real.as_str(), &error))?;
        // Looked at again through the handle: what was checked by name may have been replaced since.
        match file.metadata() {
            Ok(found) if found.is_file() => Ok(file),
            Ok(_) => Err(Fault::denied(format!("`{}` is no regular file", real.as_str()))),
            Err(error) => Err(reading(real.as_str(), &error)),
        }
    }
}

/// Writes a draft in one folder and moves it to its place in another.
fn draft(drafts: &Dir, draft: &str, parent: &Dir, name: &str, bytes: &[u8], old: Option<&Metadata>, durable: bool) -> std::io::Result<()> {
    let drafted = write_new(drafts, draft, bytes, old, durable);
    crash_point("file.drafted");
    let written = drafted.and_then(|()| drafts.rename(draft, parent, name));
    crash_point("file.renamed");
    if written.is_err() {
        // The draft may not exist (a full disk): the fault that counts is the first one.
        let _ = drafts.remove_file(draft);
    }
    written
}

fn write_new(parent: &Dir, name: &str, bytes: &[u8], old: Option<&Metadata>, durable: bool) -> std::io::Result<()> {
    let mut file = parent.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    if durable { file.sync_all() } else { Ok(()) }
}

/// The last bytes of a file, at most `most`; leaves the position anywhere (the file is open for appending).
fn tail(file: &mut File, most: u64) -> std::io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn sync_folder(folder: &Dir) -> std::io::Result<()> {
    match folder.open(".")?.sync_all() {
        // Some file systems have no fsync for folders; the rename is as safe as they can make it.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Dir) -> std::io::Result<()> {
    Ok(())
}

fn reading(path: &str, error: &std::io::Error) -> Fault {
    Fault::io(&format!("opening `{path}`"), error)
}

/// What the confined directory says when a path leads out of it, or into a circle of links.
fn confined(path: &str, error: &std::io::Error) -> Fault {
    Fault::denied(format!("`{}` cannot be followed inside the project: {error}", path.escape_debug()))
}
