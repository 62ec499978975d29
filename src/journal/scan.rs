//! Reading a journal from its first byte: whole records, what was cut off at the tail, and what cannot be trusted.

use super::delta::Sessions;
use super::line::{self, Chain, LINE_BYTES, Line};
use super::record::{Entry, FORMAT, Header, Record};
use super::{Blobs, JournalError};
use serde_json::Value;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

/// What a journal holds.
#[derive(Debug)]
pub struct Scan {
    /// The first record.
    pub header: Header,
    /// All records, the header included.
    pub records: Vec<Record>,
    /// Offset behind the last whole line.
    pub end: u64,
    /// What the next line is chained to.
    pub chain: Chain,
    /// What is recorded of each session.
    pub sessions: Sessions,
    /// True when something other than zeros stands behind the last whole line.
    pub torn: bool,
    /// For people.
    pub notes: Vec<String>,
}

/// Reads everything. The last line may be broken (a write that was under way); anything else that is broken is an error.
pub fn scan(mut input: impl BufRead, blobs: &Blobs, path: &Path) -> Result<Scan, JournalError> {
    let mut chain = Chain::default();
    let (mut end, mut torn) = (0_u64, None);
    let mut records: Vec<Record> = Vec::new();
    let mut sessions = Sessions::default();
    loop {
        let piece = next_piece(&mut input).map_err(|error| JournalError::io("read", path, error))?;
        let bytes = match &piece {
            Piece::End => break,
            Piece::Rest(bytes) if bytes.iter().all(|b| *b == 0) => break,
            Piece::Rest(_) => {
                torn = Some("a line without an end".to_owned());
                break;
            }
            Piece::TooLong => return Err(damaged(path, &chain, format!("a line longer than {LINE_BYTES} bytes"))),
            Piece::Line(bytes) => bytes,
        };
        match line::parse(bytes, &mut chain) {
            Ok(line) => {
                let record = read_record(line, blobs, path, records.first())?;
                if let Entry::Request(request) = &record.entry {
                    sessions.learn(request);
                }
                records.push(record);
                end += bytes.len() as u64 + 1;
            }
            Err(what) if records.is_empty() => return Err(not_ours(bytes, path, what)),
            Err(what) if only_zeros(&mut input).map_err(|error| JournalError::io("read", path, error))? => {
                torn = Some(what);
                break;
            }
            Err(what) => return Err(damaged(path, &chain, what)),
        }
    }
    let Some(Record { entry: Entry::Header(header), .. }) = records.first() else {
        return Err(damaged(path, &chain, "there is no whole record".to_owned()));
    };
    let header = Header::clone(header);
    let notes = torn.iter().map(|what| tail_note(what, &chain)).collect();
    Ok(Scan { header, records, end, chain, sessions, torn: torn.is_some(), notes })
}

fn tail_note(what: &str, chain: &Chain) -> String {
    let last = chain.last().unwrap_or(0);
    format!("the journal ended in {what}: a write that was under way when the process ended; it was cut back to record {last}")
}

enum Piece {
    /// A line, without its line feed.
    Line(Vec<u8>),
    /// What stands behind the last line feed.
    Rest(Vec<u8>),
    TooLong,
    End,
}

fn next_piece(input: &mut impl BufRead) -> io::Result<Piece> {
    let mut bytes = Vec::new();
    input.take(LINE_BYTES as u64).read_until(b'\n', &mut bytes)?;
    Ok(match bytes.pop() {
        None => Piece::End,
        Some(b'\n') => Piece::Line(bytes),
        Some(last) => {
            bytes.push(last);
            if bytes.len() == LINE_BYTES { Piece::TooLong } else { Piece::Rest(bytes) }
        }
    })
}

fn only_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(true);
        }
        if chunk.iter().any(|b| *b != 0) {
            return Ok(false);
        }
        let length = chunk.len();
        input.consume(length);
    }
}

/// A record from a line that is whole; `first` is the first record, where there is one already.
pub fn read_record(line: Line, blobs: &Blobs, path: &Path, first: Option<&Record>) -> Result<Record, JournalError> {
    let Line { seq, at, kind, body, .. } = line;
    let good = seq.checked_sub(1);
    let fault = |what: String| JournalError::Damaged { path: path.to_owned(), good, what };
    let body = if kind == "request" { Ok(body) } else { blobs.expand(body) }.map_err(fault)?;
    if kind == "header" {
        check_format(&body, path)?;
    }
    let entry = Entry::read(&kind, body).map_err(|what| fault(format!("record {seq} does not read: {what}")))?;
    let entry = entry.ok_or_else(|| {
        let program = first.map_or("unknown".to_owned(), |record| match &record.entry {
            Entry::Header(header) => header.program.clone(),
            _ => "unknown".to_owned(),
        });
        JournalError::Unknown { path: path.to_owned(), what: format!("records of kind `{kind}`"), program }
    })?;
    if matches!(entry, Entry::Header(_)) != (seq == 0) {
        return Err(fault(format!("record {seq} is a {}, which cannot stand there", entry.kind())));
    }
    Ok(Record { seq, at, entry })
}

fn check_format(body: &Value, path: &Path) -> Result<(), JournalError> {
    match body.get("format").and_then(Value::as_u64) {
        Some(format) if format > u64::from(FORMAT) => {
            let program = body.get("program").and_then(Value::as_str).unwrap_or("unknown").to_owned();
            Err(JournalError::Unknown { path: path.to_owned(), what: format!("format {format}"), program })
        }
        _ => Ok(()),
    }
}

/// Why the first line is not one of ours: a newer format may chain its lines in another way, and should be named as such.
fn not_ours(bytes: &[u8], path: &Path, what: String) -> JournalError {
    let newer = serde_json::from_slice::<Value>(bytes).ok().and_then(|line| check_format(line.get("body")?, path).err());
    newer.unwrap_or(JournalError::Damaged { path: path.to_owned(), good: None, what })
}

fn damaged(path: &Path, chain: &Chain, what: String) -> JournalError {
    JournalError::Damaged { path: path.to_owned(), good: chain.last(), what }
}
