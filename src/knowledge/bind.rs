//! Values for the variables of a query, put in at the level of its algebra: never as text, so a value can never become a part of the query.
//!
//! Also the walk that bounds what a query may cost beside looking at statements: rows out of nothing, and values that grow.

use spargebra::algebra::{AggregateExpression, Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern, Variable};
use std::collections::BTreeMap;

/// Rows that unions and tables alone may make (a product of ten unions of two is a thousand).
const ROWS_OF_NOTHING: u64 = 10_000;
/// Operations whose result can be longer than what goes in (each may double it).
const GROWING: u64 = 8;

/// Variable → value.
pub type Values = BTreeMap<String, GroundTerm>;

/// Puts the values into a pattern, everywhere within it.
///
/// # Errors
/// A lower-case sentence: the query itself gives the variable a value, or uses it where a value cannot stand; or it may grow without bound.
pub fn bind(pattern: &mut GraphPattern, values: &Values) -> Result<(), String> {
    let mut binder = Binder { values, growing: 0 };
    let rows = binder.pattern(pattern)?;
    if rows > ROWS_OF_NOTHING {
        return Err(format!("the query's unions and tables multiply to {rows} rows; at most {ROWS_OF_NOTHING} are made"));
    }
    if binder.growing > GROWING {
        return Err(format!("the query joins, repeats or multiplies values {} times; at most {GROWING} are done", binder.growing));
    }
    Ok(())
}

struct Binder<'a> {
    values: &'a Values,
    growing: u64,
}

