//! Permissions as a document writes them, and the grants they become at the moment of a call.

use serde::{Deserialize, Serialize};

/// Whether programs may be started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exec {
    /// Never.
    #[default]
    No,
    /// Only inside a checkout made by `git.checkout`.
    Isolated,
    /// In the project.
    Yes,
}

/// Access to a kind of store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// None.
    #[default]
    No,
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// `permissions` of a role, cell or agent operation; `None` leaves the outer one as it is. Globs may be templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Globs of files that may be read, relative to the project.
    pub read: Option<Vec<String>>,
    /// Globs of files that may be written.
    pub write: Option<Vec<String>>,
    /// Whether programs may be started.
    pub exec: Option<Exec>,
    /// Whether started programs may use the network.
    pub network: Option<bool>,
    /// Access to git.
    pub git: Option<Access>,
    /// Access to the RDF files.
    pub rdf: Option<Access>,
}

/// What one call may do: a policy with every template rendered and every layer intersected. Nothing is allowed by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// Layers of globs; a file may be read when every layer has a glob that matches it (no layer: nothing may be read).
    pub read: Vec<Vec<String>>,
    /// Same for writing.
    pub write: Vec<Vec<String>>,
    /// Least of the layers.
    pub exec: Exec,
    /// All layers allow it.
    pub network: bool,
    /// Least of the layers.
    pub git: Access,
    /// Least of the layers.
    pub rdf: Access,
}
