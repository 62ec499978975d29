//! Cobertura XML: the `line` elements of each `class`; rates a report gives about itself are not used.

use super::{Coverage, Lines};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// Reads a report. Several classes of one file are put together; a line listed twice (in a method and in its class) is one line.
///
/// # Errors
/// A lower-case sentence.
pub fn parse(text: &str) -> Result<Coverage, String> {
    let mut reader = Reader::from_str(text);
    let mut files: BTreeMap<String, Lines> = BTreeMap::new();
    let mut file: Option<String> = None;
    let mut has_branches = false;
    let mut open = 0_usize;
    let mut seen_root = false;
    loop {
        let at = reader.buffer_position();
        match reader.read_event().map_err(|fault| format!("the report is not well-formed near byte {at}: {fault}"))? {
            event @ (Event::Start(_) | Event::Empty(_)) => {
                let closes = matches!(event, Event::Empty(_));
                let (Event::Start(start) | Event::Empty(start)) = event else { continue };
                if open == 0 {
                    has_branches |= root(&start, seen_root)?;
                    seen_root = true;
                }
                has_branches |= element(&start, &mut file, &mut files)?;
                open += usize::from(!closes);
            }
            Event::End(end) => {
                open = open.saturating_sub(1);
                if end.local_name().as_ref() == "class" {
                    file = None;
                }
            }
            Event::Eof if open > 0 => return Err("the report ends in the middle: it was cut off".to_owned()),
            Event::Eof if !seen_root => return Err("the report holds no element".to_owned()),
            Event::Eof => break,
            _ => {}
        }
    }
    let mut coverage = Coverage { has_branches, ..Coverage::default() };
    for (path, lines) in files {
        coverage.add(&path, lines.counts());
    }
    Ok(coverage)
}

/// Whether the root says that branches were measured.
fn root(start: &BytesStart<'_>, again: bool) -> Result<bool, String> {
    let name = start.local_name();
    if again || name.as_ref() != "coverage" {
        let name: String = name.as_ref().chars().take(40).collect();
        return Err(format!("the report is no Cobertura XML: its root is <{name}>"));
    }
    Ok(attribute(start, "branches-valid").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) > 0)
}

/// Records what one element says; true when it is a branch.
fn element(start: &BytesStart<'_>, file: &mut Option<String>, files: &mut BTreeMap<String, Lines>) -> Result<bool, String> {
    match start.local_name().as_ref() {
        "class" => {
            let path = attribute(start, "filename").ok_or("a `class` has no `filename`")?.replace('\\', "/");
            files.entry(path.clone()).or_default();
            *file = Some(path);
            Ok(false)
        }
        "line" => {
            let Some(lines) = file.as_ref().and_then(|path| files.get_mut(path)) else { return Ok(false) };
            let number = |name: &str| attribute(start, name).and_then(|n| n.parse::<u64>().ok());
            let line = number("number").ok_or("a `line` has no readable `number`")?;
            let hits = number("hits").ok_or_else(|| format!("line {line} has no readable `hits`"))?;
            let known = lines.hits.entry(line).or_default();
            *known = hits.max(*known);
            let Some((taken, all)) = attribute(start, "condition-coverage").as_deref().and_then(conditions) else { return Ok(false) };
            let known = lines.branches.entry(line).or_default();
            *known = (taken.max(known.0), all.max(known.1));
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// `50% (1/2)` → 1 of 2.
fn conditions(text: &str) -> Option<(u64, u64)> {
    let (taken, all) = text.split_once('(')?.1.split_once(')')?.0.split_once('/')?;
    let (taken, all): (u64, u64) = (taken.trim().parse().ok()?, all.trim().parse().ok()?);
    (taken <= all).then_some((taken, all))
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
    Some(found.normalized_value(quick_xml::XmlVersion::Explicit1_0).map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
}
