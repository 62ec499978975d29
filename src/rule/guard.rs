//! Keeps lists from being multiplied: `[x] * n` costs nothing and is as long as `n` says, and a few of them within each other are longer than
//! any bound, in a value that operators and filters walk without paying fuel.
//!
//! MiniJinja has no hook for an operator, so each operand of a `*` is sent through a filter that refuses lists. It only adds text behind
//! operands, where a filter binds closer than any operator, and can tell for every byte of the guarded text which one of the author's it was.

use super::scan::{Block, Token, TokenKind, text};
use super::{ExprError, ExprErrorKind, Val};
use minijinja::Error;
use minijinja::value::ValueKind;

/// Name of the filter; documents cannot write it.
const FILTER: &str = "__factor";
/// What is added behind an operand.
const GUARD: &str = "|__factor ";

/// Adds the filter to an environment.
pub(super) fn add_to(env: &mut minijinja::Environment<'static>) {
    env.add_filter(FILTER, factor);
}

fn factor(value: Val) -> Result<Val, Error> {
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        let message = "a list cannot be multiplied; repeat it with `for`";
        return Err(ExprError::new(ExprErrorKind::Type, message, "").into_jinja());
    }
    Ok(value)
}

/// `source` with its products guarded.
pub(super) fn guarded(source: &str, blocks: &[Block]) -> String {
    let mut places: Vec<usize> = blocks.iter().flat_map(|block| operands(source, &block.tokens)).collect();
    places.sort_unstable();
    places.dedup();
    let mut out = String::with_capacity(source.len() + places.len() * GUARD.len());
    let mut done = 0;
    for place in places {
        out.push_str(&source[done..place]);
        out.push_str(GUARD);
        done = place;
    }
    out.push_str(&source[done..]);
    out
}

/// The byte of the author's text that byte `at` of the guarded one was.
pub(super) fn original(guarded: &str, at: usize) -> usize {
    let before = guarded.match_indices(GUARD).take_while(|(start, _)| *start < at);
    before.fold(at, |original, (start, _)| original - GUARD.len().min(at - start))
}

/// Where the operands of products end.
fn operands(source: &str, tokens: &[Token]) -> Vec<usize> {
    let mut places = Vec::new();
    for (index, _) in tokens.iter().enumerate().filter(|(_, token)| text(source, token) == "*") {
        // A `*` without a left operand hands over arguments.
        let Some(left) = index.checked_sub(1).and_then(|left| tokens.get(left)).filter(|token| ends_operand(source, token)) else {
            continue;
        };
        places.push(left.end);
        places.extend(right_end(source, tokens, index));
    }
    places
}

fn ends_operand(source: &str, token: &Token) -> bool {
    match token.kind {
        TokenKind::Punct => matches!(text(source, token), ")" | "]" | "}"),
        _ => true,
    }
}

/// The end of the operand that begins behind token `operator`: the last token before the next operator or the end of the group.
fn right_end(source: &str, tokens: &[Token], operator: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut end = None;
    for token in tokens.get(operator + 1..)? {
        let word = text(source, token);
        let fraction = word == "." || token.kind == TokenKind::Number;
        match (token.kind, word) {
            (TokenKind::Punct, "(" | "[" | "{") => depth += 1,
            (TokenKind::Punct, ")" | "]" | "}") if depth == 0 => break,
            (TokenKind::Punct, ")" | "]" | "}") => depth -= 1,
            _ if depth > 0 => {}
            (TokenKind::Punct, "-" | "+") | (TokenKind::Ident, "not") if end.is_none() => continue,
            (TokenKind::Punct, "|") => {}
            (TokenKind::Punct, _) if !fraction => break,
            (TokenKind::Ident, "and" | "or" | "in" | "is" | "not" | "if" | "else" | "recursive") => break,
            _ => {}
        }
        end = Some(token.end);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::super::scan::template;
    use super::{GUARD, guarded, original};

    fn shown(source: &str) -> String {
        guarded(source, &template(source, &Limits::default()).unwrap()).replace(GUARD, "°")
    }

    #[test]
    fn both_operands_are_guarded_and_nothing_else() {
        for (source, wanted) in [
            ("{{ a * b }}", "{{ a° * b° }}"),
            ("{{ -a.b[1] * 2.5 + c }}", "{{ -a.b[1]° * 2.5° + c }}"),
            ("{{ a*-b|abs(1, 2)*c }}", "{{ a°*-b|abs(1, 2)°*c° }}"),
            ("{{ f(a * b, [c]) if x * y is odd else z }}", "{{ f(a° * b°, [c]) if x° * y° is odd else z }}"),
            ("{{ a ** 2 * (b) }} * {% set q = a*b %}", "{{ a ** 2° * (b)° }} * {% set q = a°*b° %}"),
            ("{{ f(*a) }}{{ 'a * b' }}{# a * b #}", "{{ f(*a) }}{{ 'a * b' }}{# a * b #}"),
        ] {
            assert_eq!(shown(source), wanted);
        }
    }

    #[test]
    fn places_are_those_of_the_author() {
        let source = "{{ ab * cd + nope }}";
        let text = guarded(source, &template(source, &Limits::default()).unwrap());
        for word in ["ab", "cd", "nope", "+"] {
            assert_eq!(original(&text, text.find(word).unwrap()), source.find(word).unwrap(), "{word}");
        }
        assert_eq!(original(&text, text.len()), source.len());
        assert_eq!(original(&text, text.find(GUARD).unwrap() + 3), source.find("ab").unwrap() + 2);
    }
}
