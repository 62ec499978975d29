//! Expressions and templates as trees: MiniJinja's own parse, copied into plain data, so that whoever analyses a text reads
//! exactly the language that evaluates it.
//!
//! The one place that knows MiniJinja's syntax tree, which may change between its versions. Texts are bounded by
//! [`super::scan`] before the parser, which recurses, sees them. Nothing is evaluated here.

use super::scan::{expression, template};
use super::{ExprError, Limits, Val};
use minijinja::machinery::{Span, ast, parse, parse_expr};
use minijinja::syntax::SyntaxConfig;

/// A part of an expression with the bytes it stands at.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// First byte and the byte behind the last, in the text.
    pub at: (usize, usize),
}

/// Kinds of [`Expr`].
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A name.
    Name(String),
    /// A literal.
    Const(Val),
    /// `a.b`.
    Attribute(Box<Expr>, String),
    /// `a[b]`.
    Item(Box<Expr>, Box<Expr>),
    /// `a[b:c:d]`: the parts given.
    Slice(Box<Expr>, Vec<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `-a`.
    Minus(Box<Expr>),
    /// `a + b`, `a and b` …
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `a < b <= c`.
    Chain(Box<Expr>, Vec<(Op, Expr)>),
    /// `a if test else b`.
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// `a|name(args)`; without a base in `{% filter %}`.
    Filter(String, Option<Box<Expr>>, Vec<Arg>),
    /// `a is name(args)`.
    Test(String, Box<Expr>, Vec<Arg>),
    /// `f(args)`.
    Call(Box<Expr>, Vec<Arg>),
    /// `[a, b]` and `(a, b)`.
    List(Vec<Expr>),
    /// `{a: b}`.
    Map(Vec<(Expr, Expr)>),
}

/// An argument; named where it is written with a name.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Its name.
    pub name: Option<String>,
    /// Its value.
    pub value: Expr,
}

/// Operators between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
    Concat,
    In,
    NotIn,
}

/// A piece of a template.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `{{ … }}`.
    Show(Expr),
    /// A loop: its names, what it runs over, its filter, body and `else`.
    For(Vec<String>, Expr, Option<Expr>, Vec<Stmt>, Vec<Stmt>),
    /// A condition with both bodies.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Names bound for the rest, to a value where it is one.
    Set(Vec<String>, Option<Expr>, Vec<Stmt>),
    /// Names bound for a body.
    With(Vec<(Vec<String>, Expr)>, Vec<Stmt>),
    /// A macro: name, parameters, body.
    Macro(String, Vec<String>, Vec<Stmt>),
    /// A body with an expression that is evaluated for it.
    Around(Expr, Vec<Stmt>),
}

/// The tree of a bare expression.
///
/// # Errors
/// It is too large or does not parse.
pub fn parse_expression(source: &str) -> Result<Expr, ExprError> {
    expression(source, &Limits::default())?;
    let tree = parse_expr(source).map_err(|error| ExprError::from_jinja(&error, source, 0))?;
    Ok(expr(&tree))
}

/// The trees of a template.
///
/// # Errors
/// It is too large or does not parse.
pub fn parse_template(source: &str) -> Result<Vec<Stmt>, ExprError> {
    template(source, &Limits::default())?;
    let tree = parse(source, "<text>", SyntaxConfig::default()).map_err(|error| ExprError::from_jinja(&error, source, 0))?;
    Ok(stmts(std::slice::from_ref(&tree)))
}

fn place(span: Span) -> (usize, usize) {
    (span.start_offset as usize, span.end_offset as usize)
}

fn boxed(e: &ast::Expr<'_>) -> Box<Expr> {
    Box::new(expr(e))
}

