//! Terms: `Type`, `Type(variant)`, `A|B`, `Type (×N)` and sums of them (docs/language.md, "Terms").

use std::fmt;

/// A type name with an optional variant, e.g. `Snapshot(t0)`. Names are NFC.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeRef {
    /// Name without the variant.
    pub name: String,
    /// The parenthesised suffix that is no count.
    pub variant: Option<String>,
}

impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variant {
            Some(variant) => write!(f, "{}({variant})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl TypeRef {
    /// Reads `Name` or `Name(variant)`; anything else is taken as a bare name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some((name, rest)) = text.split_once('(')
            && let Some(variant) = rest.strip_suffix(')')
        {
            return Self { name: name.trim().to_owned(), variant: Some(variant.trim().to_owned()) };
        }
        Self { name: text.to_owned(), variant: None }
    }
}

/// One part of a `what`, or one entry of `in`/`out`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// The alternatives in written order; one of them travels.
    pub alternatives: Vec<TypeRef>,
    /// How many values travel, 1 unless written.
    pub count: u8,
}

impl Term {
    /// True when every alternative of `self` is among those of `entry`.
    #[must_use]
    pub fn fits(&self, entry: &Term) -> bool {
        self.alternatives.iter().all(|a| entry.alternatives.contains(a))
    }

    /// The alternatives sorted by name and joined by `|`; equal for two spellings of one union.
    #[must_use]
    pub fn key(&self) -> String {
        let mut names: Vec<String> = self.alternatives.iter().map(ToString::to_string).collect();
        names.sort();
        names.join("|")
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, alternative) in self.alternatives.iter().enumerate() {
            if index > 0 {
                f.write_str("|")?;
            }
            write!(f, "{alternative}")?;
        }
        if self.count > 1 {
            write!(f, "(×{})", self.count)?;
        }
        Ok(())
    }
}
