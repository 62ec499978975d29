//! From arguments to a run that may start: the document checked and sealed, settings layered, parameters accepted, surroundings looked at.
//!
//! Nothing is written here; a run that is refused leaves no trace.

use super::find::find;
use super::load::Loaded;
use super::run::Args;
use super::settings;
use super::{Status, changes, complain, guard, params};
use crate::base::{Severity, Timestamp};
use crate::check::plan::{self, Plan};
use crate::machine::{Prepared, prepare};
use crate::model::Workflow;
use crate::provider::Providers;
use crate::provider::recording::Recording;
use crate::rule::{Scope, to_json};
use crate::syntax;
use crate::world::support;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that may start.
pub struct Ready {
    /// How the workflow was named.
    pub workflow: String,
    /// The document as people are shown it: globs of permissions as they are in force.
    pub shown: Workflow,
    /// The sealed plan.
    pub plan: Arc<Plan>,
    /// Parameters, ids, seed.
    pub prepared: Prepared,
    /// The settings in force.
    pub settings: plan::Settings,
    /// The project's folder.
    pub root: PathBuf,
    /// Models behind their providers.
    pub providers: Arc<Providers>,
    /// Role → model, as far as it can be told beforehand.
    pub models: BTreeMap<String, String>,
    /// Requirements that do not hold.
    pub unmet: Vec<String>,
    /// Worth reading before saying yes.
    pub notes: Vec<String>,
    /// Files of the bundle that lie inside the project: no tool writes them.
    pub own_files: Vec<String>,
    /// Digests of what the document consists of (see [`super::changes`]).
    pub parts: Map<String, Value>,
}

/// Why a run may not start: already explained where it says so.
pub struct Refused(pub Status);

/// Says why and refuses.
pub fn refuse(status: Status, message: &str) -> Refused {
    complain(&format!("rsf: {message}"));
    Refused(status)
}

/// Checks everything that can be checked before anything is written.
pub fn ready(args: &Args, now: Timestamp, seed: &str) -> Result<Ready, Refused> {
    let loaded = find(&args.workflow, args.workflows.as_deref()).map_err(|message| refuse(Status::Usage, &message))?;
    accepted(&loaded)?;
    says_what_it_does(&loaded.workflow)?;
    let root = args.repo.canonicalize().map_err(|e| refuse(Status::Usage, &format!("--repo {}: {e}", args.repo.display())))?;
    let (settings, mut notes) = layered(args, &loaded.workflow)?;
    let own_files = own_files(&loaded, &root);
    let bundle = loaded.bundle.files.clone();
    let (workflow, parts) = (named(&loaded), parts(&loaded));
    let plan = Arc::new(seal(loaded, &settings)?);
    let project = project(&root);
    let prepared = prepare(&plan, now, seed, &project).map_err(|refusal| refuse(Status::Rejected, &refusal.to_string()))?;
    let script = |path: &str| bundle.get(path).map(|text| text.to_string());
    let env = |name: &str| std::env::var(name).ok();
    let providers = Providers::from_config(plan.config(), &script, &env).map_err(|faults| refuse(Status::Rejected, &faults.join("\n")))?;
    let providers = recorded(args, providers, &root, seed)?;
    let scope = scope(&plan, &prepared, &project);
    let models = models(&plan, &scope);
    let shown = shown(&plan, &scope);
    let asked: BTreeSet<&String> = models.values().collect();
    let unmet = asked.into_iter().filter_map(|model| providers.check(model).err()).collect();
    let home = std::env::home_dir();
    let further = guard::further(plan.config(), home.as_deref()).map_err(|message| refuse(Status::Rejected, &message))?;
    notes.sort();
    notes.extend(guard::notes(plan.workflow(), support(), &further));
    Ok(Ready { workflow, shown, plan, prepared, settings, root, providers: Arc::new(providers), models, unmet, notes, own_files, parts })
}

/// Digests of what a document consists of.
pub fn parts(loaded: &Loaded) -> Map<String, Value> {
    let document = loaded.tree.root.as_ref().map_or(Value::Null, crate::syntax::Node::to_json);
    changes::parts(&document, &loaded.bundle.files)
}

/// The providers with the folder that `--record` or `--replay` names. A dry run makes no folder.
fn recorded(args: &Args, providers: Providers, root: &Path, seed: &str) -> Result<Providers, Refused> {
    let wrong = |option: &str, fault: &crate::world::Fault| refuse(Status::Usage, &format!("{option}: {fault}"));
    Ok(match (&args.record, &args.replay) {
        (_, Some(folder)) => providers.with_recording(Recording::replay(folder, root).map_err(|fault| wrong("--replay", &fault))?),
        (Some(folder), None) if !args.dry_run => {
            providers.with_recording(Recording::write(folder, root, seed).map_err(|fault| wrong("--record", &fault))?)
        }
        _ => providers,
    })
}

/// `project` of every scope.
pub fn project(root: &Path) -> Value {
    let name = root.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    json!({"root": root.to_string_lossy(), "name": name})
}

fn accepted(loaded: &Loaded) -> Result<(), Refused> {
    if loaded.problems.iter().all(|problem| problem.severity != Severity::Error) {
        return Ok(());
    }
    super::validate::show(loaded);
    Err(refuse(Status::Rejected, "a document that is rejected does not run"))
}

