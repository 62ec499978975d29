//! Our entries in an agent's settings: put in, found, taken out. Works on text; what others wrote keeps its order, its formatting and its comments.
//!
//! A file that cannot be read as a whole is refused untouched. After every edit the result is read again: what is not ours must be what it was.

use super::agent::{Agent, Event, Named};
use super::shell::{event_of, is_ours};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// Largest settings file, in bytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;
const MOST_DEPTH: usize = 100;
/// Time a hook may take, in thousandths of a second.
const TIMEOUT_MS: u64 = 10_000;

/// Why settings stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

/// What an edit gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The new text.
    pub text: String,
    /// Entries of ours put in, changed or taken out.
    pub changed: usize,
}

fn refuse<T>(message: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError(message.into()))
}

/// Puts our entries into the settings `text` (`None`: there is no file yet). `command` gives the command for an event.
///
/// # Errors
/// The text is no JSON object (comments are understood), or `hooks` has another form than the agent's.
pub fn install(agent: Agent, text: Option<&str>, command: &dyn Fn(Event) -> String) -> Result<Edit, SettingsError> {
    let start = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let (root, object) = read(start)?;
    if agent == Agent::Cursor && object.get("version").is_none() {
        object.insert(0, "version", CstInputValue::Number("1".to_owned()));
    }
    let Some(hooks) = object.object_value_or_create("hooks") else { return refuse("`hooks` is no object") };
    distinct(&hooks)?;
    let mut changed = 0;
    for named in agent.events() {
        let Some(list) = hooks.array_value_or_create(named.key) else { return refuse(format!("`hooks.{}` is no list", named.key)) };
        changed += put(agent, *named, &list, &command(named.event))?;
    }
    finish(agent, start, &root, changed)
}

/// Takes our entries out of the settings `text`, and what is empty after that.
///
/// # Errors
/// As [`install`].
pub fn uninstall(agent: Agent, text: &str) -> Result<Edit, SettingsError> {
    let (root, object) = read(text)?;
    let mut changed = 0;
    if let Some(property) = object.get("hooks") {
        let Some(hooks) = property.object_value() else { return refuse("`hooks` is no object") };
        distinct(&hooks)?;
        for event in hooks.properties() {
            let Some(list) = event.array_value() else { continue };
            let taken = take(agent, &list);
            changed += taken;
            if taken > 0 && list.elements().is_empty() {
                event.remove();
            }
        }
        if changed > 0 && hooks.properties().is_empty() {
            property.remove();
        }
    }
    finish(agent, text, &root, changed)
}

/// All commands registered in the settings `text`, with the event's key.
///
/// # Errors
/// The text is no JSON object.
pub fn registered(agent: Agent, text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let value = value(text)?;
    let mut commands = Vec::new();
    for (key, entries) in value.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for entry in entries.as_array().into_iter().flatten() {
            let hooks = if agent.nested() {
                entry.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
            } else {
                std::slice::from_ref(entry)
            };
            let named = hooks.iter().filter_map(|hook| hook.get("command").and_then(Value::as_str));
            commands.extend(named.map(|command| (key.clone(), command.to_owned())));
        }
    }
    Ok(commands)
}

/// The settings as JSON.
pub(super) fn value(text: &str) -> Result<Value, SettingsError> {
    read(text).map(|(root, _)| root.to_serde_value().unwrap_or(Value::Null))
}

/// Reads settings: JSON with comments, nothing looser.
fn read(text: &str) -> Result<(CstRootNode, CstObject), SettingsError> {
    if text.len() > MOST_BYTES || depth(text) > MOST_DEPTH {
        return refuse("the file is too large or too deeply nested for settings");
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).or_else(|error| refuse(format!("the file is no JSON: {error}")))?;
    let Some(object) = root.object_value() else { return refuse("the file is no JSON object") };
    distinct(&object)?;
    Ok((root, object))
}

/// Deepest nesting of brackets outside texts.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for b in text.bytes() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A repeated key has two meanings: whichever is edited may be the wrong one.
fn distinct(object: &CstObject) -> Result<(), SettingsError> {
    let mut names: Vec<String> = object.properties().iter().filter_map(|property| property.name()?.decoded_value().ok()).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => refuse(format!("the key `{}` stands there twice", pair[0].escape_debug())),
        None => Ok(()),
    }
}

