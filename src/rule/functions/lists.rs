//! Lists of objects and objects: dependencies, updates, counting, set algebra.

use super::{field, items, pairs, wrong};
use crate::rule::value::in_text;
use crate::rule::{ExprError, Val};
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, State};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn add_to(env: &mut Environment<'static>) {
    env.add_function("ready", ready);
    env.add_function("blocked", blocked);
    env.add_function("update", update);
    env.add_function("merge", merge);
    env.add_filter("where", select_where);
    env.add_filter("values", |state: &State, map: &Val| {
        Ok::<_, Error>(pairs(state, map, "values")?.into_iter().map(|(_, v)| v).collect::<Vec<_>>())
    });
    env.add_filter("keys", |state: &State, map: &Val| {
        Ok::<_, Error>(pairs(state, map, "keys")?.into_iter().map(|(k, _)| k).collect::<Vec<_>>())
    });
    env.add_filter("count_by", count_by);
    env.add_filter("union", |state: &State, a: &Val, b: &Val| {
        let mut all = items(state, a, "union")?;
        all.extend(items(state, b, "union")?);
        distinct(state, all, |_| true)
    });
    env.add_filter("intersect", |state: &State, a: &Val, b: &Val| {
        let other: BTreeSet<Val> = items(state, b, "intersect")?.into_iter().collect();
        distinct(state, items(state, a, "intersect")?, |item| other.contains(item))
    });
    env.add_filter("difference", |state: &State, a: &Val, b: &Val| {
        let other: BTreeSet<Val> = items(state, b, "difference")?.into_iter().collect();
        distinct(state, items(state, a, "difference")?, |item| !other.contains(item))
    });
}

fn distinct(state: &State, all: Vec<Val>, keep: impl Fn(&Val) -> bool) -> Result<Vec<Val>, Error> {
    state.consume_fuel(all.len() as u64)?;
    let mut seen = BTreeSet::new();
    Ok(all.into_iter().filter(|item| keep(item) && seen.insert(item.clone())).collect())
}

/// Items with dependencies, as `ready` and `blocked` read them.
struct Graph {
    items: Vec<Node>,
    /// Position by id; the first of equal ids counts.
    position: BTreeMap<Val, usize>,
}

struct Node {
    item: Val,
    depends: Vec<Val>,
    done: bool,
    open: bool,
}

impl Graph {
    fn read(state: &State, list: &Val, options: &Kwargs, what: &str) -> Result<Self, Error> {
        let name = |key: &str| -> Result<String, Error> { Ok(options.get::<Option<String>>(key)?.unwrap_or_else(|| key.to_owned())) };
        let words = |key: &str, default: &str| -> Result<BTreeSet<Val>, Error> {
            match options.get::<Option<Val>>(key)? {
                Some(list) => Ok(items(state, &list, what)?.into_iter().collect()),
                None => Ok(BTreeSet::from([Val::from(default)])),
            }
        };
        let (id, depends, status) = (name("id")?, name("depends")?, name("status")?);
        let (done, open) = (words("done", "completed")?, words("open", "pending")?);
        options.assert_all_used()?;
        let mut graph = Self { items: Vec::new(), position: BTreeMap::new() };
        for item in items(state, list, what)? {
            graph.position.entry(field(&item, &id)?).or_insert(graph.items.len());
            let needs = item.get_attr(&depends)?;
            let needs = if needs.is_undefined() || needs.is_none() { Vec::new() } else { items(state, &needs, what)? };
            let now = field(&item, &status)?;
            graph.items.push(Node { depends: needs, done: done.contains(&now), open: open.contains(&now), item });
        }
        Ok(graph)
    }

    fn node(&self, id: &Val) -> Option<(usize, &Node)> {
        let index = *self.position.get(id)?;
        self.items.get(index).map(|node| (index, node))
    }

    /// Which items are done or can still become so: a worklist from the done ones along reversed dependencies.
    fn possible(&self, state: &State) -> Result<Vec<bool>, Error> {
        let mut waits: Vec<usize> = Vec::with_capacity(self.items.len());
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.items.len()];
        for (index, node) in self.items.iter().enumerate() {
            for id in &node.depends {
                if let Some(list) = self.node(id).and_then(|(need, _)| users.get_mut(need)) {
                    list.push(index);
                }
            }
            waits.push(node.depends.len());
        }
        let mut possible = vec![false; self.items.len()];
        let settled = |(node, waits): (&Node, &usize)| node.done || (node.open && *waits == 0);
        let mut work: Vec<usize> =
            self.items.iter().zip(&waits).enumerate().filter(|(_, pair)| settled(*pair)).map(|(index, _)| index).collect();
        while let Some(index) = work.pop() {
            state.consume_fuel(1)?;
            match possible.get_mut(index) {
                Some(flag) if !*flag => *flag = true,
                _ => continue,
            }
            for user in users.get(index).into_iter().flatten() {
                let (Some(count), Some(node)) = (waits.get_mut(*user), self.items.get(*user)) else { continue };
                *count = count.saturating_sub(1);
                if *count == 0 && node.open {
                    work.push(*user);
                }
            }
        }
        Ok(possible)
    }
}