impl Binder<'_> {
    fn value(&self, variable: &Variable) -> Option<&GroundTerm> {
        self.values.get(variable.as_str())
    }

    fn refuse(&self, variable: &Variable, what: &str) -> Result<(), String> {
        match self.value(variable) {
            Some(_) => Err(format!("?{} is bound from outside, but the query {what}: rename one of them", variable.as_str())),
            None => Ok(()),
        }
    }

    /// Returns how many rows the pattern makes when every match in the data counts as one.
    fn pattern(&mut self, pattern: &mut GraphPattern) -> Result<u64, String> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                patterns.iter_mut().try_for_each(|triple| self.triple(triple))?;
                Ok(1)
            }
            GraphPattern::Path { subject, object, .. } => {
                self.term(subject)?;
                self.term(object)?;
                Ok(1)
            }
            GraphPattern::Join { left, right } => Ok(self.pattern(left)?.saturating_mul(self.pattern(right)?)),
            GraphPattern::LeftJoin { left, right, expression } => {
                let rows = self.pattern(left)?.saturating_mul(self.pattern(right)?);
                expression.iter_mut().try_for_each(|e| self.expression(e))?;
                Ok(rows)
            }
            GraphPattern::Union { left, right } => Ok(self.pattern(left)?.saturating_add(self.pattern(right)?)),
            GraphPattern::Filter { expr, inner } => {
                self.expression(expr)?;
                self.pattern(inner)
            }
            GraphPattern::Minus { left, right } => self.minus(left, right),
            GraphPattern::Extend { inner, variable, expression } => {
                self.refuse(variable, "gives it a value itself")?;
                self.expression(expression)?;
                self.pattern(inner)
            }
            GraphPattern::Values { variables, bindings } => {
                variables.iter().try_for_each(|v| self.refuse(v, "lists values for it"))?;
                Ok(u64::try_from(bindings.len()).unwrap_or(u64::MAX).max(1))
            }
            GraphPattern::OrderBy { inner, expression } => {
                for order in expression {
                    let (OrderExpression::Asc(e) | OrderExpression::Desc(e)) = order;
                    self.expression(e)?;
                }
                self.pattern(inner)
            }
            GraphPattern::Group { inner, variables, aggregates } => self.group(inner, variables, aggregates),
            GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => self.pattern(inner),
            GraphPattern::Graph { .. } => Err("GRAPH has no meaning here: the files asked are one graph".to_owned()),
            GraphPattern::Service { .. } => Err("SERVICE is refused: a query never leaves the files it is given".to_owned()),
        }
    }

    /// MINUS compares the variables of both sides; one that has become a value would no longer be compared.
    fn minus(&mut self, left: &mut GraphPattern, right: &mut GraphPattern) -> Result<u64, String> {
        let mut clash = None;
        right.on_in_scope_variable(|v| clash = clash.take().or_else(|| self.values.contains_key(v.as_str()).then(|| v.clone())));
        if let Some(variable) = clash {
            return Err(format!("?{} is bound from outside and stands inside MINUS: use FILTER NOT EXISTS", variable.as_str()));
        }
        let rows = self.pattern(left)?;
        Ok(rows.saturating_mul(self.pattern(right)?))
    }

    fn group(
        &mut self,
        inner: &mut GraphPattern,
        variables: &mut Vec<Variable>,
        aggregates: &mut [(Variable, AggregateExpression)],
    ) -> Result<u64, String> {
        variables.retain(|v| !self.values.contains_key(v.as_str()));
        for (variable, aggregate) in aggregates {
            self.refuse(variable, "gives it a value itself")?;
            if let AggregateExpression::FunctionCall { name, expr, .. } = aggregate {
                if matches!(name, spargebra::algebra::AggregateFunction::GroupConcat { .. }) {
                    self.growing += 1;
                }
                self.expression(expr)?;
            }
        }
        self.pattern(inner)
    }

    fn triple(&self, triple: &mut TriplePattern) -> Result<(), String> {
        self.term(&mut triple.subject)?;
        self.term(&mut triple.object)?;
        let NamedNodePattern::Variable(variable) = &triple.predicate else { return Ok(()) };
        match self.value(variable) {
            Some(GroundTerm::NamedNode(iri)) => triple.predicate = NamedNodePattern::NamedNode(iri.clone()),
            Some(_) => return Err(format!("?{} stands for a predicate: it must be bound to an IRI", variable.as_str())),
            None => {}
        }
        Ok(())
    }

    fn term(&self, term: &mut TermPattern) -> Result<(), String> {
        match term {
            TermPattern::Variable(variable) => {
                match self.value(variable) {
                    Some(GroundTerm::NamedNode(iri)) => *term = TermPattern::NamedNode(iri.clone()),
                    Some(GroundTerm::Literal(literal)) => *term = TermPattern::Literal(literal.clone()),
                    Some(GroundTerm::Triple(_)) | None => {}
                }
                Ok(())
            }
            TermPattern::Triple(_) => Err("triple terms (`<< … >>`) are not read here".to_owned()),
            _ => Ok(()),
        }
    }

    fn expression(&mut self, expression: &mut Expression) -> Result<(), String> {
        if let Some(value) = self.replaced(expression) {
            *expression = value;
            return Ok(());
        }
        match expression {
            Expression::NamedNode(_) | Expression::Literal(_) | Expression::Variable(_) | Expression::Bound(_) => Ok(()),
            Expression::Exists(inner) => {
                let rows = self.pattern(inner)?;
                if rows > ROWS_OF_NOTHING {
                    Err("the query's EXISTS multiplies unions and tables without bound".to_owned())
                } else {
                    Ok(())
                }
            }
            Expression::UnaryPlus(e) | Expression::UnaryMinus(e) | Expression::Not(e) => self.expression(e),
            Expression::Multiply(a, b) => {
                self.growing += 1;
                self.expression(a)?;
                self.expression(b)
            }
            Expression::Or(a, b)
            | Expression::And(a, b)
            | Expression::Equal(a, b)
            | Expression::SameTerm(a, b)
            | Expression::Greater(a, b)
            | Expression::GreaterOrEqual(a, b)
            | Expression::Less(a, b)
            | Expression::LessOrEqual(a, b)
            | Expression::Add(a, b)
            | Expression::Subtract(a, b)
            | Expression::Divide(a, b) => {
                self.expression(a)?;
                self.expression(b)
            }
            Expression::If(a, b, c) => [a, b, c].into_iter().try_for_each(|e| self.expression(e)),
            Expression::In(e, list) => {
                self.expression(e)?;
                list.iter_mut().try_for_each(|e| self.expression(e))
            }
            Expression::Coalesce(list) => list.iter_mut().try_for_each(|e| self.expression(e)),
            Expression::FunctionCall(function, list) => {
                self.growing += growth(function, list.len());
                list.iter_mut().try_for_each(|e| self.expression(e))
            }
        }
    }

    fn replaced(&self, expression: &Expression) -> Option<Expression> {
        match expression {
            Expression::Bound(variable) => self.value(variable).map(|_| Expression::Literal(true.into())),
            Expression::Variable(variable) => match self.value(variable)? {
                GroundTerm::NamedNode(iri) => Some(Expression::NamedNode(iri.clone())),
                GroundTerm::Literal(literal) => Some(Expression::Literal(literal.clone())),
                GroundTerm::Triple(_) => None,
            },
            _ => None,
        }
    }
}

fn growth(function: &Function, arguments: usize) -> u64 {
    match function {
        Function::Concat => u64::try_from(arguments / 2).unwrap_or(u64::MAX),
        Function::Replace | Function::EncodeForUri => 1,
        _ => 0,
    }
}
