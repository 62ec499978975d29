//! Reads one text against the names in scope: what it uses exists, fields are those of the types, operations fit their operands.
//!
//! A name that the text itself tests with `is defined`, or gives a `default`, may be missing. Null is never held against a
//! reader: whether a union's alternative is there is what conditions are for.

use super::ty::Ty;
use crate::base::{Severity, closest};
use crate::rule::grammar::{Arg, Expr, ExprKind, Op, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// A finding within a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub code: &'static str,
    pub severity: Severity,
    /// Bytes of the text.
    pub at: (usize, usize),
    pub message: String,
    pub help: String,
}

/// Names in scope with their types.
pub(super) type Names = BTreeMap<String, Ty>;

/// What reading a text gave.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub faults: Vec<Fault>,
    /// Files rendered by name, with where.
    pub renders: Vec<(String, (usize, usize))>,
}

pub(super) struct Infer<'a> {
    names: &'a Names,
    locals: Vec<(String, Ty)>,
    /// Paths that are allowed to be missing.
    excused: BTreeSet<String>,
    pub reading: Reading,
}

impl<'a> Infer<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        Self { names, locals: Vec::new(), excused: BTreeSet::new(), reading: Reading::default() }
    }

    /// Reads a bare expression and says what it gives.
    pub(super) fn expression(&mut self, e: &Expr) -> Ty {
        self.excuse(e);
        self.infer(e)
    }

    /// Reads a template.
    pub(super) fn template(&mut self, stmts: &[Stmt]) {
        each_expr(stmts, &mut |e| self.excuse(e));
        self.stmts(stmts);
    }

    fn excuse(&mut self, e: &Expr) {
        let excused = &mut self.excused;
        e.walk(&mut |part| match &part.kind {
            ExprKind::Test(name, base, _) if name == "defined" || name == "undefined" => excused.extend(path(base)),
            ExprKind::Filter(name, Some(base), _) if name == "default" => excused.extend(path(base)),
            _ => {}
        });
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Show(e) => {
                self.infer(e);
            }
            Stmt::For(targets, over, filter, body, otherwise) => {
                let over = self.infer(over);
                let depth = self.locals.len();
                let element = over.element();
                for target in targets {
                    let ty = if targets.len() == 1 { element.clone() } else { Ty::Any };
                    self.locals.push((target.clone(), ty));
                }
                self.locals.push(("loop".to_owned(), Ty::Any));
                filter.iter().for_each(|e| {
                    self.infer(e);
                });
                self.stmts(body);
                self.locals.truncate(depth);
                self.stmts(otherwise);
            }
            Stmt::If(test, yes, no) => {
                self.infer(test);
                self.stmts(yes);
                self.stmts(no);
            }
            Stmt::Set(targets, value, body) => {
                self.stmts(body);
                let ty = value.as_ref().map_or(Ty::Text, |e| self.infer(e));
                for target in targets {
                    // A value set in a branch or in a loop may be another one elsewhere.
                    let ty = if targets.len() == 1 && !self.locals.iter().any(|(name, _)| name == target) { ty.clone() } else { Ty::Any };
                    self.locals.push((target.clone(), ty));
                }
            }
            Stmt::With(pairs, body) => {
                let depth = self.locals.len();
                for (targets, value) in pairs {
                    let ty = self.infer(value);
                    let ty = if targets.len() == 1 { ty } else { Ty::Any };
                    self.locals.extend(targets.iter().map(|target| (target.clone(), ty.clone())));
                }
                self.stmts(body);
                self.locals.truncate(depth);
            }
            Stmt::Macro(name, parameters, body) => {
                self.locals.push((name.clone(), Ty::Any));
                let depth = self.locals.len();
                self.locals.extend(parameters.iter().map(|name| (name.clone(), Ty::Any)));
                self.locals.push(("caller".to_owned(), Ty::Any));
                self.stmts(body);
                self.locals.truncate(depth);
            }
            Stmt::Around(e, body) => {
                self.infer(e);
                self.stmts(body);
            }
        }
    }

    fn fault(&mut self, code: &'static str, severity: Severity, at: (usize, usize), message: String, help: String) {
        self.reading.faults.push(Fault { code, severity, at, message, help });
    }

    fn infer(&mut self, e: &Expr) -> Ty {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e),
            ExprKind::Const(value) => crate::rule::to_json(value).map_or(Ty::Any, |value| Ty::of_value(&value, 0)),
            ExprKind::Attribute(base, field) => {
                let ty = self.infer(base);
                self.field(&ty, field, base, e)
            }
            ExprKind::Item(base, index) => {
                let (ty, _) = (self.infer(base), self.infer(index));
                match &index.kind {
                    ExprKind::Const(value) if value.as_str().is_some() => self.field(&ty, value.as_str().unwrap_or_default(), base, e),
                    _ => ty.element(),
                }
            }
            ExprKind::Slice(base, parts) => {
                parts.iter().for_each(|part| {
                    self.infer(part);
                });
                self.infer(base)
            }
            ExprKind::Not(inner) => {
                self.infer(inner);
                Ty::Bool
            }
            ExprKind::Minus(inner) => {
                self.infer(inner);
                Ty::Number
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.infer(a), self.infer(b));
                self.binary(*op, &left, &right, e)
            }
            ExprKind::Chain(first, rest) => {
                let mut left = self.infer(first);
                for (op, right) in rest {
                    let right = self.infer(right);
                    self.binary(*op, &left, &right, e);
                    left = right;
                }
                Ty::Bool
            }
            ExprKind::If(test, yes, no) => {
                self.infer(test);
                let yes = self.infer(yes);
                let no = no.as_ref().map_or(Ty::Any, |no| self.infer(no));
                Ty::either([yes, no])
            }
            ExprKind::Filter(name, base, args) => self.filter(name, base.as_deref(), args),
            ExprKind::Test(_, base, args) => {
                self.infer(base);
                self.args(args);
                Ty::Bool
            }
            ExprKind::Call(callee, args) => self.call(callee, args, e),
            ExprKind::List(items) => Ty::list(Ty::either(items.iter().map(|item| self.infer(item)).collect::<Vec<_>>())),
            ExprKind::Map(pairs) => self.object(pairs),
        }
    }

    fn object(&mut self, pairs: &[(Expr, Expr)]) -> Ty {
        let mut fields = Vec::new();
        let mut closed = true;
        for (key, value) in pairs {
            self.infer(key);
            let ty = self.infer(value);
            match &key.kind {
                ExprKind::Const(key) if key.as_str().is_some() => fields.push((key.as_str().unwrap_or_default().to_owned(), ty)),
                _ => closed = false,
            }
        }
        if closed { Ty::closed(fields) } else { Ty::Any }
    }

    fn args(&mut self, args: &[Arg]) {
        for arg in args {
            self.infer(&arg.value);
        }
    }

    fn name(&mut self, name: &str, e: &Expr) -> Ty {
        if let Some((_, ty)) = self.locals.iter().rev().find(|(known, _)| known == name) {
            return ty.clone();
        }
        if let Some(ty) = self.names.get(name) {
            return ty.clone();
        }
        if !self.excused.contains(name) {
            let known: Vec<&str> = self.names.keys().map(String::as_str).chain(self.locals.iter().map(|(name, _)| name.as_str())).collect();
            let help = match closest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("in scope here: {}", known.iter().take(30).copied().collect::<Vec<_>>().join(", ")),
            };
            self.fault("RSF930", Severity::Error, e.at, format!("`{}` is not in scope here", super::shown(name)), help);
        }
        Ty::Any
    }

    /// The type of a field, which must be one that is known where all are.
    fn field(&mut self, ty: &Ty, field: &str, base: &Expr, e: &Expr) -> Ty {
        let members = ty.members();
        let mut found = Vec::new();
        for member in &members {
            match member {
                Ty::Object(fields) => match fields.known.get(field) {
                    Some(ty) => found.push(ty.clone()),
                    None if !fields.closed && closest_far(field, fields.known.keys()) => found.push(Ty::Any),
                    None => {}
                },
                Ty::Any => found.push(Ty::Any),
                _ => {}
            }
        }
        if !found.is_empty() {
            return Ty::either(found);
        }
        let whole = path(e);
        if members.is_empty() || whole.as_ref().is_some_and(|path| self.excused.contains(path)) {
            return Ty::Any;
        }
        let known: Vec<String> =
            members.iter().filter_map(|m| if let Ty::Object(f) = m { Some(f.known.keys().cloned()) } else { None }).flatten().collect();
        let name = path(base).unwrap_or_else(|| "this value".to_owned());
        let (message, help) = if known.is_empty() && !members.iter().any(|m| matches!(m, Ty::Object(_))) {
            (format!("`{}` is {}, which has no field `{}`", super::shown(&name), ty.name(), super::shown(field)), String::new())
        } else {
            let help = match closest(field, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", known.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
            };
            (format!("`{}` has no field `{}`", super::shown(&name), super::shown(field)), help)
        };
        self.fault("RSF931", Severity::Error, e.at, message, help);
        Ty::Any
    }

    fn binary(&mut self, op: Op, left: &Ty, right: &Ty, e: &Expr) -> Ty {
        let (a, b) = (left.kinds(), right.kinds());
        let null = 1;
        match op {
            Op::And | Op::Or => return Ty::either([left.clone(), right.clone()]),
            Op::Eq | Op::Ne => {
                if let (Some(a), Some(b)) = (a, b)
                    && a & b == 0
                    && (a | b) & null == 0
                {
                    let message = format!("{} is never equal to {}", left.name(), right.name());
                    self.fault("RSF933", Severity::Warning, e.at, message, "compare values of one type".to_owned());
                }
            }
            Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                if let (Some(a), Some(b)) = (a, b)
                    && a & b & !null == 0
                    && a != null
                    && b != null
                {
                    let message = format!("{} has no order with {}", left.name(), right.name());
                    self.fault("RSF932", Severity::Error, e.at, message, "compare values of one type; `|int` reads a number".to_owned());
                }
            }
            Op::In | Op::NotIn => {
                if b.is_some_and(|b| b & (8 | 16 | 32) == 0 && b != null) {
                    let message = format!("nothing is in {}", right.name());
                    self.fault("RSF932", Severity::Error, e.at, message, "`in` takes a list, an object or a text".to_owned());
                }
            }
            Op::Concat => return Ty::Text,
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::FloorDiv | Op::Rem | Op::Pow => return self.arithmetic(op, left, right, e),
        }
        Ty::Bool
    }

    fn arithmetic(&mut self, op: Op, left: &Ty, right: &Ty, e: &Expr) -> Ty {
        let (Some(a), Some(b)) = (left.kinds(), right.kinds()) else { return Ty::Any };
        let good = match op {
            Op::Add => a & b & (4 | 8 | 16) != 0,
            Op::Mul => (a & 4 != 0 && b & (4 | 8 | 16) != 0) || (b & 4 != 0 && a & (8 | 16) != 0),
            _ => a & 4 != 0 && b & 4 != 0,
        };
        if !good && a != 1 && b != 1 {
            let message = format!("{} and {} cannot be reckoned with together", left.name(), right.name());
            self.fault("RSF932", Severity::Error, e.at, message, "numbers go with numbers, texts are joined with `~`".to_owned());
        }
        if a & !1 == 4 && b & !1 == 4 { Ty::Number } else { Ty::Any }
    }

    fn call(&mut self, callee: &Expr, args: &[Arg], e: &Expr) -> Ty {
        let name = match &callee.kind {
            ExprKind::Name(name) => name.as_str(),
            _ => {
                self.infer(callee);
                ""
            }
        };
        self.args(args);
        match (name, args) {
            ("render", [Arg { value, .. }]) => {
                if let ExprKind::Const(path) = &value.kind
                    && let Some(path) = path.as_str()
                {
                    self.reading.renders.push((path.to_owned(), e.at));
                }
                Ty::Text
            }
            ("range", _) => Ty::list(Ty::Number),
            ("cost", _) => Ty::Number,
            _ => Ty::Any,
        }
    }

    fn filter(&mut self, name: &str, base: Option<&Expr>, args: &[Arg]) -> Ty {
        let ty = base.map_or(Ty::Text, |base| self.infer(base));
        self.args(args);
        let element = ty.element();
        let named = |position: usize| {
            let arg = args.iter().filter(|arg| arg.name.is_none()).nth(position)?;
            if let ExprKind::Const(value) = &arg.value.kind {
                value.as_str().map(|text| (text.to_owned(), arg.value.clone()))
            } else {
                None
            }
        };
        let attribute = args.iter().find(|arg| arg.name.as_deref() == Some("attribute")).and_then(|arg| {
            if let ExprKind::Const(value) = &arg.value.kind {
                value.as_str().map(|text| (text.to_owned(), arg.value.clone()))
            } else {
                None
            }
        });
        match name {
            "length" | "int" | "float" | "abs" | "round" | "sum" => Ty::Number,
            "upper" | "lower" | "trim" | "title" | "capitalize" | "replace" | "join" | "string" | "indent" | "tojson" | "slug"
            | "money" => Ty::Text,
            "default" => Ty::either([ty, args.first().map_or(Ty::Any, |arg| Infer::new(self.names).quiet(&arg.value, &self.locals))]),
            "map" if attribute.is_some() => {
                let (field, at) = attribute.unwrap_or_else(|| (String::new(), Expr { kind: ExprKind::List(Vec::new()), at: (0, 0) }));
                Ty::list(self.element_field(&element, &field, &at))
            }
            "selectattr" | "rejectattr" => {
                if let Some((field, at)) = named(0) {
                    self.element_field(&element, &field, &at);
                }
                ty
            }
            "where" => {
                for arg in args {
                    if let Some(field) = &arg.name {
                        let at = arg.value.clone();
                        self.element_field(&element, &field.clone(), &at);
                    }
                }
                ty
            }
            "list" | "sort" | "unique" | "reverse" | "select" | "reject" => {
                if matches!(ty, Ty::List(_)) {
                    ty
                } else {
                    Ty::list(Ty::Any)
                }
            }
            "first" | "last" | "min" | "max" if matches!(ty, Ty::List(_)) => element,
            "keys" => Ty::list(Ty::Text),
            _ => Ty::Any,
        }
    }

    /// A field of the elements of a list, named in an argument. Dotted paths name a field of a field.
    fn element_field(&mut self, element: &Ty, field: &str, at: &Expr) -> Ty {
        let mut ty = element.clone();
        for part in field.split('.') {
            let here = Expr { kind: ExprKind::List(Vec::new()), at: at.at };
            ty = self.field(&ty, part, &here, at);
        }
        ty
    }

    /// The type of an expression whose faults have been noted before.
    fn quiet(mut self, e: &Expr, locals: &[(String, Ty)]) -> Ty {
        self.locals = locals.to_vec();
        self.infer(e)
    }
}

