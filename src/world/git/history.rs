//! What was committed: one commit, or the newest ones.

use super::{Repo, git_fault, shown_path, system_path};
use crate::base::Timestamp;
use crate::world::{Fault, FaultKind};
use git2::{Commit, Sort};

/// Commits looked at while searching messages.
const MAX_WALK: usize = 100_000;

/// A commit as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id.
    pub sha: String,
    /// Ids of its parents.
    pub parents: Vec<String>,
    /// Message as written.
    pub message: String,
    /// `name <e-mail>`.
    pub author: String,
    /// Time of the author, RFC 3339 in UTC.
    pub time: String,
}

impl Repo {
    /// One commit.
    ///
    /// # Errors
    /// No such commit.
    pub fn commit_info(&self, name: &str) -> Result<CommitInfo, Fault> {
        self.commit_of(name).map(|commit| info(&commit))
    }

    /// The bytes of a file of the project as a commit has it, `None` where there is none.
    ///
    /// # Errors
    /// No such commit, the path is a folder, or the file is larger than `max` bytes.
    pub fn file_at(&self, name: &str, path: &str, max: u64) -> Result<Option<Vec<u8>>, Fault> {
        let tree = self.commit_of(name)?.tree().map_err(|error| git_fault("reading a commit", &error))?;
        let full = format!("{}{path}", self.prefix);
        let Ok(entry) = tree.get_path(system_path(full.as_bytes())) else { return Ok(None) };
        let blob = entry.to_object(&self.inner).and_then(|object| object.peel_to_blob());
        let blob = blob.map_err(|_| Fault::invalid(format!("`{path}` is no file in that commit")))?;
        if blob.size() as u64 > max {
            return Err(Fault::new(FaultKind::TooLarge, format!("`{path}` is larger than {max} bytes in that commit")));
        }
        Ok(Some(blob.content().to_vec()))
    }

    /// The newest commits reachable from `from` (HEAD unless given) whose message contains a text; none on an unborn branch.
    ///
    /// # Errors
    /// No such commit, an unreadable repository.
    pub fn log(&self, from: Option<&str>, contains: Option<&str>, max: usize) -> Result<Vec<CommitInfo>, Fault> {
        let start = match from {
            Some(name) => self.commit_of(name)?.id(),
            None => match self.head_commit()? {
                Some(head) => head.id(),
                None => return Ok(Vec::new()),
            },
        };
        let commits = self.walk(start, contains, max);
        commits.map_err(|error| git_fault("reading the history", &error))
    }

    fn walk(&self, start: git2::Oid, contains: Option<&str>, max: usize) -> Result<Vec<CommitInfo>, git2::Error> {
        let mut walk = self.inner.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(start)?;
        let mut found = Vec::new();
        for id in walk.take(MAX_WALK) {
            if found.len() >= max {
                break;
            }
            let commit = self.inner.find_commit(id?)?;
            if contains.is_none_or(|text| shown_path(commit.message_bytes()).contains(text)) {
                found.push(info(&commit));
            }
        }
        Ok(found)
    }
}

fn info(commit: &Commit<'_>) -> CommitInfo {
    let author = commit.author();
    CommitInfo {
        sha: commit.id().to_string(),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        message: shown_path(commit.message_bytes()),
        author: format!("{} <{}>", shown_path(author.name_bytes()), shown_path(author.email_bytes())),
        time: Timestamp(author.when().seconds().saturating_mul(1000)).rfc3339(),
    }
}
