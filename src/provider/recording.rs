//! Exchanges kept in a folder, and answered from it again without any network.
//!
//! Each exchange is one file, named by its place in the run (cell, round, attempt, item, session, turn), never by the order of asking. What
//! differs from run to run (shas, times, run ids, durations, temporary folders, the project's folder) is compared by its place in the text,
//! and the answer speaks of the new ones. A question that was not recorded so is a failure that shows the difference; nothing is guessed.
//! Requests hold no keys, and answers were scrubbed of them before they came here.

use crate::agent::{Asker, Failure, FailureKind, Message, ModelReply, ModelRequest, ToolSpec};
use crate::world::{Fault, Root};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Largest recorded exchange that is read.
const FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Lines of a difference that are shown.
const SHOWN_LINES: usize = 30;
const FORMAT: &str = "model-exchange";
/// The file that says what the run was.
const RUN: &str = "run.json";

/// One exchange as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    format: String,
    /// The project's folder when it was recorded.
    root: String,
    asker: Asker,
    request: Question,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<ModelReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// What decides an answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Question {
    model: String,
    system: String,
    messages: Vec<Message>,
    tools: Vec<ToolSpec>,
    output: Value,
}

/// A folder of exchanges, to be written or to be answered from.
#[derive(Debug)]
pub struct Recording {
    folder: Root,
    /// The project's folder, which differs from machine to machine.
    project: String,
    answers: bool,
    faults: Mutex<Vec<String>>,
}

impl Recording {
    /// Writes exchanges of the run that draws its random text from `seed` into `folder`, making it.
    ///
    /// # Errors
    /// The folder cannot be made, or holds exchanges already.
    pub fn write(folder: &Path, project: &Path, seed: &str) -> Result<Self, Fault> {
        std::fs::create_dir_all(folder).map_err(|error| Fault::io(&format!("making `{}`", folder.display()), &error))?;
        let recording = Self::open(folder, project, false)?;
        let held = recording.folder.list(&["*.json".to_owned()], 1, &|_| true)?;
        if let Some(file) = held.files.first() {
            let message = format!("`{}` holds `{file}` already; record into an empty folder", folder.display());
            return Err(Fault::invalid(message));
        }
        let run = serde_json::json!({ "format": "recording", "seed": seed });
        recording.folder.write_atomic(RUN, run.to_string().as_bytes())?;
        Ok(recording)
    }

    /// The seed of the run that was recorded: with it a replay makes the same ids.
    ///
    /// # Errors
    /// The folder is no recording.
    pub fn seed(folder: &Path) -> Result<String, Fault> {
        let read = Root::open(folder)?.read(RUN, FILE_BYTES)?;
        let run: Option<Value> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let seed = run.as_ref().and_then(|run| run["seed"].as_str()).map(str::to_owned);
        seed.ok_or_else(|| Fault::invalid(format!("`{}` is no recording: its `{RUN}` is missing or holds no seed", folder.display())))
    }

    /// Answers from `folder`.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn replay(folder: &Path, project: &Path) -> Result<Self, Fault> {
        Self::open(folder, project, true)
    }

    fn open(folder: &Path, project: &Path, answers: bool) -> Result<Self, Fault> {
        Ok(Self { folder: Root::open(folder)?, project: project.to_string_lossy().into_owned(), answers, faults: Mutex::default() })
    }

    /// Whether exchanges are answered from here.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.answers
    }

    /// Questions that were not recorded, and exchanges that could not be written.
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps an exchange. A file that cannot be written is a fault of the recording, not of the run.
    pub(super) fn keep(&self, request: &ModelRequest, result: &Result<ModelReply, Failure>) {
        let exchange = Exchange {
            format: FORMAT.to_owned(),
            root: self.project.clone(),
            asker: request.asker.clone(),
            request: Question::of(request),
            reply: result.as_ref().ok().cloned(),
            failure: result.as_ref().err().cloned(),
        };
        let text = serde_json::to_string_pretty(&exchange).map_err(|error| error.to_string());
        let written =
            text.and_then(|text| self.folder.write_atomic(&place(&request.asker), text.as_bytes()).map_err(|fault| fault.message));
        if let Err(message) = written {
            self.fault(format!("the exchange {} was not recorded: {message}", place(&request.asker)));
        }
    }

    /// Answers as it was answered then.
    pub(super) fn answer(&self, request: &ModelRequest) -> Result<ModelReply, Failure> {
        let found = self.find(request);
        found.unwrap_or_else(|message| {
            self.fault(message.clone());
            Err(Failure::new(FailureKind::Crash, message))
        })
    }

    /// The outer error: not recorded so.
    fn find(&self, request: &ModelRequest) -> Result<Result<ModelReply, Failure>, String> {
        let name = place(&request.asker);
        let bytes = self.folder.read(&name, FILE_BYTES).map_err(|fault| format!("replay: {}", fault.message))?;
        let Some(bytes) = bytes else {
            return Err(format!(
                "replay: a question was asked that was not recorded: there is no `{name}` in {}",
                self.folder.path().display()
            ));
        };
        let text = String::from_utf8_lossy(&bytes);
        let exchange: Exchange =
            serde_json::from_str(&text).map_err(|fault| format!("replay: `{name}` is no recorded exchange: {fault}"))?;
        let then = Plain::of(&exchange.request, &exchange.root)?;
        let now = Plain::of(&Question::of(request), &self.project)?;
        if then.text != now.text {
            return Err(format!("replay: the question of `{name}` differs from the one recorded:\n{}", difference(&then.text, &now.text)));
        }
        let renew = |text: &str| then.renewed(text, &now, &exchange.root, &self.project);
        match (exchange.reply, exchange.failure) {
            (Some(reply), None) => renewed_reply(&reply, &renew).map(Ok),
            (None, Some(failure)) => Ok(Err(failure)),
            _ => Err(format!("replay: `{name}` holds neither one reply nor one failure")),
        }
    }

    fn fault(&self, message: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

impl Question {
    fn of(request: &ModelRequest) -> Self {
        Self {
            model: request.model.clone(),
            system: request.system.clone(),
            messages: request.messages.as_ref().clone(),
            tools: request.tools.clone(),
            output: request.output.clone(),
        }
    }
}

/// The name of an exchange's file.
fn place(asker: &Asker) -> String {
    let plain: String =
        asker.cell.chars().map(|c| if c.is_alphanumeric() || matches!(c, '@' | '-' | '_' | '.') { c } else { '_' }).collect();
    let item = asker.item.map(|item| format!(".i{item}")).unwrap_or_default();
    format!("r{}.{plain}.a{}{item}.s{}.t{}.json", asker.round, asker.attempt, asker.session, asker.turn)
}

/// A question without what differs from run to run, and every occurrence of that, in order.
struct Plain {
    text: String,
    changing: Vec<String>,
}

/// Times, shas and their short forms, run ids, durations, temporary folders.
static CHANGING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?|\d{8}T\d{6}(?:-[0-9a-f]{6})?|\b[0-9a-f]{7,64}\b|\b\d+\.\d+ ?s\b|\\?"ms\\?": ?\d+|/tmp/\.tmp[A-Za-z0-9]+"#,
    )
    .ok()
});

