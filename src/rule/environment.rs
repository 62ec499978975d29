//! The one MiniJinja environment of an engine: strict, unescaped, fuelled, without a loader, with the added functions.
//!
//! What can grow without paying fuel, run into itself or print the engine's inside is taken out here.

use super::scope::{ROOT, Root, Scope};
use super::value::{in_text, settle};
use super::{ExprError, ExprErrorKind, Limits, Val, functions, guard};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};

/// Deepest nesting of `render` calls.
const RENDERS: usize = 6;
/// MiniJinja's own measure of nested macros and loops, low enough for a thread with 2 MB of stack.
const RECURSION: usize = 60;

/// An environment without templates.
pub(super) fn build(limits: &Limits) -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(limits.fuel));
    env.set_recursion_limit(RECURSION);
    env.set_debug(true);
    env.set_formatter(format);
    for filter in ["safe", "escape", "e", "pprint", "format", "count", "d"] {
        env.remove_filter(filter);
    }
    for test in ["safe", "escaped", "sameas"] {
        env.remove_test(test);
    }
    for global in ["debug", "namespace"] {
        env.remove_global(global);
    }
    env.add_function("render", render);
    functions::add_to(&mut env);
    guard::add_to(&mut env);
    env
}

/// Syntax of texts: everything is kept as it stands.
pub(super) fn plain_syntax() -> SyntaxConfig {
    SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default()
}

/// Syntax of files: a line that holds nothing but a statement leaves no line behind.
pub(super) fn file_syntax() -> SyntaxConfig {
    SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

/// Name of the template that holds the file `path`.
pub(super) fn file_name(path: &str) -> String {
    format!("file:{path}")
}

fn format(out: &mut Output, _state: &mut State, value: &Val) -> Result<(), Error> {
    let text = in_text(value).map_err(ExprError::into_jinja)?;
    out.write_str(&text).map_err(Error::from)
}

/// `render(path)`: a registered file with the scope of the caller and the names its text has set so far.
fn render(state: &State, path: &str) -> Result<String, Error> {
    let root = state.lookup(ROOT);
    let Some(root) = root.as_ref().and_then(|root| root.downcast_object_ref::<Root>()) else {
        return Err(Error::new(ErrorKind::InvalidOperation, "`render` has no scope here"));
    };
    if root.depth >= RENDERS {
        let message = format!("`render` calls are nested deeper than {RENDERS}");
        return Err(ExprError::new(ExprErrorKind::TooLarge, message, path).into_jinja());
    }
    let inner = Root { scope: with_locals(state, &root.scope), depth: root.depth + 1 };
    let (text, fuel) = render_file(state.env(), path, inner).map_err(ExprError::into_jinja)?;
    state.consume_fuel(fuel)?;
    Ok(text)
}

/// The text of a registered file and the fuel it took.
pub(super) fn render_file(env: &Environment, path: &str, root: Root) -> Result<(String, u64), ExprError> {
    let template = env
        .get_template(&file_name(path))
        .map_err(|_| ExprError::new(ExprErrorKind::NotInPlan, format!("the file `{path}` is not among the templates of the plan"), path))?;
    let captured =
        template.render_captured(Val::from_object(root)).map_err(|error| ExprError::from_guarded(&error, path, 0, template.source()))?;
    let fuel = captured.state().fuel_levels().map_or(0, |(used, _)| used);
    Ok((captured.into_output(), fuel))
}

fn with_locals(state: &State, scope: &Scope) -> Scope {
    let mut inner = scope.child();
    for name in state.known_variables() {
        if name == "loop" || state.env().globals().any(|(global, _)| global == name) {
            continue;
        }
        if let Some(value) = state.lookup(&name).and_then(|value| settle(value).ok()) {
            inner.set(&name, value);
        }
    }
    inner
}
