//! Writing a set of files into a folder, for `init` and `demo`: confined to the folder, nothing of the user's overwritten unasked.

use cap_std::fs::{Dir, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path};

/// Why files could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Files that are there already, with other content.
    #[error("{} there already and would be overwritten: {}; use --force to overwrite", count(.0), .0.join(", "))]
    Exists(Vec<String>),
    /// A path that leaves the folder.
    #[error("`{0}` is no path inside the folder")]
    Outside(String),
    /// The world said no.
    #[error("`{path}` cannot be written: {source}")]
    Io {
        /// Path inside the folder.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

fn count(files: &[String]) -> &'static str {
    if files.len() == 1 { "one file is" } else { "some files are" }
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is new.
    Written,
    /// It replaced another content.
    Replaced,
    /// It was there with the same content.
    Same,
}

/// Writes `files` (path with `/`, bytes) into `folder`. Nothing is written unless everything can be: existing files with other content are
/// refused together, unless `force` is given. Links are not followed out of the folder.
///
/// # Errors
/// See [`PlaceError`].
pub fn place<P: AsRef<str>, B: AsRef<[u8]>>(folder: &Dir, files: &[(P, B)], force: bool) -> Result<Vec<(String, Placed)>, PlaceError> {
    let mut plan = Vec::new();
    for (path, bytes) in files {
        let path = path.as_ref();
        inside(path)?;
        plan.push((path, bytes.as_ref(), state(folder, path, bytes.as_ref())?));
    }
    let clashes: Vec<String> =
        plan.iter().filter(|(.., placed)| *placed == Placed::Replaced).map(|(path, ..)| (*path).to_owned()).collect();
    if !force && !clashes.is_empty() {
        return Err(PlaceError::Exists(clashes));
    }
    for (path, bytes, placed) in &plan {
        if *placed != Placed::Same {
            write(folder, path, bytes, *placed).map_err(|source| PlaceError::Io { path: (*path).to_owned(), source })?;
        }
    }
    Ok(plan.into_iter().map(|(path, _, placed)| (path.to_owned(), placed)).collect())
}

fn inside(path: &str) -> Result<(), PlaceError> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !path.is_empty() && !path.contains(['\\', ':', '\0']) { Ok(()) } else { Err(PlaceError::Outside(path.to_owned())) }
}

fn state(folder: &Dir, path: &str, bytes: &[u8]) -> Result<Placed, PlaceError> {
    let io = |source| PlaceError::Io { path: path.to_owned(), source };
    match folder.symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Placed::Written),
        Err(error) => Err(io(error)),
        Ok(found) if !found.is_file() => Err(io(std::io::Error::other("something that is no file is in the way"))),
        Ok(found) if found.len() != bytes.len() as u64 => Ok(Placed::Replaced),
        Ok(_) => Ok(if folder.read(path).map_err(io)? == bytes { Placed::Same } else { Placed::Replaced }),
    }
}

fn write(folder: &Dir, path: &str, bytes: &[u8], placed: Placed) -> std::io::Result<()> {
    if let Some(parent) = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if placed == Placed::Written {
        // A file that appeared since the plan was made is not overwritten either.
        options.create_new(true);
    } else {
        options.truncate(true);
    }
    folder.open_with(path, &options)?.write_all(bytes)
}
