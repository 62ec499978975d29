//! Boolean functions over the choices of a round, as ordered decision diagrams: equal functions are the same number.
//!
//! Later choices stand above earlier ones, so that "and then this too" adds one node to what was known. Bounded: beyond its
//! nodes, steps and depth a diagram gives up, says so, and answers false from then on; whoever asks must look at [`Bdd::gave_up`].

use std::collections::BTreeMap;

/// A function: index of a node.
pub(super) type Fun = u32;
/// Never.
pub(super) const FALSE: Fun = 0;
/// Always.
pub(super) const TRUE: Fun = 1;

/// Most nodes.
const NODES: usize = 400_000;
/// Most steps of combining.
const STEPS: usize = 4_000_000;
/// Deepest recursion.
const DEPTH: usize = 1200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    var: u32,
    no: Fun,
    yes: Fun,
}

/// A store of functions.
#[derive(Debug)]
pub(super) struct Bdd {
    nodes: Vec<Node>,
    known: BTreeMap<Node, Fun>,
    memo: BTreeMap<(Fun, Fun, Fun), Fun>,
    vars: u32,
    steps: usize,
    gave_up: bool,
}

impl Bdd {
    pub(super) fn new() -> Self {
        let leaf = Node { var: 0, no: 0, yes: 0 };
        Self { nodes: vec![leaf, leaf], known: BTreeMap::new(), memo: BTreeMap::new(), vars: 0, steps: STEPS, gave_up: false }
    }

    /// Some answers were cut short.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Forgets the functions, not what was used up.
    pub(super) fn clear(&mut self) {
        self.nodes.truncate(2);
        self.known.clear();
        self.memo.clear();
        self.vars = 0;
    }

    /// A new choice, later than all others.
    pub(super) fn choice(&mut self) -> Fun {
        self.vars += 1;
        self.node(Node { var: self.vars, no: FALSE, yes: TRUE })
    }

    fn node(&mut self, node: Node) -> Fun {
        if node.no == node.yes {
            return node.no;
        }
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        if self.nodes.len() >= NODES {
            self.gave_up = true;
            return FALSE;
        }
        self.nodes.push(node);
        let index = u32::try_from(self.nodes.len() - 1).unwrap_or(FALSE);
        self.known.insert(node, index);
        index
    }

    pub(super) fn and(&mut self, a: Fun, b: Fun) -> Fun {
        self.choose(a.min(b), a.max(b), FALSE, 0)
    }

    pub(super) fn or(&mut self, a: Fun, b: Fun) -> Fun {
        self.choose(a.min(b), TRUE, a.max(b), 0)
    }

    pub(super) fn not(&mut self, a: Fun) -> Fun {
        self.choose(a, FALSE, TRUE, 0)
    }

    /// `a` and not `b`.
    pub(super) fn without(&mut self, a: Fun, b: Fun) -> Fun {
        self.choose(b, FALSE, a, 0)
    }

    /// `yes` where `test` holds, else `no`.
    fn choose(&mut self, test: Fun, yes: Fun, no: Fun, depth: usize) -> Fun {
        match (test, yes, no) {
            (TRUE, _, _) => return yes,
            (FALSE, _, _) => return no,
            (_, TRUE, FALSE) => return test,
            _ if yes == no => return yes,
            _ => {}
        }
        if let Some(known) = self.memo.get(&(test, yes, no)) {
            return *known;
        }
        if self.steps == 0 || depth > DEPTH {
            self.gave_up = true;
            return FALSE;
        }
        self.steps -= 1;
        let top = [test, yes, no].into_iter().filter(|f| *f > TRUE).map(|f| self.nodes[f as usize].var).max().unwrap_or(0);
        let (t, y, n) = (self.parts(test, top), self.parts(yes, top), self.parts(no, top));
        let low = self.choose(t.0, y.0, n.0, depth + 1);
        let high = self.choose(t.1, y.1, n.1, depth + 1);
        let result = self.node(Node { var: top, no: low, yes: high });
        self.memo.insert((test, yes, no), result);
        result
    }

    /// The function where choice `var` is no, and where it is yes.
    fn parts(&self, f: Fun, var: u32) -> (Fun, Fun) {
        match self.nodes.get(f as usize) {
            Some(node) if f > TRUE && node.var == var => (node.no, node.yes),
            _ => (f, f),
        }
    }

    /// Choices that make the function true, those that are yes; `None` when it is never true. Prefers no.
    pub(super) fn example(&self, f: Fun) -> Option<Vec<u32>> {
        let mut yes = Vec::new();
        let mut at = f;
        while at > TRUE {
            let node = self.nodes.get(at as usize)?;
            if node.no == FALSE {
                yes.push(node.var);
                at = node.yes;
            } else {
                at = node.no;
            }
        }
        (at == TRUE).then_some(yes)
    }

    /// The function's value where exactly the choices of `yes` (falling order) are yes.
    pub(super) fn holds(&self, f: Fun, yes: &[u32]) -> bool {
        let mut at = f;
        while at > TRUE {
            let Some(node) = self.nodes.get(at as usize) else { return false };
            at = if yes.contains(&node.var) { node.yes } else { node.no };
        }
        at == TRUE
    }
}
