//! What roles may do against what their programs and agents are given, and what judges may see of the judged (docs/language.md, 7).
//!
//! # RSF940 tool that the role may not use
//! A program calls, or an agent is offered, a tool whose permission the role, the cell or the operation does not grant. Every call would be refused. Grant it, or take the tool away.
//! # RSF941 judges that are not independent
//! `independence` wants the models of two roles to differ, but the document's own configuration gives both the same; a profile or a swap may do so too, which the engine refuses at the session's start.
//! # RSF942 constraint that does not hold
//! The document's own `config` breaks one of its `constraints`.
//! # RSF943 what a judge is not to see, still reaches it (warning)
//! A judge is blind to a type or a field, but a flow into it carries another type that is made from the judged role's own words without the judge's being blind to that: the judged role emits it, and its schema has a field of the same name.
//! # RSF944 race
//! Two cells that can run at the same time both change the same state, or one changes what the other reads. Which value the other sees depends on who finishes first, so it is refused: order them by a flow, put them into different steps, or give both the same `exclusive`.
//! # RSF945 two writers of one file
//! Two cells that can run at the same time store the same document. Give the paths a part that differs (`{{ role }}`), order them, or give both the same `exclusive`.

use super::execution::flatten;
use super::plan::Net;
use super::{Context, cell_name, shown};
use crate::base::{Severity, Span};
use crate::model::tool::Permission;
use crate::model::{Access, Agent, Cell, Exec, Op, OpKind, Policy, tools};
use crate::rule::{Engine, Limits, Scope, to_json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(context: &mut Context<'_>) {
    let mut found = Vec::new();
    for cell in context.workflow.steps.iter().flat_map(|step| &step.cells) {
        tools_of(context, cell, &mut found);
    }
    independence(context, &mut found);
    constraints(context, &mut found);
    races(context, &mut found);
    for (severity, code, span, message, help) in found {
        context.report(severity, code, span, message, help);
    }
}

type Found = Vec<(Severity, &'static str, Span, String, &'static str)>;

fn tools_of(context: &Context<'_>, cell: &Cell, found: &mut Found) {
    let role = context.workflow.roles.iter().find(|role| role.id == cell.role).and_then(|role| role.agent.as_ref());
    let layers: Vec<&Policy> = role.and_then(|agent| agent.permissions.as_ref()).into_iter().chain(cell.permissions.as_ref()).collect();
    let mut said = BTreeSet::new();
    for op in flatten(cell.run.as_deref().unwrap_or_default()).into_iter().chain(flatten(&cell.recover)) {
        let asked: Vec<(&str, String, Vec<&Policy>)> = match &op.kind {
            OpKind::Call { tool, .. } => vec![(tool, format!("{}/call", op.at), layers.clone())],
            OpKind::Agent(agent) => offered(agent, role, &layers),
            _ => Vec::new(),
        };
        for (name, at, layers) in asked {
            let Some(tool) = tools::find(name) else { continue };
            if let Some(missing) = refused(tool.permission, &layers)
                && said.insert(at.clone())
            {
                let message = format!("{} may not use `{name}`: it has no {missing}", cell_name(cell));
                found.push((Severity::Error, "RSF940", context.place(&at), message, "grant it in `permissions`, or take the tool away"));
            }
        }
    }
}

/// Tools an agent operation offers, each with its place and the layers that bind it.
fn offered<'a>(agent: &'a Agent, role: Option<&'a Agent>, layers: &[&'a Policy]) -> Vec<(&'a str, String, Vec<&'a Policy>)> {
    let holder = if agent.tools.is_some() { Some(agent) } else { role };
    let all: Vec<&Policy> = layers.iter().copied().chain(agent.permissions.as_ref()).collect();
    let tools = holder.into_iter().flat_map(|holder| holder.tools.iter().flatten().enumerate().map(move |(i, tool)| (i, tool, holder)));
    tools.map(|(i, tool, holder)| (tool.as_str(), format!("{}/tools/{i}", holder.at), all.clone())).collect()
}

