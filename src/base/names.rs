//! Help for names that nearly match: the nearest known name, and what two look-alike names differ in.

use unicode_normalization::UnicodeNormalization;

/// The candidate nearest to `name` (Jaro-Winkler ≥ 0.8, or equal without case), if any.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (score(name, candidate), candidate))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Whether two different names are a slip of the hand apart: one letter more, less or other, two swapped, or another case.
#[must_use]
pub fn slip(a: &str, b: &str) -> bool {
    a != b && (a.to_lowercase() == b.to_lowercase() || strsim::osa_distance(a, b) == 1)
}

fn score(a: &str, b: &str) -> f64 {
    if a.to_lowercase() == b.to_lowercase() { 1.0 } else { strsim::jaro_winkler(a, b) }
}

/// What `name` and `other` differ in when they are equal after NFKC, lower-casing, trimming and removal of
/// invisible characters; names the first differing code points. `None` when they are equal or really differ.
#[must_use]
pub fn fold_hint(name: &str, other: &str) -> Option<String> {
    if name == other || fold(name) != fold(other) {
        return None;
    }
    let a: Vec<char> = name.chars().collect();
    let b: Vec<char> = other.chars().collect();
    let at = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let show = |c: Option<&char>| c.map_or("nothing".to_owned(), |c| format!("U+{:04X}", *c as u32));
    Some(format!(
        "`{}` and `{}` look alike but differ at character {}: {} here, {} there",
        name.escape_debug(),
        other.escape_debug(),
        at + 1,
        show(a.get(at)),
        show(b.get(at)),
    ))
}

fn fold(name: &str) -> String {
    let visible: String = name.nfkc().filter(|c| !is_invisible(*c)).collect();
    visible.trim().to_lowercase().chars().map(confusable).collect()
}

/// Cyrillic and Greek letters that are drawn like Latin ones (a small part of Unicode TR 39's table).
fn confusable(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'е' | 'ε' => 'e',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'с' => 'c',
        'х' | 'χ' => 'x',
        'у' => 'y',
        'і' | 'ι' => 'i',
        'к' | 'κ' => 'k',
        'т' | 'τ' => 't',
        'м' => 'm',
        'н' => 'h',
        'в' => 'b',
        'ѕ' => 's',
        'ԁ' => 'd',
        other => other,
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}