fn expr(e: &ast::Expr<'_>) -> Expr {
    let kind = match e {
        ast::Expr::Var(v) => ExprKind::Name(v.id.to_owned()),
        ast::Expr::Const(c) => ExprKind::Const(c.value.clone()),
        ast::Expr::Slice(s) => {
            let parts = [&s.start, &s.stop, &s.step].into_iter().flatten().map(expr).collect();
            ExprKind::Slice(boxed(&s.expr), parts)
        }
        ast::Expr::UnaryOp(u) => match u.op {
            ast::UnaryOpKind::Not => ExprKind::Not(boxed(&u.expr)),
            ast::UnaryOpKind::Neg => ExprKind::Minus(boxed(&u.expr)),
        },
        ast::Expr::BinOp(b) => ExprKind::Binary(binary(b.op), boxed(&b.left), boxed(&b.right)),
        ast::Expr::Compare(c) => match c.ops.as_slice() {
            [one] => ExprKind::Binary(comparison(one.op), boxed(&c.expr), boxed(&one.expr)),
            many => ExprKind::Chain(boxed(&c.expr), many.iter().map(|o| (comparison(o.op), expr(&o.expr))).collect()),
        },
        ast::Expr::IfExpr(i) => ExprKind::If(boxed(&i.test_expr), boxed(&i.true_expr), i.false_expr.as_ref().map(boxed)),
        ast::Expr::Filter(f) => ExprKind::Filter(f.name.to_owned(), f.expr.as_ref().map(boxed), args(&f.args)),
        ast::Expr::Test(t) => ExprKind::Test(t.name.to_owned(), boxed(&t.expr), args(&t.args)),
        ast::Expr::GetAttr(a) => ExprKind::Attribute(boxed(&a.expr), a.name.to_owned()),
        ast::Expr::GetItem(i) => ExprKind::Item(boxed(&i.expr), boxed(&i.subscript_expr)),
        ast::Expr::Call(c) => ExprKind::Call(boxed(&c.expr), args(&c.args)),
        ast::Expr::List(l) => ExprKind::List(l.items.iter().map(expr).collect()),
        ast::Expr::Tuple(t) => ExprKind::List(t.items.iter().map(expr).collect()),
        ast::Expr::Map(m) => ExprKind::Map(m.keys.iter().map(expr).zip(m.values.iter().map(expr)).collect()),
    };
    Expr { kind, at: place(e.span()) }
}

fn args(args: &[ast::CallArg<'_>]) -> Vec<Arg> {
    let one = |arg: &ast::CallArg<'_>| match arg {
        ast::CallArg::Pos(value) | ast::CallArg::PosSplat(value) | ast::CallArg::KwargSplat(value) => {
            Arg { name: None, value: expr(value) }
        }
        ast::CallArg::Kwarg(name, value) => Arg { name: Some((*name).to_owned()), value: expr(value) },
    };
    args.iter().map(one).collect()
}

fn binary(op: ast::BinOpKind) -> Op {
    match op {
        ast::BinOpKind::Eq => Op::Eq,
        ast::BinOpKind::Ne => Op::Ne,
        ast::BinOpKind::Lt => Op::Lt,
        ast::BinOpKind::Lte => Op::Le,
        ast::BinOpKind::Gt => Op::Gt,
        ast::BinOpKind::Gte => Op::Ge,
        ast::BinOpKind::ScAnd => Op::And,
        ast::BinOpKind::ScOr => Op::Or,
        ast::BinOpKind::Add => Op::Add,
        ast::BinOpKind::Sub => Op::Sub,
        ast::BinOpKind::Mul => Op::Mul,
        ast::BinOpKind::Div => Op::Div,
        ast::BinOpKind::FloorDiv => Op::FloorDiv,
        ast::BinOpKind::Rem => Op::Rem,
        ast::BinOpKind::Pow => Op::Pow,
        ast::BinOpKind::Concat => Op::Concat,
        ast::BinOpKind::In => Op::In,
    }
}

fn comparison(op: ast::CompareOpKind) -> Op {
    match op {
        ast::CompareOpKind::Eq => Op::Eq,
        ast::CompareOpKind::Ne => Op::Ne,
        ast::CompareOpKind::Lt => Op::Lt,
        ast::CompareOpKind::Lte => Op::Le,
        ast::CompareOpKind::Gt => Op::Gt,
        ast::CompareOpKind::Gte => Op::Ge,
        ast::CompareOpKind::In => Op::In,
        ast::CompareOpKind::NotIn => Op::NotIn,
    }
}