/// The permission that no layer grants, or that one takes away.
fn refused(wanted: Permission, layers: &[&Policy]) -> Option<&'static str> {
    let exec = layers.iter().filter_map(|layer| layer.exec).min().unwrap_or_default();
    let git = layers.iter().filter_map(|layer| layer.git).min().unwrap_or_default();
    let rdf = layers.iter().filter_map(|layer| layer.rdf).min().unwrap_or_default();
    let globs = |of: &dyn Fn(&Policy) -> Option<&Vec<String>>| {
        let given: Vec<&Vec<String>> = layers.iter().filter_map(|layer| of(layer)).collect();
        !given.is_empty() && given.iter().all(|globs| !globs.is_empty())
    };
    let (granted, name) = match wanted {
        Permission::Nothing => (true, ""),
        Permission::Read => (globs(&|layer| layer.read.as_ref()), "`read`"),
        Permission::Write => (globs(&|layer| layer.write.as_ref()), "`write`"),
        Permission::Exec => (exec > Exec::No, "`exec`"),
        Permission::GitRead => (git >= Access::Read, "`git: read`"),
        Permission::GitWrite => (git >= Access::Write, "`git: write`"),
        Permission::RdfRead => (rdf >= Access::Read, "`rdf: read`"),
        Permission::RdfWrite => (rdf >= Access::Write, "`rdf: write`"),
    };
    (!granted).then_some(name)
}

/// Texts over `config` and the initial state, for what can be decided before a run.
struct Known {
    engine: Engine,
    scope: Scope,
}

impl Known {
    fn new(context: &Context<'_>) -> Self {
        let mut scope = Scope::new();
        scope.set_json("config", &context.workflow.execution.config);
        Self { engine: Engine::new(Limits::default()), scope }
    }

    fn text(&mut self, source: &str) -> Option<String> {
        self.engine.add_text(source).ok()?;
        let value = self.engine.text(source, &self.scope).ok().and_then(|value| to_json(&value).ok())?;
        value.as_str().map(|text| text.trim().to_lowercase())
    }

    fn truth(&mut self, source: &str) -> Option<bool> {
        self.engine.add_expression(source).ok()?;
        self.engine.truth(source, &self.scope).ok()
    }
}

/// Models that a role's sessions name, as far as `config` decides them.
fn models(context: &Context<'_>, known: &mut Known, role: &str) -> BTreeSet<String> {
    let default = context.workflow.roles.iter().find(|r| r.id == role).and_then(|r| r.agent.as_ref()).and_then(|a| a.model.clone());
    let mut names: BTreeSet<String> = BTreeSet::new();
    for cell in context.workflow.steps.iter().flat_map(|step| &step.cells).filter(|cell| cell.role == role) {
        for op in flatten(cell.run.as_deref().unwrap_or_default()) {
            if let OpKind::Agent(agent) = &op.kind {
                names.extend(agent.model.clone().or_else(|| default.clone()));
            }
        }
    }
    names.iter().filter_map(|name| known.text(name)).collect()
}

fn independence(context: &Context<'_>, found: &mut Found) {
    let mut known = Known::new(context);
    for rule in &context.workflow.execution.independence {
        if rule.differ.iter().any(|what| what == "model") {
            let judged = models(context, &mut known, &rule.from);
            for role in &rule.roles {
                if let Some(same) = models(context, &mut known, role).intersection(&judged).next() {
                    let message = format!("`{}` and `{}` use the same model `{}`", shown(role), shown(&rule.from), shown(same));
                    found.push((Severity::Error, "RSF941", context.place(&rule.at), message, "give the judge another model in `config`"));
                }
            }
        }
        blind(context, rule, found);
    }
}

/// Other types by which a hidden field of the judged role reaches a judge.
fn blind(context: &Context<'_>, rule: &crate::model::Independence, found: &mut Found) {
    let types = &context.workflow.execution.types;
    for (name, field) in rule.blind_to.iter().filter_map(|hidden| hidden.split_once('.')) {
        for flow in context.workflow.flows.iter().filter(|flow| flow.from.role == rule.from && rule.roles.contains(&flow.to.role)) {
            for alternative in flow.what.iter().flat_map(|term| &term.alternatives).filter(|a| a.name != name) {
                let hidden = rule.blind_to.iter().any(|h| *h == alternative.name || *h == format!("{}.{field}", alternative.name));
                let schemas = types.get(&alternative.name).into_iter().flat_map(|definition| definition.schema.values());
                let has = schemas.filter_map(|path| context.files.get(path)).any(|file| {
                    let schema: Option<serde_json::Value> = serde_json::from_str(&file.text).ok();
                    schema.is_some_and(|schema| schema.pointer(&format!("/properties/{field}")).is_some())
                });
                if has && !hidden {
                    let place = context.place(&format!("{}/what", flow.at));
                    let message = format!(
                        "`{}` brings `{}` a `{}` of `{}`, which it is not to see",
                        shown(&flow.id),
                        shown(&flow.to.role),
                        shown(field),
                        shown(&rule.from)
                    );
                    found.push((Severity::Warning, "RSF943", place, message, "name it in `blind_to` as well"));
                }
            }
        }
    }
}

