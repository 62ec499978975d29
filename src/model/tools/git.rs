//! Descriptors of the tools that read or change the project's repository.

use super::{Descriptor, EffectClass, Permission, arguments, count, flag, maybe_text, result, text, texts};
use serde_json::{Value, json};

pub(super) fn descriptors() -> Vec<Descriptor> {
    vec![status(), checkout(), diff(), show(), log(), patch(), commit(), revert(), tag()]
}

fn reading(name: &'static str, description: &'static str, arguments: Value, result: Value) -> Descriptor {
    Descriptor { name, description, arguments, result, permission: Permission::GitRead, effect: EffectClass::Reads }
}

fn changing(name: &'static str, description: &'static str, arguments: Value, result: Value) -> Descriptor {
    Descriptor { name, description, arguments, result, permission: Permission::GitWrite, effect: EffectClass::Git }
}

fn a_commit() -> Value {
    text("sha, branch, tag or `HEAD~1`; HEAD unless given")
}

fn status() -> Descriptor {
    reading(
        "git.status",
        "Tells where HEAD stands and which files differ from it.",
        arguments(json!({}), &[]),
        result(json!({
            "head": maybe_text("commit at HEAD"),
            "branch": maybe_text("branch at HEAD; null when detached"),
            "dirty": texts("changed and untracked paths; a nested repository ends in `/`"),
            "unborn": flag("the branch has no commit yet"),
            "detached": flag("HEAD is at no branch")
        })),
    )
}

fn checkout() -> Descriptor {
    reading(
        "git.checkout",
        "Puts the files of a commit into a folder of their own, outside the project, for `read`, `list`, `search` and `exec`. It is removed \
         when the cell has ended.",
        arguments(json!({ "commit": text("sha, branch, tag or `HEAD~1`") }), &["commit"]),
        result(json!({ "handle": text("for the argument `in`"), "commit": text("sha") })),
    )
}

fn diff() -> Descriptor {
    let file = json!({
        "path": text("file"),
        "status": { "enum": ["added", "deleted", "modified", "typechange"] },
        "added": count(0, "lines added"),
        "removed": count(0, "lines removed")
    });
    reading(
        "git.diff",
        "Compares two commits, or a commit and the files as they are now (untracked ones too). The parent of a first commit is empty.",
        arguments(
            json!({
                "from": a_commit(),
                "to": text("commit; the files as they are now unless given"),
                "paths": texts("paths or globs; everything unless given")
            }),
            &[],
        ),
        result(json!({
            "text": text("unified diff"),
            "files": { "type": "array", "items": result(file) },
            "truncated": flag("the text was cut")
        })),
    )
}

fn show() -> Descriptor {
    reading(
        "git.show",
        "Shows a commit: its patch, or one file as it was then.",
        arguments(json!({ "commit": a_commit(), "path": text("a file; the commit's patch unless given") }), &[]),
        result(json!({
            "commit": text("sha"),
            "message": text("as written"),
            "author": text("name and e-mail"),
            "time": text("RFC 3339"),
            "text": text("patch or file")
        })),
    )
}

fn log() -> Descriptor {
    let commit = json!({
        "sha": text("id"),
        "parents": texts("ids"),
        "message": text("as written"),
        "author": text("name and e-mail"),
        "time": text("RFC 3339")
    });
    reading(
        "git.log",
        "Lists the newest commits.",
        arguments(json!({ "max": count(1, "20 unless given"), "from": a_commit(), "contains": text("only messages with this text") }), &[]),
        result(json!({ "commits": { "type": "array", "items": result(commit) } })),
    )
}

fn patch() -> Descriptor {
    reading(
        "git.patch",
        "Gives the whole patch of a commit as `git apply` takes it, binary content included.",
        arguments(json!({ "commit": text("sha, branch, tag or `HEAD~1`") }), &["commit"]),
        result(json!({ "text": text("patch") })),
    )
}

fn commit() -> Descriptor {
    changing(
        "git.commit",
        "Commits changed, new and deleted files that the role may write, and no others. Hooks are not run and the commit is not signed.",
        arguments(
            json!({ "message": { "type": "string", "minLength": 1, "description": "commit message" }, "paths": texts("paths or globs; everything the role may write unless given") }),
            &["message"],
        ),
        result(json!({
            "sha": maybe_text("the commit; null when there was nothing to commit"),
            "files_changed": texts("paths in it"),
            "left": texts("changed paths that stay uncommitted")
        })),
    )
}

fn revert() -> Descriptor {
    changing(
        "git.revert",
        "Undoes a commit by a new one. On a conflict nothing is changed. Merge commits and uncommitted changes in the way are refused.",
        arguments(json!({ "commit": text("sha, branch, tag or `HEAD~1`"), "message": text("`Revert \"…\"` unless given") }), &["commit"]),
        result(json!({
            "sha": maybe_text("the new commit; null on a conflict or when the changes are undone already"),
            "conflict": flag("later commits changed the same lines"),
            "files": texts("paths changed, or in conflict")
        })),
    )
}

fn tag() -> Descriptor {
    changing(
        "git.tag",
        "Names a commit. A tag is never moved: one of the same name at another commit is an error.",
        arguments(json!({ "name": text("tag name"), "commit": a_commit(), "message": text("makes the tag annotated") }), &["name"]),
        result(json!({ "name": text("tag name"), "commit": text("sha"), "existed": flag("it was there already") })),
    )
}
