//! Where an interpretation stands: a stack of lists and loops over the operations, without borrowing them.

use crate::model::{Op, OpKind};
use serde_json::Value;

/// Which nested list of an operation is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    /// `do` of a group or of a `for`.
    Body,
    /// `else` of a group.
    Otherwise,
}

/// One frame of the stack.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    /// A list of operations: next operation to run, and the result of the last one.
    List {
        /// Way from the root list: operation index and branch, level by level.
        path: Vec<(usize, Branch)>,
        /// Index of the next operation.
        next: usize,
        /// Result of the last operation.
        last: Value,
    },
    /// A `for`: what is left to do.
    Loop {
        /// Way to the loop's body.
        path: Vec<(usize, Branch)>,
        /// Items.
        items: Vec<Value>,
        /// Index of the pass under way.
        pass: usize,
        /// Last result of each finished pass.
        results: Vec<Value>,
        /// Name the results are bound to.
        bind: Option<String>,
        /// `item` and `index` of an enclosing loop.
        outer: (Option<Value>, Option<Value>),
    },
}

/// The list that a path leads to; empty where the path leads nowhere.
pub(super) fn list_at<'a>(root: &'a [Op], path: &[(usize, Branch)]) -> &'a [Op] {
    let mut list = root;
    for (index, branch) in path {
        list = match list.get(*index).map(|op| &op.kind) {
            Some(OpKind::For { body, .. } | OpKind::Do { body, .. }) if *branch == Branch::Body => body,
            Some(OpKind::Do { otherwise, .. }) if *branch == Branch::Otherwise => otherwise,
            _ => return &[],
        };
    }
    list
}