impl Plain {
    fn of(question: &Question, project: &str) -> Result<Self, String> {
        let text = serde_json::to_string_pretty(question).map_err(|fault| format!("replay: {fault}"))?;
        let text = if project.is_empty() { text } else { text.replace(project, "{project}") };
        let (mut changing, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let Some(pattern) = CHANGING.as_ref() else { return Ok(Self { text, changing }) };
        let text = pattern.replace_all(&text, |found: &regex::Captures<'_>| {
            let word = found.get(0).map_or("", |whole| whole.as_str());
            if !changes(word) {
                return word.to_owned();
            }
            changing.push(word.to_owned());
            if !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                // Times and durations may be equal by chance.
                return "{changing}".to_owned();
            }
            let at = names.iter().position(|known| known == word).unwrap_or_else(|| {
                names.push(word.to_owned());
                names.len() - 1
            });
            format!("{{changing {at}}}")
        });
        let text = text.into_owned();
        Ok(Self { text, changing })
    }

    /// `text` of then, speaking of what is now in the places of what was.
    fn renewed(&self, text: &str, now: &Self, old_root: &str, new_root: &str) -> String {
        let text = if old_root.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(text.replace(old_root, new_root)) };
        let Some(pattern) = CHANGING.as_ref() else { return text.into_owned() };
        let renewed = pattern.replace_all(&text, |found: &regex::Captures<'_>| {
            let word = found.get(0).map_or("", |whole| whole.as_str());
            let known = self.changing.iter().position(|known| known == word).and_then(|at| now.changing.get(at));
            known.map_or_else(|| word.to_owned(), Clone::clone)
        });
        renewed.into_owned()
    }
}

/// Plain numbers and plain words are no shas.
fn changes(word: &str) -> bool {
    let hexadecimal = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    !hexadecimal || (word.bytes().any(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

fn renewed_reply(reply: &ModelReply, renew: &dyn Fn(&str) -> String) -> Result<ModelReply, String> {
    let mut reply = reply.clone();
    reply.text = reply.text.map(|text| renew(&text));
    for call in &mut reply.calls {
        let text = renew(&call.arguments.to_string());
        call.arguments =
            serde_json::from_str(&text).map_err(|fault| format!("replay: the arguments of a call cannot be renewed: {fault}"))?;
    }
    Ok(reply)
}

/// Recorded lines with `-`, asked ones with `+`.
fn difference(then: &str, now: &str) -> String {
    // Prompts are long texts within one line of JSON; people compare lines.
    let (then, now) = (then.replace("\\n", "\n"), now.replace("\\n", "\n"));
    let diff = similar::TextDiff::from_lines(&then, &now);
    let text = diff.unified_diff().context_radius(1).header("recorded", "asked").to_string();
    let clip = |line: &str| -> String { line.chars().take(400).collect() };
    let mut lines: Vec<String> = text.lines().take(SHOWN_LINES).map(clip).collect();
    let left = text.lines().count().saturating_sub(SHOWN_LINES);
    if left > 0 {
        lines.push(format!("… and {left} more lines"));
    }
    lines.join("\n")
}
