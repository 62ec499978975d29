//! What a row expects of the answer to its message, and whether the calls that followed met it.
//!
//! `{"no_repeat": true}`: the call made last before the message is not made again. `{"calls": [{tool, with, succeeded}, …]}`: each of these
//! calls is made; `with` gives globs for arguments that are texts.

use globset::{Glob, GlobMatcher};
use serde_json::{Map, Value};

/// Most characters of a call that a message shows.
const SHOWN: usize = 160;

/// A call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Name with dots.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// Whether the tool answered without an error.
    pub ok: bool,
}

/// What is expected of an answer; the default expects nothing.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    no_repeat: bool,
    calls: Vec<Wanted>,
}

#[derive(Clone, Debug)]
struct Wanted {
    tools: Vec<String>,
    with: Vec<(String, GlobMatcher)>,
    succeeded: bool,
}

impl Expect {
    /// Reads `expect` of a row whose templates were rendered.
    ///
    /// # Errors
    /// Every fault, as a lower-case sentence.
    pub fn read(value: Option<&Value>) -> Result<Self, Vec<String>> {
        let mut expect = Self::default();
        let map = match value {
            None | Some(Value::Null) => return Ok(expect),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(vec!["`expect` must be an object".to_owned()]),
        };
        let mut faults = Vec::new();
        for (key, value) in map {
            match (key.as_str(), value) {
                ("no_repeat", Value::Bool(flag)) => expect.no_repeat = *flag,
                ("no_repeat", _) => faults.push("`no_repeat` must be true or false".to_owned()),
                ("calls", Value::Array(items)) => {
                    for item in items {
                        match wanted(item) {
                            Ok(wanted) => expect.calls.push(wanted),
                            Err(fault) => faults.push(fault),
                        }
                    }
                }
                ("calls", _) => faults.push("`calls` must be a list".to_owned()),
                _ => faults.push(format!("`expect` knows no `{}`: it has `no_repeat` and `calls`", key.escape_debug())),
            }
        }
        if faults.is_empty() { Ok(expect) } else { Err(faults) }
    }

    /// What the answer broke, in words. `before` is the call made last before the message, `answer` what was called since.
    #[must_use]
    pub fn broken(&self, before: Option<&Made>, answer: &[Made]) -> Vec<String> {
        let mut broken = Vec::new();
        let repeated = |made: &&Made| before.is_some_and(|before| before.tool == made.tool && before.args == made.args);
        if self.no_repeat
            && let Some(made) = answer.iter().find(repeated)
        {
            let call: String = format!("{} {}", made.tool, made.args).chars().take(SHOWN).collect();
            broken.push(format!("the same call was made again with the same arguments: {call}"));
        }
        for wanted in &self.calls {
            if !answer.iter().any(|made| wanted.met_by(made)) {
                broken.push(wanted.missing());
            }
        }
        broken
    }
}

impl Wanted {
    fn met_by(&self, made: &Made) -> bool {
        let fits = |(name, glob): &(String, GlobMatcher)| {
            let value = made.args.get(name).and_then(Value::as_str);
            value.is_some_and(|text| glob.is_match(text.trim_start_matches("./")))
        };
        (made.ok || !self.succeeded) && self.tools.contains(&made.tool) && self.with.iter().all(fits)
    }

    fn missing(&self) -> String {
        let tools = self.tools.join("` or `");
        let with: Vec<String> = self.with.iter().map(|(name, glob)| format!("{name} `{}`", glob.glob())).collect();
        let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" and ")) };
        let how = if self.succeeded { " that succeeded" } else { "" };
        format!("there was no call of `{tools}`{with}{how}")
    }
}

fn wanted(value: &Value) -> Result<Wanted, String> {
    let Value::Object(map) = value else { return Err("each of `calls` must be an object".to_owned()) };
    if let Some(key) = map.keys().find(|key| !["tool", "with", "succeeded"].contains(&key.as_str())) {
        return Err(format!("a call that is expected has no `{}`: it has `tool`, `with`, `succeeded`", key.escape_debug()));
    }
    let tools: Vec<String> = match map.get("tool") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) if !names.is_empty() && names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => return Err("a call that is expected needs `tool`: a name or a list of names".to_owned()),
    };
    let succeeded = match map.get("succeeded") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return Err("`succeeded` must be true or false".to_owned()),
    };
    let none = Map::new();
    let given = match map.get("with") {
        None => &none,
        Some(Value::Object(with)) => with,
        Some(_) => return Err("`with` must be an object of globs".to_owned()),
    };
    let mut with = Vec::new();
    for (name, pattern) in given {
        let Some(pattern) = pattern.as_str() else { return Err(format!("`with.{}` must be a glob", name.escape_debug())) };
        let glob = Glob::new(pattern).map_err(|error| format!("`with.{}` is no glob: {error}", name.escape_debug()))?;
        with.push((name.clone(), glob.compile_matcher()));
    }
    Ok(Wanted { tools, with, succeeded })
}