/// A document runs when every cell says what it does.
fn says_what_it_does(workflow: &Workflow) -> Result<(), Refused> {
    let Some(net) = plan::Net::new(workflow) else { return Err(refuse(Status::Rejected, "flows and cells do not fit")) };
    let silent: Vec<String> = net
        .cells
        .iter()
        .filter(|cell| {
            let (step, index) = cell.source;
            !cell.relay && workflow.steps[step].cells[index].run.is_none()
        })
        .map(|cell| cell.id.clone())
        .collect();
    if silent.is_empty() {
        return Ok(());
    }
    Err(refuse(Status::Rejected, &format!("a plain document does not run; these cells do not say what they do: {}", silent.join(", "))))
}

fn layered(args: &Args, workflow: &Workflow) -> Result<(plan::Settings, Vec<String>), Refused> {
    let execution = &workflow.execution;
    let usage = |e: settings::SettingsError| refuse(Status::Usage, &e.to_string());
    let document =
        settings::Settings { config: execution.config.clone(), limits: execution.limits.clone(), params: execution.params.clone() };
    let layers = args.overrides.layers(&execution.profiles, |path| std::fs::read_to_string(path)).map_err(usage)?;
    let (layered, notes) = settings::resolve(document, &layers).map_err(usage)?;
    let params = params::gather(layered.params.as_ref(), args.goal.as_deref(), &args.overrides.params).map_err(usage)?;
    Ok((plan::Settings { config: layered.config, limits: layered.limits, params }, notes))
}

/// Seals a checked document; what keeps it from running is shown.
pub fn seal(loaded: Loaded, settings: &plan::Settings) -> Result<Plan, Refused> {
    let Some(root) = &loaded.tree.root else { return Err(refuse(Status::Rejected, "the document is empty")) };
    let document = root.to_json();
    let tables = |text: &str| {
        let (tree, problems) = syntax::parse(text.as_bytes(), crate::base::FileId(u32::MAX));
        let node = tree.root.as_ref().ok_or_else(|| "the table is empty".to_owned())?;
        let (table, more) = crate::model::decode_table(node, crate::base::FileId(u32::MAX), "");
        match problems.iter().chain(&more).find(|p| p.severity == Severity::Error) {
            Some(problem) => Err(problem.message.clone()),
            None => Ok(table),
        }
    };
    Plan::seal(loaded.workflow, &document, &loaded.bundle.files, settings.clone(), &tables).map_err(|errors| {
        for error in &errors {
            complain(&format!("rsf: {error}"));
        }
        Refused(Status::Rejected)
    })
}

/// The name a resume finds the document by again: of a file its whole path, so that it may be called from anywhere.
fn named(loaded: &Loaded) -> String {
    let path = &loaded.bundle.document_path;
    if loaded.bundle.root.is_none() {
        // A built-in document goes by its bare name, which no file can take.
        return path.trim_start_matches("workflows/").trim_end_matches(".json").to_owned();
    }
    Path::new(path).canonicalize().map_or_else(|_| path.clone(), |path| path.to_string_lossy().into_owned())
}

/// What is known before a run of what templates may use.
fn scope(plan: &Plan, prepared: &Prepared, project: &Value) -> Scope {
    let mut scope = Scope::new();
    scope.set_json("config", plan.config());
    scope.set_json("params", &Value::Object(prepared.params.clone()));
    scope.set_json("ids", &Value::Object(prepared.ids.clone()));
    scope.set_json("state", &Value::Object(plan.workflow().execution.state.clone()));
    scope.set_json("project", project);
    scope
}

/// The document with the globs of its permissions rendered, as far as they can be beforehand.
fn shown(plan: &Plan, scope: &Scope) -> Workflow {
    let render = |glob: &String| match plan.engine().text(glob, scope).and_then(|value| to_json(&value)) {
        Ok(Value::Array(items)) => items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect(),
        Ok(Value::String(text)) => vec![text],
        _ => vec![glob.clone()],
    };
    let mut shown = plan.workflow().clone();
    let roles = shown.roles.iter_mut().filter_map(|role| role.agent.as_mut()?.permissions.as_mut());
    let cells = shown.steps.iter_mut().flat_map(|step| &mut step.cells).filter_map(|cell| cell.permissions.as_mut());
    for globs in roles.chain(cells).flat_map(|policy| [policy.read.as_mut(), policy.write.as_mut()]).flatten() {
        *globs = globs.iter().flat_map(render).collect();
    }
    shown
}

/// Role → model, where the template needs no more than configuration and the initial state.
fn models(plan: &Plan, scope: &Scope) -> BTreeMap<String, String> {
    let mut models = BTreeMap::new();
    for role in &plan.workflow().roles {
        let Some(template) = role.agent.as_ref().and_then(|agent| agent.model.as_deref()) else { continue };
        if let Ok(Value::String(model)) = plan.engine().text(template, scope).and_then(|v| to_json(&v)) {
            models.insert(role.id.clone(), model);
        }
    }
    models
}

/// The document and its files where they lie inside the project, as globs no tool writes.
fn own_files(loaded: &Loaded, root: &Path) -> Vec<String> {
    let Some(bundle) = loaded.bundle.root.as_ref().and_then(|r| r.canonicalize().ok()) else { return Vec::new() };
    let Ok(inside) = bundle.strip_prefix(root) else { return Vec::new() };
    let prefix = inside.to_string_lossy();
    let join = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
    let mut files: Vec<String> = loaded.bundle.files.keys().map(|path| join(path)).collect();
    let document = Path::new(&loaded.bundle.document_path).canonicalize().ok();
    files.extend(document.and_then(|d| d.strip_prefix(root).ok().map(|p| p.to_string_lossy().into_owned())));
    files.into_iter().map(|file| globset::escape(&file)).collect()
}
