//! Tables looked at as a whole: cases as data, and random tables against every value of a range.

use proptest::prelude::*;
use rsf::model::{HitPolicy, Rule, Table, decode_table};
use rsf::rule::{CoverKind, cover};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn read(value: &Value) -> Table {
    let text = value.to_string();
    let (tree, problems) = rsf::syntax::parse(text.as_bytes(), rsf::base::FileId(0));
    assert!(problems.is_empty(), "{problems:?}");
    let (table, problems) = decode_table(tree.root.as_ref().unwrap(), rsf::base::FileId(0), "");
    assert!(problems.is_empty(), "{problems:?}");
    table
}

#[test]
fn tables_are_covered_as_the_cases_say() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../cases/tables/cover.json")).unwrap();
    for case in &cases {
        let table = read(&case["table"]);
        let found: Vec<Value> = cover(&table)
            .findings
            .iter()
            .map(|f| {
                let rows: Vec<&str> = f.rows.iter().map(|row| table.rules[*row].id.as_str()).collect();
                json!([format!("{:?}", f.kind), rows, f.witness])
            })
            .collect();
        let same = |a: &Value, b: &Value| a[0] == b[0] && a[1] == b[1] && same_numbers(&a[2], &b[2]);
        let expected = case["expect"].as_array().unwrap();
        let equal = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| same(a, b));
        assert!(equal, "{}: {}", case["name"], json!(found));
    }
}

/// Equal, whether a whole number is written as one or not.
fn same_numbers(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same_numbers(v, w))),
        (a, b) => a == b || (a.as_f64().is_some() && a.as_f64() == b.as_f64()),
    }
}

/// A condition over `x` and `y` as text and as a function.
#[derive(Clone, Debug)]
enum Cond {
    Less(bool, i64),
    AtLeast(bool, i64),
    Equal(bool, i64),
    Rest(bool, i64, i64),
    Order(u8),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
    Not(Box<Cond>),
}

impl Cond {
    fn text(&self) -> String {
        let name = |x: &bool| if *x { "x" } else { "y" };
        match self {
            Cond::Less(v, c) => format!("{} < {c}", name(v)),
            Cond::AtLeast(v, c) => format!("{c} <= {}", name(v)),
            Cond::Equal(v, c) => format!("{} == {c}", name(v)),
            Cond::Rest(v, m, r) => format!("{} % {m} == {r}", name(v)),
            Cond::Order(0) => "x < y".to_owned(),
            Cond::Order(1) => "x == y".to_owned(),
            Cond::Order(_) => "x >= y".to_owned(),
            Cond::And(a, b) => format!("({} and {})", a.text(), b.text()),
            Cond::Or(a, b) => format!("({} or {})", a.text(), b.text()),
            Cond::Not(a) => format!("not ({})", a.text()),
        }
    }

    fn holds(&self, x: i64, y: i64) -> bool {
        let of = |v: &bool| if *v { x } else { y };
        match self {
            Cond::Less(v, c) => of(v) < *c,
            Cond::AtLeast(v, c) => *c <= of(v),
            Cond::Equal(v, c) => of(v) == *c,
            Cond::Rest(v, m, r) => of(v).rem_euclid(*m) == *r,
            Cond::Order(0) => x < y,
            Cond::Order(1) => x == y,
            Cond::Order(_) => x >= y,
            Cond::And(a, b) => a.holds(x, y) && b.holds(x, y),
            Cond::Or(a, b) => a.holds(x, y) || b.holds(x, y),
            Cond::Not(a) => !a.holds(x, y),
        }
    }
}

fn cond() -> impl Strategy<Value = Cond> {
    let leaf = prop_oneof![
        (any::<bool>(), -2_i64..6).prop_map(|(v, c)| Cond::Less(v, c)),
        (any::<bool>(), -2_i64..6).prop_map(|(v, c)| Cond::AtLeast(v, c)),
        (any::<bool>(), -2_i64..6).prop_map(|(v, c)| Cond::Equal(v, c)),
        (any::<bool>(), 2_i64..4, 0_i64..3).prop_map(|(v, m, r)| Cond::Rest(v, m, r)),
        (0_u8..3).prop_map(Cond::Order),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Cond::And(a.into(), b.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Cond::Or(a.into(), b.into())),
            inner.prop_map(|a| Cond::Not(a.into())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every value from -40 to 40 is tried: more than any region or period of these conditions.
    #[test]
    fn cover_agrees_with_trying_everything(conds in prop::collection::vec(cond(), 1..5), first in any::<bool>()) {
        let policy = if first { HitPolicy::First } else { HitPolicy::Unique };
        let rules = conds.iter().enumerate().map(|(i, c)| Rule { id: i.to_string(), when: Some(c.text()), then: json!(i), ..Rule::default() });
        let inputs = json!({"x": {"type": "integer"}, "y": {"type": "integer"}});
        let table = Table { hit_policy: policy, inputs: inputs.as_object().unwrap().clone(), rules: rules.collect(), ..Table::default() };
        let (mut seen, mut spoke, mut clash, mut gap) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), false);
        for x in -40..40 {
            for y in -40..40 {
                let matching: Vec<usize> = conds.iter().enumerate().filter(|(_, c)| c.holds(x, y)).map(|(i, _)| i).collect();
                seen.extend(&matching);
                spoke.extend(matching.first());
                gap |= matching.is_empty();
                clash.extend(matching.iter().skip(1));
            }
        }
        let cover = cover(&table);
        prop_assert!(!cover.gave_up && cover.sampled.is_empty());
        let of = |kind: CoverKind| cover.findings.iter().filter(|f| f.kind == kind).filter_map(|f| f.rows.first().copied()).collect::<BTreeSet<usize>>();
        prop_assert_eq!(cover.findings.iter().any(|f| f.kind == CoverKind::Gap), gap);
        let never: BTreeSet<usize> = (0..conds.len()).filter(|i| !seen.contains(i)).collect();
        prop_assert_eq!(of(CoverKind::Never), never);
        if first {
            let shadowed: BTreeSet<usize> = seen.difference(&spoke).copied().collect();
            prop_assert_eq!(of(CoverKind::Shadowed), shadowed);
        } else {
            prop_assert_eq!(of(CoverKind::Overlap), clash);
        }
    }
}
