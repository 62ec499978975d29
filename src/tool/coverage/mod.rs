//! The one form into which every coverage report is brought.

pub mod cobertura;
pub mod coverage_py;
pub mod lcov;

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Counts of one file, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that can run.
    pub lines: u64,
    /// Lines that ran.
    pub covered_lines: u64,
    /// Branches.
    pub branches: u64,
    /// Branches that were taken.
    pub covered_branches: u64,
    /// Branches not taken of lines that ran; `None` where the report does not tell.
    pub partial: Option<u64>,
    /// Lines left out on purpose.
    pub excluded: u64,
    /// Lines that did not run, sorted.
    pub missing_lines: Vec<u64>,
    /// Lines of which some branch was taken and some was not, sorted.
    pub partial_lines: Vec<u64>,
}

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The report measured branches at all.
    pub has_branches: bool,
    /// Path (with `/`) → counts.
    pub files: BTreeMap<String, Counts>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Coverage {
    /// Adds a file under its path in one spelling.
    pub fn add(&mut self, path: &str, counts: Counts) {
        let path = path.replace('\\', "/");
        match self.files.entry(path) {
            Entry::Vacant(place) => {
                place.insert(counts);
            }
            Entry::Occupied(place) => {
                self.notes.push(format!("{} stands in the report twice; the first one counts", place.key().escape_debug()));
            }
        }
    }

    /// The tool's result.
    #[must_use]
    pub fn result(&self, format: &str) -> Value {
        let files: Map<String, Value> = self.files.iter().map(|(path, counts)| (path.clone(), self.file(counts))).collect();
        json!({
            "readable": true, "reason": null, "format": format, "has_branches": self.has_branches,
            "total": self.numbers(&self.total()), "files": files, "notes": self.notes,
        })
    }

    /// The result for a report that is not there or can't be read.
    #[must_use]
    pub fn unreadable(format: Option<&str>, reason: &str) -> Value {
        let empty = Self::default();
        json!({
            "readable": false, "reason": reason, "format": format, "has_branches": false,
            "total": empty.numbers(&Counts::default()), "files": {}, "notes": [],
        })
    }

    fn total(&self) -> Counts {
        let mut total = Counts { partial: Some(0), ..Counts::default() };
        for counts in self.files.values() {
            total.lines = total.lines.saturating_add(counts.lines);
            total.covered_lines = total.covered_lines.saturating_add(counts.covered_lines);
            total.branches = total.branches.saturating_add(counts.branches);
            total.covered_branches = total.covered_branches.saturating_add(counts.covered_branches);
            total.excluded = total.excluded.saturating_add(counts.excluded);
            total.partial = total.partial.zip(counts.partial).map(|(a, b)| a.saturating_add(b));
        }
        total
    }

    /// Without branch measurement every number of branches is 0, whatever the report says.
    fn numbers(&self, counts: &Counts) -> Value {
        let branches = if self.has_branches {
            json!({ "total": counts.branches, "covered": counts.covered_branches, "partial": counts.partial })
        } else {
            json!({ "total": 0, "covered": 0, "partial": 0 })
        };
        json!({ "lines": { "total": counts.lines, "covered": counts.covered_lines }, "branches": branches, "excluded": counts.excluded })
    }

    fn file(&self, counts: &Counts) -> Value {
        let mut value = self.numbers(counts);
        if let Value::Object(fields) = &mut value {
            fields.insert("missing_lines".to_owned(), json!(counts.missing_lines));
            fields.insert("partial_lines".to_owned(), json!(counts.partial_lines));
        }
        value
    }
}

/// Lines and branches as LCOV and Cobertura give them: per line.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Line → how often it ran.
    pub hits: BTreeMap<u64, u64>,
    /// Line → branches taken, and branches in all.
    pub branches: BTreeMap<u64, (u64, u64)>,
}

impl Lines {
    /// The counts of these lines.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let ran = |line: &u64| self.hits.get(line).is_none_or(|hits| *hits > 0);
        let untaken = self.branches.iter().filter(|(line, _)| ran(line)).map(|(_, (taken, all))| all.saturating_sub(*taken));
        Counts {
            lines: size(self.hits.len()),
            covered_lines: size(self.hits.values().filter(|hits| **hits > 0).count()),
            branches: self.branches.values().fold(0, |sum, (_, all)| sum.saturating_add(*all)),
            covered_branches: self.branches.values().fold(0, |sum, (taken, _)| sum.saturating_add(*taken)),
            partial: Some(untaken.fold(0, u64::saturating_add)),
            excluded: 0,
            missing_lines: self.hits.iter().filter(|(_, hits)| **hits == 0).map(|(line, _)| *line).collect(),
            partial_lines: self.branches.iter().filter(|(_, (taken, all))| *taken > 0 && taken < all).map(|(line, _)| *line).collect(),
        }
    }
}
