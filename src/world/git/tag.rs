//! Naming a commit. A tag is never moved.

use super::{Repo, git_fault};
use crate::world::Fault;
use git2::ObjectType;

/// A tag as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Its name.
    pub name: String,
    /// The commit it names.
    pub commit: String,
    /// It was there already, at this commit.
    pub existed: bool,
}

impl Repo {
    /// Tags a commit (HEAD unless given), annotated when there is a message.
    ///
    /// # Errors
    /// A name git does not allow, no such commit, a tag of that name at another commit.
    pub fn tag(&self, name: &str, commit: Option<&str>, message: Option<&str>) -> Result<Tagged, Fault> {
        if name.starts_with('-') || !git2::Tag::is_valid_name(name) {
            return Err(Fault::invalid(format!("`{}` is no name git allows for a tag", name.escape_debug())));
        }
        let target = self.commit_of(commit.unwrap_or("HEAD"))?;
        let tagged = |existed| Tagged { name: name.to_owned(), commit: target.id().to_string(), existed };
        if let Ok(existing) = self.inner.find_reference(&format!("refs/tags/{name}")) {
            let at = existing.peel(ObjectType::Commit).map(|object| object.id());
            return match at {
                Ok(id) if id == target.id() => Ok(tagged(true)),
                Ok(id) => Err(Fault::failed(format!("the tag `{name}` names the commit {id} already; choose another name"))),
                Err(error) => Err(git_fault("reading the tag", &error)),
            };
        }
        self.patiently("tagging", || match message {
            Some(text) => self.inner.tag(name, target.as_object(), &self.inner.signature()?, text, false),
            None => self.inner.tag_lightweight(name, target.as_object(), false),
        })?;
        Ok(tagged(false))
    }
}
