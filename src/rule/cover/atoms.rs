//! What conditions of a table say about its inputs: constants, divisors, comparisons between inputs, and whether that is all.
//!
//! Reads trees only; evaluates no more than arithmetic on literals and the values it is given, by the language's own comparisons.

use crate::rule::Val;
use crate::rule::grammar::{Expr, ExprKind, Op};
use std::collections::BTreeMap;

/// What the conditions of a table say about its inputs.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    /// Input → constants it is compared with.
    pub constants: BTreeMap<String, Vec<Val>>,
    /// Input → divisors of its remainders.
    pub divisors: BTreeMap<String, Vec<i64>>,
    /// Pairs of inputs compared with each other.
    pub pairs: Vec<(String, String)>,
    /// The smallest parts that are true or false.
    pub parts: Vec<Expr>,
}

impl Atoms {
    /// Collects from a condition; true when everything in it is of the kinds that candidates decide exactly.
    pub(super) fn collect(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(Op::And | Op::Or, a, b) => {
                let (a, b) = (self.collect(a), self.collect(b));
                a && b
            }
            ExprKind::Not(inner) => self.collect(inner),
            ExprKind::Chain(first, rest) => {
                self.parts.push(e.clone());
                let mut left: &Expr = first;
                let mut exact = true;
                for (op, right) in rest {
                    exact &= self.comparison(*op, left, right);
                    left = right;
                }
                exact
            }
            ExprKind::Binary(op, a, b) => {
                self.parts.push(e.clone());
                self.comparison(*op, a, b)
            }
            ExprKind::Test(name, base, args) => {
                self.parts.push(e.clone());
                args.is_empty() && matches!(name.as_str(), "none" | "true" | "false" | "boolean") && matches!(base.kind, ExprKind::Name(_))
            }
            ExprKind::Name(_) | ExprKind::Const(_) => {
                self.parts.push(e.clone());
                true
            }
            _ => {
                self.parts.push(e.clone());
                false
            }
        }
    }

    fn comparison(&mut self, op: Op, a: &Expr, b: &Expr) -> bool {
        match op {
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => match (side(a), side(b)) {
                (Some(Side::Const(_)), Some(Side::Const(_))) => true,
                (Some(Side::Input(x, shift)), Some(Side::Const(c))) | (Some(Side::Const(c)), Some(Side::Input(x, shift))) => {
                    self.constant(&x, &c, shift);
                    true
                }
                (Some(Side::Rest(x, m)), Some(Side::Const(_))) | (Some(Side::Const(_)), Some(Side::Rest(x, m))) => {
                    self.divisors.entry(x).or_default().push(m);
                    true
                }
                (Some(Side::Input(x, 0)), Some(Side::Input(y, 0))) => {
                    self.pairs.push((x, y));
                    true
                }
                _ => false,
            },
            Op::In | Op::NotIn => {
                let (Some(Side::Input(x, 0)), ExprKind::List(items)) = (side(a), &b.kind) else {
                    let (Some(Side::Input(x, 0)), ExprKind::Const(list)) = (side(a), &b.kind) else { return false };
                    let Ok(items) = list.try_iter() else { return false };
                    items.for_each(|item| self.constant(&x, &item, 0));
                    return list.kind() == minijinja::value::ValueKind::Seq;
                };
                items.iter().all(|item| match side(item) {
                    Some(Side::Const(c)) => {
                        self.constant(&x, &c, 0);
                        true
                    }
                    _ => false,
                })
            }
            _ => false,
        }
    }

    fn constant(&mut self, input: &str, c: &Val, shift: i64) {
        let list = self.constants.entry(input.to_owned()).or_default();
        list.push(c.clone());
        if let (true, Some(whole)) = (shift != 0, c.as_i64()) {
            list.push(Val::from(whole.saturating_sub(shift)));
        }
        if let (true, None, Ok(number)) = (shift != 0, c.as_i64(), f64::try_from(c.clone())) {
            #[expect(clippy::cast_precision_loss, reason = "a shift written in a condition is small")]
            list.push(Val::from(number - shift as f64));
        }
    }
}

/// One side of a comparison.
enum Side {
    Const(Val),
    /// An input plus a whole number.
    Input(String, i64),
    /// The remainder of an input.
    Rest(String, i64),
}