fn ready(state: &State, list: &Val, options: Kwargs) -> Result<Vec<Val>, Error> {
    let graph = Graph::read(state, list, &options, "ready")?;
    let is_ready =
        |node: &&Node| node.open && !node.done && node.depends.iter().all(|id| graph.node(id).is_some_and(|(_, need)| need.done));
    Ok(graph.items.iter().filter(is_ready).map(|node| node.item.clone()).collect())
}

fn blocked(state: &State, list: &Val, options: Kwargs) -> Result<Vec<Val>, Error> {
    let graph = Graph::read(state, list, &options, "blocked")?;
    let possible = graph.possible(state)?;
    let stuck = |(node, possible): &(&Node, &bool)| node.open && !node.done && !**possible;
    Ok(graph.items.iter().zip(&possible).filter(stuck).map(|(node, _)| node.item.clone()).collect())
}

fn update(state: &State, list: &Val, key: &str, value: &Val, patch: &Val) -> Result<Vec<Val>, Error> {
    let patch = pairs(state, patch, "update")?;
    let mut found = Vec::new();
    for item in items(state, list, "update")? {
        if field(&item, key)? == *value {
            let fields = pairs(state, &item, "update")?;
            found.push(overlaid(fields, &patch));
        } else {
            found.push(item);
        }
    }
    Ok(found)
}

/// `fields` with those of `patch` in their place, new ones at the end.
fn overlaid(mut fields: Vec<(Val, Val)>, patch: &[(Val, Val)]) -> Val {
    for (key, value) in patch {
        match fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value.clone(),
            None => fields.push((key.clone(), value.clone())),
        }
    }
    Val::from_pairs(fields)
}

fn merge(state: &State, a: &Val, b: &Val) -> Result<Val, Error> {
    for value in [a, b] {
        if value.kind() != ValueKind::Map {
            return Err(wrong(format!("`merge` takes two objects, not a {}", value.kind())));
        }
    }
    merged(state, Some(a), b, 0)
}

/// RFC 7396, section 2.
fn merged(state: &State, target: Option<&Val>, patch: &Val, depth: usize) -> Result<Val, Error> {
    if patch.kind() != ValueKind::Map {
        return Ok(patch.clone());
    }
    if depth > 128 {
        return Err(wrong("`merge` takes no objects nested deeper than 128"));
    }
    let mut fields = match target {
        Some(target) if target.kind() == ValueKind::Map => pairs(state, target, "merge")?,
        _ => Vec::new(),
    };
    for (key, value) in pairs(state, patch, "merge")? {
        let place = fields.iter().position(|(name, _)| *name == key);
        if value.is_none() {
            if let Some(place) = place {
                fields.remove(place);
            }
            continue;
        }
        let old = place.and_then(|place| fields.get(place)).map(|(_, old)| old.clone());
        let new = merged(state, old.as_ref(), &value, depth + 1)?;
        match place.and_then(|place| fields.get_mut(place)) {
            Some((_, old)) => *old = new,
            None => fields.push((key, new)),
        }
    }
    Ok(Val::from_pairs(fields))
}

fn select_where(state: &State, list: &Val, wanted: Kwargs) -> Result<Vec<Val>, Error> {
    let wanted: Vec<(String, Val)> =
        wanted.args().map(|key| Ok((key.to_owned(), wanted.peek::<Val>(key)?))).collect::<Result<_, Error>>()?;
    let mut found = Vec::new();
    for item in items(state, list, "where")? {
        state.consume_fuel(wanted.len() as u64)?;
        let mut all = true;
        for (key, value) in &wanted {
            all &= item.kind() == ValueKind::Map && item.get_attr(key)? == *value;
        }
        if all {
            found.push(item);
        }
    }
    Ok(found)
}

fn count_by(state: &State, list: &Val, path: &str) -> Result<Val, Error> {
    let mut counts: Vec<(String, i64)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for item in items(state, list, "count_by")? {
        let name = in_text(&field(&item, path)?).map_err(ExprError::into_jinja)?;
        let place = *places.entry(name.clone()).or_insert(counts.len());
        match counts.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    Ok(Val::from_pairs(counts))
}
