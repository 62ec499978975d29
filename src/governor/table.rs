//! A governor's table: compiled once, asked at each stop which row speaks.
//!
//! The row for the present count is looked for first; only when there is none, and the table has not switched it off, are the turns since
//! the last stop looked back over. Whatever row speaks names the present count.

use super::expect::Expect;
use super::options::Options;
use crate::model::{HitPolicy, Table};
use crate::rule::{CompiledTable, Engine, TableError, TableErrorKind};
use serde_json::{Map, Value};

/// The inputs a governor gives to its table; a table declares those it uses.
pub const INPUTS: [&str; 3] = ["turn", "task", "task_id"];
/// Turns looked back over at most: a count may jump by any number, a stop must be answered at once.
const LOOK_BACK: u64 = 1000;
/// Longest text of a message, in bytes.
const TEXT_BYTES: usize = 16 * 1024;

/// A table that governs sessions.
#[derive(Clone, Debug)]
pub struct Governor {
    table: CompiledTable,
    declared: Vec<&'static str>,
    /// What may be switched.
    pub options: Options,
}

/// A stop of a session.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Tool calls so far.
    pub turn: u64,
    /// The count at the last stop that was judged; `None` before the first.
    pub judged: Option<u64>,
    /// Kind of task: `plan`, `debug`, or whatever the surroundings say.
    pub task: &'a str,
    /// Name of the task; texts put it into paths.
    pub task_id: &'a str,
}

/// What a session is told.
#[derive(Clone, Debug)]
pub struct Message {
    /// The row that speaks.
    pub row: String,
    /// The count it names.
    pub turn: u64,
    /// The count the row was meant for; lower than `turn` when it was passed between two stops.
    pub due: u64,
    /// The words.
    pub text: String,
    /// What the answer is checked for.
    pub expect: Expect,
}

impl Governor {
    /// Compiles `table` and registers its texts in `engine`.
    ///
    /// # Errors
    /// Every fault: of the table itself, and of what a governor asks of one.
    pub fn compile(table: &Table, engine: &mut Engine) -> Result<Self, Vec<TableError>> {
        let mut faults = Vec::new();
        if !matches!(table.hit_policy, HitPolicy::Priority | HitPolicy::First) {
            faults.push(fault("/hit_policy", "a governor says one thing at a time: its `hit_policy` is `priority` or `first`".to_owned()));
        }
        let (options, wrong) = Options::read(&table.options);
        faults.extend(wrong.into_iter().map(|(key, message)| fault(&format!("/options/{}", segment(&key)), message)));
        for name in table.inputs.keys().filter(|name| !INPUTS.contains(&name.as_str())) {
            let message = format!("a governor gives `turn`, `task` and `task_id`, but no `{}`", name.escape_debug());
            faults.push(fault(&format!("/inputs/{}", segment(name)), message));
        }
        for (index, rule) in table.rules.iter().enumerate() {
            shape(&rule.then, index, &mut faults);
        }
        match CompiledTable::compile(table, engine) {
            Ok(compiled) if faults.is_empty() => {
                let declared = INPUTS.into_iter().filter(|name| table.inputs.contains_key(*name)).collect();
                Ok(Self { table: compiled, declared, options })
            }
            Ok(_) => Err(faults),
            Err(more) => {
                faults.extend(more);
                Err(faults)
            }
        }
    }

    /// What is to be said at a stop. Nothing before the first call, and nothing where this count, or a higher one, was judged before.
    ///
    /// # Errors
    /// A condition or text that cannot be evaluated.
    pub fn speak(&self, engine: &Engine, moment: Moment<'_>) -> Result<Option<Message>, TableError> {
        if moment.turn == 0 || moment.judged.is_some_and(|judged| moment.turn <= judged) {
            return Ok(None);
        }
        match self.due(engine, moment)? {
            Some((row, due)) => self.message(engine, row, due, moment).map(Some),
            None => Ok(None),
        }
    }

