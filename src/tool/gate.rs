//! The gate: what one call may do. Every permission of every tool is decided here and nowhere else.
//!
//! Grants come as layers (role, cell, operation); a file passes when every layer has a glob for it. Protected paths are never written
//! through a tool, whatever was granted.

use super::{denied, tool_error};
use crate::model::tool::{Descriptor, Permission, ToolError};
use crate::model::{Access, Exec, Grants};
use crate::world::{RelPath, compile_globs};
use globset::GlobSet;

/// Compiled grants of one call.
#[derive(Clone, Debug)]
pub struct Gate {
    read: Vec<Layer>,
    write: Vec<Layer>,
    protected: GlobSet,
    exec: Exec,
    network: bool,
    git: Access,
    rdf: Access,
}

#[derive(Clone, Debug)]
struct Layer {
    globs: Vec<String>,
    set: GlobSet,
}

impl Gate {
    /// Compiles grants. `protected` are globs of files and folders that no tool writes.
    ///
    /// # Errors
    /// A glob that does not parse.
    pub fn new(grants: &Grants, protected: &[String]) -> Result<Self, ToolError> {
        // A protected folder protects what is in it; the file system may not know cases apart, so neither does this.
        let whole: Vec<String> = protected.iter().flat_map(|glob| [glob.clone(), format!("{}/**", glob.trim_end_matches('/'))]).collect();
        Ok(Self {
            read: layers(&grants.read)?,
            write: layers(&grants.write)?,
            protected: compile_globs(&whole, true).map_err(tool_error)?,
            exec: grants.exec,
            network: grants.network,
            git: grants.git,
            rdf: grants.rdf,
        })
    }

    /// Whether the tool may be called at all. `isolated` tells that the call works in a checkout.
    ///
    /// # Errors
    /// Denied.
    pub fn may_call(&self, tool: &Descriptor, isolated: bool) -> Result<(), ToolError> {
        let name = tool.name;
        let missing =
            |permission: &str| Err(denied(format!("{name} needs the permission `{permission}`, which this role does not have here")));
        match tool.permission {
            Permission::Nothing => Ok(()),
            Permission::Read if self.read.is_empty() => missing("read"),
            Permission::Write if self.write.is_empty() => missing("write"),
            Permission::Read | Permission::Write => Ok(()),
            Permission::Exec => match self.exec {
                Exec::No => missing("exec"),
                Exec::Isolated if !isolated => {
                    Err(denied(format!("{name} is allowed only inside a checkout here; call git.checkout and pass its handle as `in`")))
                }
                Exec::Isolated | Exec::Yes => Ok(()),
            },
            Permission::GitRead if self.git < Access::Read => missing("git: read"),
            Permission::GitWrite if self.git < Access::Write => missing("git: write"),
            Permission::RdfRead if self.rdf < Access::Read => missing("rdf: read"),
            Permission::RdfWrite if self.rdf < Access::Write => missing("rdf: write"),
            Permission::GitRead | Permission::GitWrite | Permission::RdfRead | Permission::RdfWrite => Ok(()),
        }
    }

    /// The layers of globs for reading and for writing.
    pub(super) fn layers(&self) -> (Vec<&[String]>, Vec<&[String]>) {
        (globs(&self.read), globs(&self.write))
    }

    /// Whether programs may use the network.
    #[must_use]
    pub fn network(&self) -> bool {
        self.network
    }

    /// Whether git may be read.
    #[must_use]
    pub fn reads_git(&self) -> bool {
        self.git >= Access::Read
    }

    /// Whether a file may be read.
    ///
    /// # Errors
    /// Denied; the message names the globs that were in force.
    pub fn may_read(&self, path: &RelPath) -> Result<(), ToolError> {
        passes(&self.read, path, "read")
    }

    /// Whether a file may be written.
    ///
    /// # Errors
    /// Denied; the message names the globs that were in force.
    pub fn may_write(&self, path: &RelPath) -> Result<(), ToolError> {
        self.unprotected(path)?;
        passes(&self.write, path, "write")
    }

    /// Refuses what no tool may change: the run directory, the workflow's own files.
    ///
    /// # Errors
    /// Denied.
    pub fn unprotected(&self, path: &RelPath) -> Result<(), ToolError> {
        if path.is_root() || self.protected.is_match(path.as_str()) {
            return Err(denied(format!("`{}` belongs to the engine or the workflow itself; no role writes it", path.as_str())));
        }
        Ok(())
    }
}

fn layers(granted: &[Vec<String>]) -> Result<Vec<Layer>, ToolError> {
    let compile = |globs: &Vec<String>| Ok(Layer { globs: globs.clone(), set: compile_globs(globs, false).map_err(tool_error)? });
    granted.iter().map(compile).collect()
}

fn globs(layers: &[Layer]) -> Vec<&[String]> {
    layers.iter().map(|layer| layer.globs.as_slice()).collect()
}

fn passes(layers: &[Layer], path: &RelPath, verb: &str) -> Result<(), ToolError> {
    let path = path.as_str();
    if layers.is_empty() {
        return Err(denied(format!("`{path}` may not be {}: this role may {verb} nothing here", past(verb))));
    }
    match layers.iter().find(|layer| !layer.set.is_match(path)) {
        None => Ok(()),
        Some(layer) if layer.globs.is_empty() => {
            Err(denied(format!("`{path}` may not be {}: this role may {verb} nothing here", past(verb))))
        }
        Some(layer) => Err(denied(format!("`{path}` may not be {}: this role may {verb} only {}", past(verb), layer.globs.join(", ")))),
    }
}

fn past(verb: &str) -> &str {
    if verb == "write" { "written" } else { "read" }
}