fn side(e: &Expr) -> Option<Side> {
    match &e.kind {
        ExprKind::Const(v) => Some(Side::Const(v.clone())),
        ExprKind::Minus(inner) => match side(inner)? {
            Side::Const(v) => negative(&v).map(Side::Const),
            _ => None,
        },
        ExprKind::Name(name) => Some(Side::Input(name.clone(), 0)),
        ExprKind::Binary(op @ (Op::Add | Op::Sub), a, b) => match (side(a)?, side(b)?) {
            (Side::Input(x, shift), Side::Const(c)) => {
                let c = c.as_i64()?;
                let c = if *op == Op::Add { c } else { c.checked_neg()? };
                Some(Side::Input(x, shift.checked_add(c)?))
            }
            (Side::Const(c), Side::Input(x, shift)) if *op == Op::Add => Some(Side::Input(x, shift.checked_add(c.as_i64()?)?)),
            _ => None,
        },
        ExprKind::Binary(Op::Rem, a, b) => match (side(a)?, side(b)?) {
            (Side::Input(x, 0), Side::Const(c)) => c.as_i64().filter(|m| *m > 0).map(|m| Side::Rest(x, m)),
            _ => None,
        },
        _ => None,
    }
}

fn negative(v: &Val) -> Option<Val> {
    match v.as_i64() {
        Some(whole) if v.is_integer() => whole.checked_neg().map(Val::from),
        _ => f64::try_from(v.clone()).ok().map(|number| Val::from(-number)),
    }
}

/// The value of a condition of simple parts; `None` where only the engine knows.
pub(super) fn value(e: &Expr, at: &dyn Fn(&str) -> Option<Val>) -> Option<Val> {
    match &e.kind {
        ExprKind::Const(v) => Some(v.clone()),
        ExprKind::Name(name) => at(name),
        ExprKind::Not(inner) => Some(Val::from(!value(inner, at)?.is_true())),
        ExprKind::Minus(inner) => negative(&value(inner, at)?),
        ExprKind::List(items) => items.iter().map(|item| value(item, at)).collect::<Option<Vec<Val>>>().map(Val::from),
        ExprKind::Binary(Op::And, a, b) => {
            let left = value(a, at)?;
            if left.is_true() { value(b, at) } else { Some(left) }
        }
        ExprKind::Binary(Op::Or, a, b) => {
            let left = value(a, at)?;
            if left.is_true() { Some(left) } else { value(b, at) }
        }
        ExprKind::Binary(op, a, b) => operate(*op, &value(a, at)?, &value(b, at)?),
        ExprKind::Chain(first, rest) => {
            let mut left = value(first, at)?;
            for (op, right) in rest {
                let right = value(right, at)?;
                if !operate(*op, &left, &right)?.is_true() {
                    return Some(Val::from(false));
                }
                left = right;
            }
            Some(Val::from(true))
        }
        ExprKind::Test(name, base, args) if args.is_empty() => {
            let base = value(base, at)?;
            match name.as_str() {
                "none" => Some(Val::from(base.is_none())),
                _ => None,
            }
        }
        _ => None,
    }
}

fn operate(op: Op, a: &Val, b: &Val) -> Option<Val> {
    let truth = match op {
        Op::Eq => a == b,
        Op::Ne => a != b,
        // Whether values of two kinds have an order is the engine's to say.
        Op::Lt | Op::Le | Op::Gt | Op::Ge if a.kind() != b.kind() => return None,
        Op::Lt => a < b,
        Op::Le => a <= b,
        Op::Gt => a > b,
        Op::Ge => a >= b,
        Op::In | Op::NotIn if b.kind() == minijinja::value::ValueKind::Seq => b.try_iter().ok()?.any(|item| item == *a) == (op == Op::In),
        Op::Add | Op::Sub | Op::Rem => return whole(op, a, b).map(Val::from),
        _ => return None,
    };
    Some(Val::from(truth))
}

fn whole(op: Op, a: &Val, b: &Val) -> Option<i64> {
    if !a.is_integer() || !b.is_integer() {
        return None;
    }
    let (a, b) = (a.as_i64()?, b.as_i64()?);
    match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Rem if b > 0 => a.checked_rem_euclid(b),
        _ => None,
    }
}