    /// The row that speaks and the count it was meant for.
    fn due(&self, engine: &Engine, moment: Moment<'_>) -> Result<Option<(usize, u64)>, TableError> {
        if let Some(row) = self.row_at(engine, moment.turn, moment)? {
            return Ok(Some((row, moment.turn)));
        }
        if !self.options.catch_up {
            return Ok(None);
        }
        let first = moment.judged.map_or(1, |judged| judged.saturating_add(1)).max(moment.turn.saturating_sub(LOOK_BACK));
        let mut best: Option<(usize, u64)> = None;
        for turn in (first..moment.turn).rev() {
            // Rows are numbered in the order they are tried, so the lower number outranks.
            if let Some(row) = self.row_at(engine, turn, moment)?
                && best.is_none_or(|(known, _)| row < known)
            {
                best = Some((row, turn));
                if row == 0 {
                    break;
                }
            }
        }
        Ok(best)
    }

    fn row_at(&self, engine: &Engine, turn: u64, moment: Moment<'_>) -> Result<Option<usize>, TableError> {
        Ok(self.table.matching(engine, &self.inputs(turn, moment), true)?.first().copied())
    }

    fn message(&self, engine: &Engine, row: usize, due: u64, moment: Moment<'_>) -> Result<Message, TableError> {
        let then = self.table.result(engine, row, &self.inputs(moment.turn, moment))?;
        let id = self.table.row_id(row);
        let broken = |message: &str| {
            Err(TableError { row: Some(id.to_owned()), ..TableError::new(TableErrorKind::Result, "", format!("row `{id}`: {message}")) })
        };
        let Some(text) = then.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()) else {
            return broken("`then.text` gives no text");
        };
        if text.len() > TEXT_BYTES {
            return broken("`then.text` gives a text that is too long");
        }
        match Expect::read(then.get("expect")) {
            Ok(expect) => Ok(Message { row: id.to_owned(), turn: moment.turn, due, text: text.to_owned(), expect }),
            Err(faults) => broken(&faults.join("; ")),
        }
    }

    fn inputs(&self, turn: u64, moment: Moment<'_>) -> Map<String, Value> {
        let value = |name: &str| match name {
            "turn" => Value::from(turn),
            "task" => Value::from(moment.task),
            _ => Value::from(moment.task_id),
        };
        self.declared.iter().map(|name| ((*name).to_owned(), value(name))).collect()
    }
}

/// `then` is `{text, expect}`; what holds no template is checked now.
fn shape(then: &Value, index: usize, faults: &mut Vec<TableError>) {
    let at = format!("/rules/{index}/then");
    let Value::Object(map) = then else {
        return faults.push(fault(&at, "`then` must be an object: {text, expect}".to_owned()));
    };
    if !map.get("text").is_some_and(Value::is_string) {
        faults.push(fault(&at, "`then` needs `text`, what is said".to_owned()));
    }
    if let Some(key) = map.keys().find(|key| !["text", "expect"].contains(&key.as_str())) {
        faults.push(fault(
            &format!("{at}/{}", segment(key)),
            format!("`then` knows no `{}`: it has `text` and `expect`", key.escape_debug()),
        ));
    }
    if let Err(wrong) = Expect::read(map.get("expect").map(without_templates).as_ref()) {
        faults.extend(wrong.into_iter().map(|message| fault(&format!("{at}/expect"), message)));
    }
}

/// What a template will give is not known yet; a plain word stands for it.
fn without_templates(value: &Value) -> Value {
    match value {
        Value::String(text) if text.contains("{{") || text.contains("{%") => Value::from("x"),
        Value::Array(items) => items.iter().map(without_templates).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), without_templates(item))).collect::<Map<_, _>>().into(),
        other => other.clone(),
    }
}

fn fault(at: &str, message: String) -> TableError {
    TableError::new(TableErrorKind::Result, at, message)
}

fn segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
