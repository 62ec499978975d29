//! The engine: texts are registered while a document is checked, and only registered texts evaluate.
//!
//! Each text is compiled once. Nothing is compiled and no scope is copied when a text is evaluated.

use super::environment::{build, file_name, file_syntax, plain_syntax, render_file};
use super::guard::guarded;
use super::names::doubles;
use super::scan::{Block, expression, template};
use super::scope::Root;
use super::value::settle;
use super::{ExprError, ExprErrorKind, Names, Scope, Val, functions, to_json, to_val};
use crate::base::{closest, limits};
use minijinja::Environment;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bounds on texts and their evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps of one evaluation; a step also pays for 64 bytes of text.
    pub fuel: u64,
    /// Longest expression or block, in bytes.
    pub expression_bytes: usize,
    /// Longest template, in bytes.
    pub template_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { fuel: limits::FUEL, expression_bytes: limits::EXPRESSION_BYTES, template_bytes: limits::TEMPLATE_BYTES }
    }
}

/// Whether the leaf strings of a tree are expressions or templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Bare expressions.
    Expressions,
    /// Templates.
    Templates,
}

/// Registered expressions, texts and files. A clone shares them until one of the two is added to.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    env: Environment<'static>,
    limits: Limits,
    /// Expression → name of its template.
    expressions: BTreeMap<String, String>,
    texts: BTreeMap<String, Text>,
    files: BTreeSet<String>,
}

#[derive(Clone)]
enum Text {
    /// Holds no block.
    Literal,
    /// Is one `{{ … }}`: the expression in it and its place.
    Native(String, usize),
    /// Name of its template.
    Template(String),
}

