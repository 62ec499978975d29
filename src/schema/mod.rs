//! JSON Schema: compile once, check values, say exactly where a value is wrong. No remote references, no I/O; the number of faults is bounded.

mod types;

pub use types::TypeSchemas;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Faults kept of one check.
pub const MAX_FAULTS: usize = 200;
/// Longest piece of a value shown in a message, in characters.
const SHOWN: usize = 60;

/// A compiled schema; cloning shares it.
#[derive(Clone)]
pub struct Schema {
    inner: Arc<Inner>,
}

struct Inner {
    source: Value,
    validator: Validator,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub pointer: String,
    /// Lower-case sentence.
    pub message: String,
}

/// One way a value misses its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer to the value; of a missing or unexpected key, to the object around it.
    pub pointer: String,
    /// What is wrong.
    pub kind: FaultKind,
    /// Lower-case sentence without the place.
    pub message: String,
}

/// Kinds of [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A required key is missing.
    Missing {
        /// The key.
        key: String,
    },
    /// A key that the schema does not know.
    Unexpected {
        /// The key.
        key: String,
        /// Keys the schema knows there.
        known: Arc<[String]>,
    },
    /// Another type was expected.
    Type {
        /// JSON names of the types allowed.
        expected: Vec<String>,
    },
    /// A value outside a fixed list.
    Choice {
        /// The list, as JSON.
        allowed: Vec<Value>,
    },
    /// Anything else; the schema keyword that failed.
    Other {
        /// The keyword.
        keyword: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "at `{place}`: {}", self.message)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.inner.source).finish()
    }
}

/// Refuses every reference that leaves the schema.
struct NoRemote;

impl Retrieve for NoRemote {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is outside this schema; references stay within a schema").into())
    }
}

impl Schema {
    /// Compiles a schema (draft 2020-12 unless it names another one).
    ///
    /// # Errors
    /// The schema is no valid JSON Schema, or refers to something outside itself.
    pub fn compile(source: &Value) -> Result<Self, SchemaError> {
        // The linear-time engine: a schema's pattern must not be able to stall a run.
        let options = jsonschema::options().with_retriever(NoRemote).with_pattern_options(jsonschema::PatternOptions::regex());
        match options.build(source) {
            Ok(validator) => Ok(Self { inner: Arc::new(Inner { source: source.clone(), validator }) }),
            Err(error) => Err(SchemaError { pointer: error.instance_path().to_string(), message: uncompilable(&error) }),
        }
    }

    /// The schema as written.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.inner.source
    }

    /// Everything wrong with `value`, at most [`MAX_FAULTS`].
    #[must_use]
    pub fn check(&self, value: &Value) -> Vec<Fault> {
        self.check_up_to(value, MAX_FAULTS)
    }

    /// As [`Schema::check`], with another bound. As many faults as the bound may mean that there are more.
    #[must_use]
    pub fn check_up_to(&self, value: &Value, most: usize) -> Vec<Fault> {
        let mut faults = Vec::new();
        for error in self.inner.validator.iter_errors(value) {
            self.collect(&error, &mut faults, most);
            if faults.len() >= most {
                faults.truncate(most);
                break;
            }
        }
        faults
    }

    /// True when nothing is wrong with `value`.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        self.inner.validator.is_valid(value)
    }

    fn collect(&self, error: &ValidationError<'_>, faults: &mut Vec<Fault>, most: usize) {
        let pointer = error.instance_path().to_string();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known: Arc<[String]> = self.known_keys(error).into();
                for key in unexpected.iter().take(most.saturating_sub(faults.len())) {
                    let message = format!("unexpected key `{}`", shown_text(key));
                    let kind = FaultKind::Unexpected { key: key.clone(), known: known.clone() };
                    faults.push(Fault { pointer: pointer.clone(), kind, message });
                }
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                self.nearest_branch(error, context, faults, most);
            }
            kind => faults.push(Fault { pointer, message: message(kind, error), kind: fault_kind(kind, error) }),
        }
    }

    /// Of several allowed forms, the faults of the one that the value comes nearest to.
    fn nearest_branch(&self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>], faults: &mut Vec<Fault>, most: usize) {
        let depth = |branch: &Vec<ValidationError<'static>>| {
            branch.iter().map(|error| error.instance_path().to_string().matches('/').count()).max().unwrap_or(0)
        };
        let own = error.instance_path().to_string();
        let not_of_type = |branch: &&Vec<ValidationError<'static>>| {
            !branch.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance_path().to_string() == own)
        };
        let mut best: Option<&Vec<ValidationError<'static>>> = None;
        for branch in context.iter().filter(not_of_type) {
            let better = best.is_none_or(|other| (depth(branch), other.len()) > (depth(other), branch.len()));
            best = if better { Some(branch) } else { best };
        }
        match best {
            Some(branch) => branch.iter().take(MAX_FAULTS).for_each(|error| self.collect(error, faults, most)),
            None => {
                let message = format!("{} matches none of the {} allowed forms", shown(error.instance()), context.len());
                faults.push(Fault { pointer: own, kind: FaultKind::Other { keyword: "anyOf".to_owned() }, message });
            }
        }
    }

    fn known_keys(&self, error: &ValidationError<'_>) -> Vec<String> {
        let path = error.schema_path().to_string();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let properties = self.inner.source.pointer(&format!("{parent}/properties")).and_then(Value::as_object);
        properties.map(|map| map.keys().cloned().collect()).unwrap_or_default()
    }
}

