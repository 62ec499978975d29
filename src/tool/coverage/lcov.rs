//! LCOV tracefiles: `SF`, `DA` and `BRDA` lines; totals a file gives about itself are not used.
//!
//! Read by hand because writers put words into `BRDA` (coverage.py: `jump to line 6`), where the format once had numbers.

use super::{Coverage, Lines};
use std::collections::BTreeMap;

/// Most lines of one report.
const RECORDS: usize = 2_000_000;

#[derive(Default)]
struct File {
    lines: Lines,
    /// (line, block, branch) → taken.
    taken: BTreeMap<(u64, String, String), u64>,
}

/// Reads a report. Several sections about one file are added up.
///
/// # Errors
/// A lower-case sentence with the line.
pub fn parse(text: &str) -> Result<Coverage, String> {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    let mut open: Option<String> = None;
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if number > RECORDS {
            return Err(format!("the report has more than {RECORDS} lines"));
        }
        let (kind, rest) = line.split_once(':').unwrap_or((line, ""));
        match kind {
            "SF" => {
                let path = rest.replace('\\', "/");
                files.entry(path.clone()).or_default();
                open = Some(path);
            }
            "end_of_record" => open = None,
            "DA" | "BRDA" => {
                let file = open.as_ref().and_then(|path| files.get_mut(path));
                let file = file.ok_or_else(|| format!("line {number}: `{kind}` stands outside of a file's section"))?;
                let read = if kind == "DA" { line_data(rest, file) } else { branch_data(rest, file) };
                read.ok_or_else(|| format!("line {number}: `{kind}` can't be read"))?;
            }
            _ => {}
        }
    }
    if open.is_some() {
        return Err("the report ends in the middle of a file's section: it was cut off".to_owned());
    }
    if files.is_empty() {
        return Err("the report has no `SF` line: it is not LCOV".to_owned());
    }
    Ok(gather(files))
}

fn gather(files: BTreeMap<String, File>) -> Coverage {
    let mut coverage = Coverage::default();
    for (path, mut file) in files {
        for ((line, _, _), taken) in &file.taken {
            let entry = file.lines.branches.entry(*line).or_default();
            entry.0 += u64::from(*taken > 0);
            entry.1 += 1;
        }
        coverage.has_branches |= !file.lines.branches.is_empty();
        coverage.add(&path, file.lines.counts());
    }
    coverage
}

fn line_data(rest: &str, file: &mut File) -> Option<()> {
    let mut fields = rest.split(',');
    let line = fields.next()?.trim().parse().ok()?;
    // Some writers give negative counts where counters overflowed: that line ran.
    let hits: i64 = fields.next()?.trim().parse().ok()?;
    let entry = file.lines.hits.entry(line).or_default();
    *entry = entry.saturating_add(hits.unsigned_abs());
    Some(())
}

/// The last field is how often, `-` for never reached; the third may hold commas.
fn branch_data(rest: &str, file: &mut File) -> Option<()> {
    let (head, taken) = rest.rsplit_once(',')?;
    let mut fields = head.splitn(3, ',');
    let (line, block, branch) = (fields.next()?.trim().parse().ok()?, fields.next()?, fields.next()?);
    let taken: u64 = if taken.trim() == "-" { 0 } else { taken.trim().parse().ok()? };
    let entry = file.taken.entry((line, block.to_owned(), branch.to_owned())).or_default();
    *entry = entry.saturating_add(taken);
    Some(())
}