/// What an expression is wrapped in, so that its value can be read back as it is. An expression with balanced
/// brackets cannot end the block: MiniJinja looks for the end outside brackets only.
const BEFORE: &str = "{% set __value = (";
const AFTER: &str = ") %}";
const VALUE: &str = "__value";

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("expressions", &self.inner.expressions.len())
            .field("files", &self.inner.files)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without texts.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let env = build(&limits);
        Self { inner: Arc::new(Inner { env, limits, expressions: BTreeMap::new(), texts: BTreeMap::new(), files: BTreeSet::new() }) }
    }

    /// Registers a bare expression.
    ///
    /// # Errors
    /// When it does not parse, is too large, or uses a function, filter or test that does not exist.
    pub fn add_expression(&mut self, source: &str) -> Result<Names, ExprError> {
        let block = expression(source, &self.inner.limits)?;
        let names = Names::of(source, std::slice::from_ref(&block));
        self.inner.known(&names, source)?;
        if self.inner.expressions.contains_key(source) {
            return Ok(names);
        }
        self.inner.env.compile_expression(source).map_err(|error| ExprError::from_jinja(&error, source, 0))?;
        let inner = Arc::make_mut(&mut self.inner);
        let name = format!("expression:{}", inner.expressions.len());
        inner.env.set_syntax(plain_syntax());
        let wrapped = format!("{BEFORE}{}{AFTER}", guarded(source, std::slice::from_ref(&block)));
        inner.env.add_template_owned(name.clone(), wrapped).map_err(|error| ExprError::from_jinja(&error, source, BEFORE.len()))?;
        inner.expressions.insert(source.to_owned(), name);
        Ok(names)
    }

    /// Registers a template text. One that is exactly one `{{ … }}` keeps its native type.
    ///
    /// # Errors
    /// As for expressions.
    pub fn add_text(&mut self, source: &str) -> Result<Names, ExprError> {
        let is_literal = !["{{", "{%", "{#"].iter().any(|start| source.contains(start));
        let blocks = template(source, &self.inner.limits)?;
        if let Some((inner, at)) = single(source, &blocks) {
            let names = self.add_expression(inner).map_err(|error| error.within(source, at))?;
            Arc::make_mut(&mut self.inner).texts.insert(source.to_owned(), Text::Native(inner.to_owned(), at));
            return Ok(names);
        }
        if is_literal {
            Arc::make_mut(&mut self.inner).texts.insert(source.to_owned(), Text::Literal);
            return Ok(Names::default());
        }
        let name = format!("text:{}", self.inner.texts.len());
        let present = self.inner.texts.contains_key(source);
        let names = Arc::make_mut(&mut self.inner).add_template(&name, source, source, &blocks, present)?;
        if !present {
            Arc::make_mut(&mut self.inner).texts.insert(source.to_owned(), Text::Template(name));
        }
        Ok(names)
    }

    /// Registers a template file under its path.
    ///
    /// # Errors
    /// As for expressions; also when the path was registered with another text.
    pub fn add_file(&mut self, path: &str, source: &str) -> Result<Names, ExprError> {
        let named = |mut error: ExprError| {
            path.clone_into(&mut error.source);
            error
        };
        let blocks = template(source, &self.inner.limits).map_err(named)?;
        let name = file_name(path);
        let present = match self.inner.env.get_template(&name) {
            Ok(old) if old.source() == guarded(source, &blocks) => true,
            Ok(_) => return Err(ExprError::new(ExprErrorKind::Other, format!("the file `{path}` is registered with two texts"), path)),
            Err(_) => false,
        };
        let inner = Arc::make_mut(&mut self.inner);
        let names = inner.add_template(&name, source, path, &blocks, present).map_err(named)?;
        inner.files.insert(path.to_owned());
        Ok(names)
    }

    /// Registers every leaf string of `value`; what fails is listed with its JSON pointer inside `value`.
    pub fn add_tree(&mut self, value: &Value, mode: Leaves) -> Vec<(String, ExprError)> {
        let mut failed = Vec::new();
        leaves(value, &mut String::new(), &mut |pointer, source| {
            let added = match mode {
                Leaves::Expressions => self.add_expression(source),
                Leaves::Templates => self.add_text(source),
            };
            if let Err(error) = added {
                failed.push((pointer.to_owned(), error));
            }
        });
        failed
    }

    /// Evaluates a registered expression.
    ///
    /// # Errors
    /// When it was not registered, cannot be evaluated, or its result is no data.
    pub fn eval(&self, source: &str, scope: &Scope) -> Result<Val, ExprError> {
        let name = self.inner.expressions.get(source).ok_or_else(|| not_in_plan(source))?;
        let template = self.inner.env.get_template(name).map_err(|_| not_in_plan(source))?;
        let root = Val::from_object(Root { scope: scope.clone(), depth: 0 });
        let captured =
            template.render_captured(root).map_err(|error| ExprError::from_guarded(&error, source, BEFORE.len(), template.source()))?;
        let value = captured.state().lookup(VALUE).unwrap_or(Val::UNDEFINED);
        settle(value).map_err(|error| located(error, source))
    }

    /// Evaluates a registered expression that must be true or false.
    ///
    /// # Errors
    /// As [`Engine::eval`]; also when the result is neither.
    pub fn truth(&self, source: &str, scope: &Scope) -> Result<bool, ExprError> {
        let value = self.eval(source, scope)?;
        if value.kind() != minijinja::value::ValueKind::Bool {
            let message = format!("a condition gives true or false, but this one gives a {}", value.kind());
            return Err(ExprError::new(ExprErrorKind::Type, message, source).at(0, source.len()));
        }
        Ok(value.is_true())
    }

    /// Evaluates a registered text.
    ///
    /// # Errors
    /// As [`Engine::eval`].
    pub fn text(&self, source: &str, scope: &Scope) -> Result<Val, ExprError> {
        match self.inner.texts.get(source).ok_or_else(|| not_in_plan(source))? {
            Text::Literal => Ok(Val::from(source)),
            Text::Native(inner, at) => {
                self.eval(inner, scope).map_err(|error| if error.source == *inner { error.within(source, *at) } else { error })
            }
            Text::Template(name) => {
                let template = self.inner.env.get_template(name).map_err(|_| not_in_plan(source))?;
                let root = Val::from_object(Root { scope: scope.clone(), depth: 0 });
                template.render(root).map(Val::from).map_err(|error| ExprError::from_guarded(&error, source, 0, template.source()))
            }
        }
    }

    /// Evaluates every leaf string of `value`; keys and other leaves stay as they are.
    ///
    /// # Errors
    /// The first leaf that fails.
    pub fn tree(&self, value: &Value, mode: Leaves, scope: &Scope) -> Result<Value, ExprError> {
        match value {
            Value::String(source) => {
                let result = match mode {
                    Leaves::Expressions => self.eval(source, scope),
                    Leaves::Templates => self.text(source, scope),
                };
                to_json(&result?).map_err(|error| located(error, source))
            }
            Value::Array(items) => items.iter().map(|item| self.tree(item, mode, scope)).collect::<Result<_, _>>().map(Value::Array),
            Value::Object(map) => {
                let pairs = map.iter().map(|(key, item)| Ok((key.clone(), self.tree(item, mode, scope)?)));
                pairs.collect::<Result<_, ExprError>>().map(Value::Object)
            }
            other => Ok(other.clone()),
        }
    }

    /// Renders a registered file.
    ///
    /// # Errors
    /// As [`Engine::eval`].
    pub fn file(&self, path: &str, scope: &Scope) -> Result<String, ExprError> {
        render_file(&self.inner.env, path, Root { scope: scope.clone(), depth: 0 }).map(|(text, _)| text)
    }

    /// A scope with the fields of `map`.
    pub(super) fn scope_of(map: &serde_json::Map<String, Value>) -> Scope {
        let mut scope = Scope::new();
        for (name, value) in map {
            scope.set(name, to_val(value));
        }
        scope
    }
}