/// Makes `list` hold our entry once; gives the number of changes.
fn put(agent: Agent, named: Named, list: &CstArray, command: &str) -> Result<usize, SettingsError> {
    let mut changed = 0;
    let mut found = false;
    for (holder, hook) in ours(agent, list, named.event) {
        if found {
            holder.drop_hook(hook);
            changed += 1;
            continue;
        }
        found = true;
        let property = hook.as_object().and_then(|object| object.get("command"));
        let present = property.as_ref().and_then(|property| property.to_serde_value());
        if present.as_ref().and_then(Value::as_str) != Some(command)
            && let Some(property) = property
        {
            property.set_value(CstInputValue::String(command.to_owned()));
            changed += 1;
        }
    }
    if !found {
        if list.elements().iter().any(|element| element.as_object().is_none()) {
            return refuse(format!("`hooks.{}` holds something that is no entry", named.key));
        }
        list.append(entry(agent, named, command));
        changed += 1;
    }
    Ok(changed)
}

fn entry(agent: Agent, named: Named, command: &str) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let mut hook = Vec::new();
    if agent.nested() {
        hook.push(("type".to_owned(), text("command")));
    }
    hook.push(("command".to_owned(), text(command)));
    hook.push(("timeout".to_owned(), CstInputValue::Number((TIMEOUT_MS / agent.timeout_unit_ms()).to_string())));
    let hook = CstInputValue::Object(hook);
    if !agent.nested() {
        return hook;
    }
    let mut group = Vec::new();
    if named.matcher {
        group.push(("matcher".to_owned(), text("*")));
    }
    group.push(("hooks".to_owned(), CstInputValue::Array(vec![hook])));
    CstInputValue::Object(group)
}

/// Where a hook of ours stands.
struct Holder {
    /// The group it is in; `None` where hooks stand in the event's own list.
    group: Option<(CstNode, CstArray)>,
}

impl Holder {
    /// Removes a hook, and its group with it when nothing else is left in it.
    fn drop_hook(self, hook: CstNode) {
        hook.remove();
        if let Some((group, hooks)) = self.group
            && hooks.elements().is_empty()
        {
            group.remove();
        }
    }
}

/// Our hooks for `event` in an event's list.
fn ours(agent: Agent, list: &CstArray, event: Event) -> Vec<(Holder, CstNode)> {
    all_ours(agent, list).into_iter().filter(|(.., served)| *served == event).map(|(holder, hook, _)| (holder, hook)).collect()
}

fn all_ours(agent: Agent, list: &CstArray) -> Vec<(Holder, CstNode, Event)> {
    let mut found = Vec::new();
    for element in list.elements() {
        let Some(object) = element.as_object() else { continue };
        // Entries that were written flat are found too: `install` must not add a second one beside them.
        let inner = if agent.nested() { object.array_value("hooks") } else { None };
        let hooks = inner.as_ref().map_or_else(|| vec![element.clone()], CstArray::elements);
        for hook in hooks {
            let command = hook.as_object().and_then(|object| object.get("command")?.to_serde_value());
            let event = command.as_ref().and_then(Value::as_str).and_then(event_of);
            if let Some(event) = event {
                let group = inner.clone().map(|hooks| (element.clone(), hooks));
                found.push((Holder { group }, hook, event));
            }
        }
    }
    found
}

fn take(agent: Agent, list: &CstArray) -> usize {
    let found = all_ours(agent, list);
    let count = found.len();
    for (holder, hook, _) in found {
        holder.drop_hook(hook);
    }
    count
}

/// Reads the result again: what is not ours is what it was.
fn finish(agent: Agent, before: &str, root: &CstRootNode, changed: usize) -> Result<Edit, SettingsError> {
    if changed == 0 {
        return Ok(Edit { text: before.to_owned(), changed });
    }
    let text = root.to_string();
    let (was, is) = (foreign(agent, before)?, foreign(agent, &text)?);
    if was != is {
        return refuse("the entries of others would have changed; the file is left as it is");
    }
    Ok(Edit { text, changed })
}

/// Everything in the settings that is not ours, without what is empty where our entries stand.
fn foreign(agent: Agent, text: &str) -> Result<Value, SettingsError> {
    let mut value = value(text)?;
    let is_mine = |hook: &Value| hook.get("command").and_then(Value::as_str).is_some_and(is_ours);
    if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) {
        for entries in hooks.values_mut().filter_map(Value::as_array_mut) {
            entries.retain_mut(|entry| match entry.get_mut("hooks").and_then(Value::as_array_mut) {
                Some(inner) if agent.nested() => {
                    let before = inner.len();
                    inner.retain(|hook| !is_mine(hook));
                    !inner.is_empty() || before == 0
                }
                _ => !is_mine(entry),
            });
        }
        let known = |key: &str| agent.events().iter().any(|named| named.key == key);
        hooks.retain(|key, entries| !(known(key) && entries.as_array().is_some_and(Vec::is_empty)));
    }
    if let Some(object) = value.as_object_mut() {
        if object.get("hooks").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            object.shift_remove("hooks");
        }
        if agent == Agent::Cursor && object.get("version") == Some(&Value::from(1)) {
            object.shift_remove("version");
        }
    }
    Ok(value)
}