fn uncompilable(error: &ValidationError<'_>) -> String {
    let words = decapitalise(&error.masked_with("it").to_string());
    match error.kind() {
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{} is not allowed here", shown(error.instance()))
        }
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Enum { .. } => message(error.kind(), error),
        _ => words,
    }
}

fn fault_kind(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> FaultKind {
    match kind {
        ValidationErrorKind::Required { property } => FaultKind::Missing { key: property.as_str().unwrap_or_default().to_owned() },
        ValidationErrorKind::Type { kind } => FaultKind::Type { expected: type_names(kind) },
        ValidationErrorKind::Enum { options } => FaultKind::Choice { allowed: options.as_array().cloned().unwrap_or_default() },
        ValidationErrorKind::Constant { expected_value } => FaultKind::Choice { allowed: vec![expected_value.as_ref().clone()] },
        _ => FaultKind::Other { keyword: error.schema_path().to_string().rsplit('/').next().unwrap_or_default().to_owned() },
    }
}

fn message(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    let got = shown(error.instance());
    match kind {
        ValidationErrorKind::Required { property } => format!("the key `{}` is missing", shown_text(property.as_str().unwrap_or_default())),
        ValidationErrorKind::Type { kind } => format!("expected {}, got {got}", type_names(kind).join(" or ")),
        ValidationErrorKind::Enum { options } => {
            let allowed: Vec<String> = options.as_array().into_iter().flatten().take(20).map(shown).collect();
            format!("expected one of {}, got {got}", allowed.join(", "))
        }
        ValidationErrorKind::Constant { expected_value } => format!("expected {}, got {got}", shown(expected_value)),
        ValidationErrorKind::FalseSchema => "nothing is allowed here".to_owned(),
        // The crate's own words, with the value replaced so that a long one does not flood the message.
        _ => format!("{} (got {got})", decapitalise(&error.masked_with("the value").to_string())),
    }
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect(),
    }
}

/// A value as it is shown in messages: compact and short.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > 4 => format!("a list of {} items", items.len()),
        Value::Object(map) if map.len() > 3 => format!("an object with {} keys", map.len()),
        Value::String(text) if text.len() > SHOWN => format!("\"{}\"", shown_text(text)),
        value => shown_text(&value.to_string()),
    }
}

fn shown_text(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn decapitalise(text: &str) -> String {
    shown_text_long(text.trim_end_matches('.'))
}

fn shown_text_long(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    first.to_lowercase().chain(chars.take(400)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(schema: Value, value: &Value) -> Vec<String> {
        let schema = Schema::compile(&schema).expect("a schema");
        schema.check(value).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn faults_say_where_and_what() {
        let schema = json!({"type": "object", "required": ["a", "b"], "additionalProperties": false,
            "properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}}});
        let got = texts(schema.clone(), &json!({"a": 5, "c": 1}));
        assert!(got.contains(&"at `/a`: expected string, got 5".to_owned()), "{got:?}");
        assert!(got.contains(&"at `/`: the key `b` is missing".to_owned()), "{got:?}");
        assert!(got.contains(&"at `/`: unexpected key `c`".to_owned()), "{got:?}");
        assert_eq!(texts(schema, &json!({"a": "", "b": "z"})), ["at `/b`: expected one of \"x\", \"y\", got \"z\""]);
    }

    #[test]
    fn known_keys_are_found_through_references() {
        let schema = json!({"$ref": "#/$defs/t", "$defs": {"t": {"additionalProperties": false, "properties": {"items": {}}}}});
        let faults = Schema::compile(&schema).expect("a schema").check(&json!({"itemz": 1}));
        assert_eq!(faults[0].kind, FaultKind::Unexpected { key: "itemz".into(), known: vec!["items".to_owned()].into() });
    }

    #[test]
    fn remote_references_and_bad_schemas_are_refused() {
        assert!(Schema::compile(&json!({"$ref": "https://example.org/x.json"})).is_err());
        assert!(Schema::compile(&json!({"$ref": "file:///etc/passwd"})).is_err());
        assert!(Schema::compile(&json!({"type": "strin"})).is_err());
    }

    #[test]
    fn the_nearest_form_is_the_one_reported() {
        let schema = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]});
        assert_eq!(texts(schema.clone(), &json!({})), ["at `/`: the key `a` is missing"]);
        assert_eq!(texts(schema, &json!(5)), ["at `/`: 5 matches none of the 2 allowed forms"]);
    }

    #[test]
    fn the_number_of_faults_is_bounded() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).expect("a schema");
        assert_eq!(schema.check(&json!(vec![0; 1000])).len(), MAX_FAULTS);
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        ] {
            if let Ok(schema) = Schema::compile(&schema) {
                let _ = schema.check(&json!({"a": [1]}));
            }
        }
    }
}