impl Inner {
    /// Compiles a template under `name` unless it is `present`; `shown` stands for it in errors.
    fn add_template(&mut self, name: &str, source: &str, shown: &str, blocks: &[Block], present: bool) -> Result<Names, ExprError> {
        let mut names = Names::of(source, blocks);
        self.known(&names, source)?;
        if let Some((start, end)) = doubles(source, blocks, &names.assigned) {
            let message = "the text builds lists or objects of its own names too often; pass them in with `let`";
            return Err(ExprError::new(ExprErrorKind::TooLarge, message, source).at(start, end));
        }
        if !present {
            let guarded = guarded(source, blocks);
            self.env.set_syntax(if name.starts_with("file:") { file_syntax() } else { plain_syntax() });
            self.env
                .add_template_owned(name.to_owned(), guarded.clone())
                .map_err(|error| ExprError { source: shown.to_owned(), ..ExprError::from_guarded(&error, source, 0, &guarded) })?;
        }
        if !names.assigned.is_empty() {
            let find = |name: &str| self.env.get_template(name).map(|template| template.undeclared_variables(true));
            let existing = self.texts.get(source).and_then(|text| if let Text::Template(name) = text { Some(name.as_str()) } else { None });
            let free: BTreeSet<String> = find(existing.unwrap_or(name)).unwrap_or_default().into_iter().collect();
            names.add_free(free);
        }
        Ok(names)
    }

    /// Everything used exists.
    fn known(&self, names: &Names, source: &str) -> Result<(), ExprError> {
        let fault = |what: &str, name: &str, range: (usize, usize), hint: Option<&str>| {
            let hint = hint.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            Err(ExprError::new(ExprErrorKind::Unknown, format!("there is no {what} `{name}`{hint}"), source).at(range.0, range.1))
        };
        let mut state = self.env.empty_state();
        let mut has = |test: &str, name: &str| state.perform_test(test, &[Val::from(name)]).unwrap_or(false);
        let added = || functions::names();
        for (name, range) in &names.filters {
            if !has("filter", name) {
                return fault("filter", name, *range, closest(name, added()));
            }
        }
        for (name, range) in &names.tests {
            if !has("test", name) {
                return fault("test", name, *range, None);
            }
        }
        for (name, range) in &names.functions {
            let exists = names.assigned.contains(name) || self.env.globals().any(|(global, _)| global == name);
            if !exists {
                return fault("function", name, *range, closest(name, added()));
            }
        }
        if let Some((name, range)) = names.methods.iter().next() {
            return fault("method", name, *range, Some(&format!("|{name}")).filter(|_| has("filter", name)).map(String::as_str));
        }
        for (pattern, range) in &names.patterns {
            if let Err(message) = functions::pattern(pattern) {
                return Err(ExprError::new(ExprErrorKind::Syntax, message, source).at(range.0, range.1));
            }
        }
        Ok(())
    }
}

/// The expression of a text that is exactly one `{{ … }}`, and where it begins.
fn single<'a>(source: &'a str, blocks: &[Block]) -> Option<(&'a str, usize)> {
    let [block] = blocks else { return None };
    if block.statement || block.start != 0 || block.end != source.len() {
        return None;
    }
    let (first, last) = (block.tokens.first()?, block.tokens.last()?);
    source.get(first.start..last.end).map(|inner| (inner, first.start))
}

fn not_in_plan(source: &str) -> ExprError {
    ExprError::new(ExprErrorKind::NotInPlan, "this text is not part of the plan", source)
}

/// An error about a result, told of the whole text.
fn located(error: ExprError, source: &str) -> ExprError {
    if error.source.is_empty() { ExprError { source: source.to_owned(), range: Some((0, source.len())), ..error } } else { error }
}

/// Visits every leaf string with its JSON pointer.
pub(super) fn leaves(value: &Value, pointer: &mut String, visit: &mut impl FnMut(&str, &str)) {
    let length = pointer.len();
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                leaves(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                leaves(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}
