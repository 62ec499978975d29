//! `rdf.insert`: adds statements to a Turtle file. The program writes the Turtle; a caller only gives terms.
//!
//! What stands in the file keeps its bytes; a statement that is there already is not written again. A file that is no Turtle is set aside
//! under `<file>.bad-<digest>` before a new one is begun with what could be rescued.

use super::Desk;
use super::given::{failed, text, wrong};
use super::rdf_terms::Terms;
use crate::base::digest_bytes;
use crate::base::limits::FILE_BYTES;
use crate::knowledge::{Statement, append};
use crate::model::tool::ToolError;
use serde_json::{Value, json};
use std::sync::Mutex;

/// Most statements of one call.
const TRIPLES: usize = 1000;

/// Reading, adding and writing are one thing: two calls at once would lose one's statements.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the tool.
///
/// # Errors
/// Terms that can't be read, a file that may not be read or written, a file that is Turtle of a kind not read here.
pub fn run(desk: &dyn Desk, args: &Value) -> Result<Value, ToolError> {
    let file = text(args, "file")?;
    let mut terms = Terms::new(args)?;
    let statements = statements(args, &mut terms)?;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let old = desk.read(file)?;
    if let Some(answer) = old.as_deref().map_or(Ok(None), |now| desk.done_before(now))? {
        return Ok(answer);
    }
    let result = append(file, old.as_deref(), &statements, &terms.prefixes).map_err(|fault| failed(fault.message))?;
    let size = result.bytes.as_ref().map_or(0, Vec::len);
    if u64::try_from(size).unwrap_or(u64::MAX) > FILE_BYTES {
        return Err(failed(format!("{file} would grow to {size} bytes and could not be read any more: begin another file")));
    }
    let mut set_aside = None;
    if let (Some((fault, rescued)), Some(old)) = (&result.broken, &old) {
        let digest = digest_bytes(old);
        let aside = format!("{file}.bad-{}", digest.get(..8).unwrap_or(&digest));
        desk.write(&aside, old)?;
        terms.notes.push(format!("{}: it was set aside as {aside}, {rescued} statements were rescued", fault.message));
        set_aside = Some(aside);
    }
    let answer = json!({ "file": file, "added": result.added, "set_aside": set_aside, "notes": terms.notes });
    if let Some(bytes) = &result.bytes {
        desk.promise(bytes, &answer)?;
        desk.write(file, bytes)?;
    }
    Ok(answer)
}

fn statements(args: &Value, terms: &mut Terms) -> Result<Vec<Statement>, ToolError> {
    let Some(triples) = args.get("triples").and_then(Value::as_array) else {
        return Err(wrong("`triples` must be a list of [subject, predicate, object]"));
    };
    if triples.len() > TRIPLES {
        return Err(wrong(format!("{} triples in one call; at most {TRIPLES} are taken", triples.len())));
    }
    let mut statements = Vec::with_capacity(triples.len());
    for (number, triple) in triples.iter().enumerate() {
        let place = format!("triple {}", number + 1);
        let Some([s, p, o]) = triple.as_array().map(Vec::as_slice) else {
            return Err(wrong(format!("{place} must be [subject, predicate, object]")));
        };
        statements.push(Statement {
            subject: terms.subject(s, &place)?,
            predicate: terms.predicate(p, &place)?,
            object: terms.object(o, &place)?,
        });
    }
    Ok(statements)
}
