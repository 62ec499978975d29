//! The files below a bundle's root: regular text files of its known folders, bounded in number, depth and size. Links are not followed.

use super::FOLDERS;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Largest file of a bundle, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;
/// Bytes of all files together.
const TOTAL_BYTES: u64 = 32 * 1024 * 1024;
/// Files and folders looked at.
const MAX_ENTRIES: usize = 5000;
/// Folders within folders.
const MAX_DEPTH: usize = 16;

type Texts = BTreeMap<String, Arc<str>>;

/// The files by path, and those left out with the reason.
pub(super) fn read(root: &Path) -> (Texts, BTreeMap<String, String>) {
    let mut walk = Walk { files: BTreeMap::new(), skipped: BTreeMap::new(), bytes: 0, entries: 0 };
    for folder in FOLDERS {
        let path = root.join(folder);
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            walk.folder(&path, folder, 0);
        }
    }
    (walk.files, walk.skipped)
}

struct Walk {
    files: Texts,
    skipped: BTreeMap<String, String>,
    bytes: u64,
    entries: usize,
}

impl Walk {
    fn folder(&mut self, path: &Path, name: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(path) else {
            self.skipped.insert(name.to_owned(), "the folder cannot be read".to_owned());
            return;
        };
        let mut entries: Vec<_> = entries.take(MAX_ENTRIES).filter_map(Result::ok).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                self.skipped.insert(name.to_owned(), format!("more than {MAX_ENTRIES} files"));
                return;
            }
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else { continue };
            let inner = format!("{name}/{file_name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => self.folder(&entry.path(), &inner, depth + 1),
                Ok(kind) if kind.is_file() => self.file(&entry.path(), inner),
                _ => {
                    self.skipped.insert(inner, "is a link, a device, or lies too deep".to_owned());
                }
            }
        }
    }

    fn file(&mut self, path: &Path, name: String) {
        let size = fs::metadata(path).map_or(0, |meta| meta.len());
        if size > FILE_BYTES || self.bytes + size > TOTAL_BYTES {
            self.skipped.insert(name, "is too large".to_owned());
            return;
        }
        match fs::read_to_string(path) {
            Ok(text) => {
                self.bytes += size;
                self.files.insert(name, text.into());
            }
            Err(_) => {
                self.skipped.insert(name, "is no readable UTF-8 text".to_owned());
            }
        }
    }
}
