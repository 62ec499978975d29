//! The list of added functions and filters, as `rsf reference` prints it. One entry per row of docs/language.md, section 5.

/// One function or filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is written.
    pub form: &'static str,
    /// What it gives.
    pub gives: &'static str,
    /// How it is called.
    pub kind: EntryKind,
}

/// How something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// `name(…)`.
    Function,
    /// `value|name(…)`.
    Filter,
}

/// Everything added to MiniJinja's own filters and functions.
#[must_use]
pub const fn reference() -> &'static [Entry] {
    ENTRIES
}

const fn function(form: &'static str, gives: &'static str) -> Entry {
    Entry { form, gives, kind: EntryKind::Function }
}

const fn filter(form: &'static str, gives: &'static str) -> Entry {
    Entry { form, gives, kind: EntryKind::Filter }
}

const ENTRIES: &[Entry] = &[
    function(
        "ready(items, id='id', depends='depends', status='status', done=['completed'], open=['pending'])",
        "items that are open and whose dependencies are all done, in order",
    ),
    function(
        "blocked(items, id='id', depends='depends', status='status', done=['completed'], open=['pending'])",
        "open items that can never become ready: a dependency, at any depth, is neither open nor done, is unknown, or waits on itself",
    ),
    function("update(items, key, value, patch)", "the list, with the fields of `patch` set in each item whose `key` equals `value`"),
    function("merge(a, b)", "RFC 7396 merge patch of two objects"),
    filter("items|where(field=value, …)", "items whose fields equal the values"),
    filter("object|values", "list of an object's values"),
    filter("object|keys", "list of an object's keys"),
    filter("items|sum_by('field')", "sum of a field (dots reach inside); integers stay integers"),
    filter("items|count_by('field')", "object: value as text → how many"),
    filter("a|union(b)", "items of either list, each once, order of `a` first"),
    filter("a|intersect(b)", "items of `a` that are in `b`, each once"),
    filter("a|difference(b)", "items of `a` that are not in `b`, each once"),
    filter("text|matches('regex')", "whether the pattern occurs in the text"),
    filter(
        "text|capture('regex')",
        "named groups as an object, or all groups as a list (the whole match where there are none); null without a match",
    ),
    filter("text|from_json", "the value of a JSON text"),
    filter("value|to_json, value|to_json(indent=2)", "compact or indented JSON"),
    filter("text|slug", "lower-case letters, digits and `-`"),
    filter("text|clip(n)", "at most n characters, with `…` as the last when cut"),
    filter("micros|money", "text with two decimals, e.g. `1.63`"),
    function("cost(tokens, rate)", "millionths, from tokens and a rate per 1,000 tokens; exact"),
    function("to_micros(amount)", "millionths of an amount in whole units"),
    function("seconds_between(a, b)", "seconds from one RFC 3339 time to another, a float"),
    filter("time|compact_time", "the time in UTC as `20260628T143500`"),
    function("render('prompts/x/y.md')", "a template file of the bundle, with the present scope"),
];