fn constraints(context: &Context<'_>, found: &mut Found) {
    let mut known = Known::new(context);
    for constraint in &context.workflow.execution.constraints {
        if known.truth(&constraint.assert) == Some(false) {
            let message = format!("the document's own configuration breaks `{}`", shown(&constraint.assert));
            found.push((Severity::Error, "RSF942", context.place(&format!("{}/assert", constraint.at)), message, "correct `config`"));
        }
    }
}

/// What a cell changes and what its texts mention.
#[derive(Default)]
struct Touched {
    sets: BTreeSet<String>,
    reads: BTreeSet<String>,
    stores: BTreeSet<String>,
}

fn touched(context: &Context<'_>, cell: &Cell) -> Touched {
    let mut touched = Touched::default();
    let types = &context.workflow.execution.types;
    let mut store = |name: &str| {
        let base = name.split('(').next().unwrap_or(name).trim();
        for path in types.get(base).into_iter().flat_map(|definition| &definition.store) {
            // A path that names its maker, or anything else of its own, is not another's.
            if !path.contains("{{") {
                touched.stores.insert(path.clone());
            }
        }
    };
    let ops: Vec<&Op> = flatten(cell.run.as_deref().unwrap_or_default()).into_iter().chain(flatten(&cell.recover)).collect();
    let mut sets = BTreeSet::new();
    for op in &ops {
        match &op.kind {
            OpKind::Set(map) => sets.extend(map.keys().cloned()),
            OpKind::Store(map) | OpKind::Emit(map) => map.keys().for_each(|name| store(name)),
            _ => {}
        }
    }
    touched.sets = sets;
    let text = context.node(&format!("{}/run", cell.at)).map(|node| node.to_json().to_string()).unwrap_or_default();
    for name in context.workflow.execution.state.keys() {
        if mentions(&text, &format!("state.{name}")) {
            touched.reads.insert(name.clone());
        }
    }
    touched
}

fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn races(context: &Context<'_>, found: &mut Found) {
    let workflow = context.workflow;
    let Some(net) = Net::new(workflow) else { return };
    let mut busy: Vec<(usize, &Cell, Touched)> = Vec::new();
    for (index, info) in net.cells.iter().enumerate() {
        let Some(cell) = workflow.steps.get(info.source.0).and_then(|step| step.cells.get(info.source.1)) else { continue };
        let touched = touched(context, cell);
        if !touched.sets.is_empty() || !touched.reads.is_empty() || !touched.stores.is_empty() {
            busy.push((index, cell, touched));
        }
    }
    let mut writers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (_, _, touched)) in busy.iter().enumerate() {
        touched.sets.iter().for_each(|name| writers.entry(name.clone()).or_default().push(at));
    }
    let together = |a: usize, b: usize| {
        let (x, y) = (busy[a].0, busy[b].0);
        let exclusive = busy[a].1.exclusive.is_some() && busy[a].1.exclusive == busy[b].1.exclusive;
        // Cells of one step, or under `flows` any two that no flow orders; `exclusive` lets only one of them run at a time.
        !net.before(x, y) && !net.before(y, x) && !exclusive
    };
    let mut said = BTreeSet::new();
    for a in 0..busy.len() {
        for name in busy[a].2.sets.iter().chain(&busy[a].2.reads) {
            for b in writers.get(name).into_iter().flatten().copied().filter(|b| *b != a).take(100) {
                if together(a, b) && said.insert((a.min(b), a.max(b), name.clone())) {
                    let message = format!(
                        "{} changes `state.{}` while {} {} it",
                        cell_name(busy[b].1),
                        shown(name),
                        cell_name(busy[a].1),
                        if busy[a].2.sets.contains(name) { "changes" } else { "reads" }
                    );
                    let help = "order them by a flow, put them into different steps, or give both the same `exclusive`";
                    found.push((Severity::Error, "RSF944", context.place(&busy[b].1.at), message, help));
                }
            }
        }
    }
    let mut paths: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (at, (_, _, touched)) in busy.iter().enumerate() {
        touched.stores.iter().for_each(|path| paths.entry(path).or_default().push(at));
    }
    for (path, makers) in paths {
        let pair = makers.iter().flat_map(|a| makers.iter().map(move |b| (*a, *b))).find(|(a, b)| a < b && together(*a, *b));
        if let Some((a, b)) = pair {
            let message = format!("{} and {} can write `{}` at the same time", cell_name(busy[a].1), cell_name(busy[b].1), shown(path));
            let help = "give the path a part that differs, such as `{{ role }}`, or give both cells the same `exclusive`";
            found.push((Severity::Error, "RSF945", context.place(&busy[b].1.at), message, help));
        }
    }
}