/// No known name is near: a field that nobody listed.
fn closest_far<'n>(field: &str, known: impl Iterator<Item = &'n String>) -> bool {
    let near = known.map(String::as_str).filter(|name| strsim_near(field, name)).count();
    near == 0
}

/// Two names that differ by a slip of the hand.
fn strsim_near(a: &str, b: &str) -> bool {
    a.len() > 3 && b.len() > 3 && crate::base::slip(a, b)
}

/// The dotted path of a name with its fields.
fn path(e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Attribute(base, field) => Some(format!("{}.{field}", path(base)?)),
        ExprKind::Item(base, index) => match &index.kind {
            ExprKind::Const(value) => Some(format!("{}.{}", path(base)?, value.as_str()?)),
            _ => None,
        },
        _ => None,
    }
}

/// Visits every expression of a template.
fn each_expr(stmts: &[Stmt], visit: &mut dyn FnMut(&Expr)) {
    for stmt in stmts {
        match stmt {
            Stmt::Show(e) => visit(e),
            Stmt::For(_, over, filter, body, otherwise) => {
                visit(over);
                filter.iter().for_each(&mut *visit);
                each_expr(body, visit);
                each_expr(otherwise, visit);
            }
            Stmt::If(test, yes, no) => {
                visit(test);
                each_expr(yes, visit);
                each_expr(no, visit);
            }
            Stmt::Set(_, value, body) => {
                value.iter().for_each(&mut *visit);
                each_expr(body, visit);
            }
            Stmt::With(pairs, body) => {
                pairs.iter().for_each(|(_, e)| visit(e));
                each_expr(body, visit);
            }
            Stmt::Macro(_, _, body) => each_expr(body, visit),
            Stmt::Around(e, body) => {
                visit(e);
                each_expr(body, visit);
            }
        }
    }
}