/// The names a target binds: one, or those of a list.
fn targets(target: &ast::Expr<'_>) -> Vec<String> {
    match target {
        ast::Expr::Var(v) => vec![v.id.to_owned()],
        ast::Expr::List(l) => l.items.iter().flat_map(targets).collect(),
        ast::Expr::Tuple(t) => t.items.iter().flat_map(targets).collect(),
        _ => Vec::new(),
    }
}

fn stmts(list: &[ast::Stmt<'_>]) -> Vec<Stmt> {
    list.iter().flat_map(stmt).collect()
}

fn stmt(s: &ast::Stmt<'_>) -> Vec<Stmt> {
    let one = match s {
        ast::Stmt::Template(t) => return stmts(&t.children),
        ast::Stmt::EmitExpr(e) => Stmt::Show(expr(&e.expr)),
        ast::Stmt::ForLoop(f) => {
            Stmt::For(targets(&f.target), expr(&f.iter), f.filter_expr.as_ref().map(expr), stmts(&f.body), stmts(&f.else_body))
        }
        ast::Stmt::IfCond(i) => Stmt::If(expr(&i.expr), stmts(&i.true_body), stmts(&i.false_body)),
        ast::Stmt::WithBlock(w) => {
            Stmt::With(w.assignments.iter().map(|(target, value)| (targets(target), expr(value))).collect(), stmts(&w.body))
        }
        ast::Stmt::Set(s) => Stmt::Set(targets(&s.target), Some(expr(&s.expr)), Vec::new()),
        ast::Stmt::SetBlock(s) => Stmt::Set(targets(&s.target), None, stmts(&s.body)),
        ast::Stmt::FilterBlock(f) => Stmt::Around(expr(&f.filter), stmts(&f.body)),
        ast::Stmt::AutoEscape(a) => Stmt::Around(expr(&a.enabled), stmts(&a.body)),
        ast::Stmt::Macro(m) => Stmt::Macro(m.name.to_owned(), m.args.iter().flat_map(targets).collect(), stmts(&m.body)),
        ast::Stmt::CallBlock(c) => {
            let call = Expr { kind: ExprKind::Call(boxed(&c.call.expr), args(&c.call.args)), at: place(c.call_expr_span) };
            let body = Stmt::Macro("caller".to_owned(), c.macro_decl.args.iter().flat_map(targets).collect(), stmts(&c.macro_decl.body));
            Stmt::Around(call, vec![body])
        }
        ast::Stmt::Do(d) => Stmt::Show(Expr { kind: ExprKind::Call(boxed(&d.call.expr), args(&d.call.args)), at: place(d.call.span()) }),
        // What the engine does not offer (scan.rs) or what names nothing.
        _ => return Vec::new(),
    };
    vec![one]
}

impl Expr {
    /// Visits this part and all parts of it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }

    /// Visits the parts this one is directly made of.
    pub fn children(&self, visit: &mut dyn FnMut(&Expr)) {
        match &self.kind {
            ExprKind::Name(_) | ExprKind::Const(_) => {}
            ExprKind::Attribute(a, _) | ExprKind::Not(a) | ExprKind::Minus(a) => visit(a),
            ExprKind::Item(a, b) | ExprKind::Binary(_, a, b) => {
                visit(a);
                visit(b);
            }
            ExprKind::Slice(a, parts) => {
                visit(a);
                parts.iter().for_each(visit);
            }
            ExprKind::Chain(a, rest) => {
                visit(a);
                rest.iter().for_each(|(_, part)| visit(part));
            }
            ExprKind::If(a, b, c) => {
                visit(a);
                visit(b);
                c.iter().for_each(|c| visit(c));
            }
            ExprKind::Filter(_, base, args) => {
                base.iter().for_each(|base| visit(base));
                args.iter().for_each(|arg| visit(&arg.value));
            }
            ExprKind::Test(_, base, args) | ExprKind::Call(base, args) => {
                visit(base);
                args.iter().for_each(|arg| visit(&arg.value));
            }
            ExprKind::List(items) => items.iter().for_each(visit),
            ExprKind::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                visit(key);
                visit(value);
            }),
        }
    }
}
