//! What the kernel keeps of a run's permissions, told before anything starts; and what a person adds to it.
//!
//! `config.sandbox` names further folders that programs of roles may read or write. Nothing is granted here; the registry does that.

use crate::model::{Exec, Policy, Workflow};
use crate::tool::confine;
use crate::world::Support;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folders outside the project that programs may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Further {
    /// Read, and start programs from.
    pub read: Vec<PathBuf>,
    /// Read and write.
    pub write: Vec<PathBuf>,
}

/// Reads `config.sandbox`.
///
/// # Errors
/// Something else than lists of absolute paths (`~/` is the home folder).
pub fn further(config: &Value, home: Option<&Path>) -> Result<Further, String> {
    let Some(given) = config.get("sandbox").filter(|given| !given.is_null()) else { return Ok(Further::default()) };
    let fields = given.as_object().ok_or("config.sandbox: expected an object with `read` or `write`")?;
    if let Some(strange) = fields.keys().find(|name| !matches!(name.as_str(), "read" | "write")) {
        return Err(format!("config.sandbox: unknown field `{}`; there are `read` and `write`", strange.escape_debug()));
    }
    let list = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(paths)) => paths.iter().map(|path| place(name, path, home)).collect(),
        Some(_) => Err(format!("config.sandbox.{name}: expected a list of folders")),
    };
    Ok(Further { read: list("read")?, write: list("write")? })
}

fn place(name: &str, path: &Value, home: Option<&Path>) -> Result<PathBuf, String> {
    let text = path.as_str().unwrap_or_default();
    let full = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    let plain = full.is_absolute() && full.parent().is_some() && !full.components().any(|part| part.as_os_str() == "..");
    let shown = text.escape_debug();
    plain
        .then_some(full)
        .ok_or_else(|| format!("config.sandbox.{name}: `{shown}` is no absolute path of a folder (`~/` is the home folder)"))
}

/// What to read before saying yes: whether the kernel keeps the permissions, and which globs it cannot keep.
#[must_use]
pub fn notes(workflow: &Workflow, support: Support, further: &Further) -> Vec<String> {
    let runs: Vec<(&str, &Policy)> = workflow
        .roles
        .iter()
        .filter_map(|role| Some((role.id.as_str(), role.agent.as_ref()?.permissions.as_ref()?)))
        .filter(|(_, policy)| !matches!(policy.exec, None | Some(Exec::No)))
        .collect();
    if runs.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![support.in_words()];
    for (role, policy) in runs {
        let globs: Vec<String> = [&policy.read, &policy.write].into_iter().flatten().flatten().cloned().collect();
        // What a template gives is known only later.
        let unbound: Vec<String> = confine::unbound(&globs).into_iter().filter(|glob| !glob.contains("{{")).collect();
        if !unbound.is_empty() {
            let globs = unbound.join(", ");
            notes.push(format!("{role}: no folder, so open to its tools but not to the programs it starts: {globs}"));
        }
    }
    for (verb, paths) in [("read", &further.read), ("write", &further.write)] {
        if !paths.is_empty() {
            let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            notes.push(format!("programs of all roles may also {verb} {} (config.sandbox)", shown.join(", ")));
        }
    }
    notes
}

/// Why a run that insists on confined programs may not start here.
#[must_use]
pub fn refusal(required: bool, support: Support) -> Option<String> {
    (required && !support.is_full()).then(|| format!("--require-sandbox: {}", support.in_words()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_whole_paths_are_taken() {
        let read = |config: Value| further(&config, Some(Path::new("/home/me")));
        let some = read(json!({"sandbox": {"read": ["~/.cache/x", "/srv/data"], "write": ["/dev/shm"]}})).unwrap();
        assert_eq!(some.read, [PathBuf::from("/home/me/.cache/x"), PathBuf::from("/srv/data")]);
        assert_eq!(some.write, [PathBuf::from("/dev/shm")]);
        assert_eq!(read(json!({})), Ok(Further::default()));
        for wrong in [
            json!({"read": ["x"]}),
            json!({"read": ["/"]}),
            json!({"read": ["/a/../.."]}),
            json!({"red": []}),
            json!({"read": "x"}),
            json!([]),
        ] {
            assert!(read(json!({ "sandbox": wrong })).unwrap_err().starts_with("config.sandbox"), "{wrong}");
        }
    }

    #[test]
    fn a_kernel_that_cannot_confine_is_named_and_refused() {
        let old = Support { files: true, network: false, signals: false };
        assert!(old.in_words().contains("not for network, signals"));
        assert!(Support::default().in_words().contains("cannot confine"));
        assert!(refusal(true, old).unwrap().starts_with("--require-sandbox"));
        assert_eq!(refusal(false, Support::default()), None);
        assert_eq!(refusal(true, Support { files: true, network: true, signals: true }), None);
    }
}
