//! Descriptors of the tools that work on files of the project or of a checkout.

use super::{Descriptor, EffectClass, Permission, arguments, checkout, count, flag, result, text, texts};
use serde_json::json;

pub(super) fn descriptors() -> Vec<Descriptor> {
    vec![read(), list(), search(), write(), edit()]
}

fn read() -> Descriptor {
    Descriptor {
        name: "read",
        description: "Reads a text file, whole or some lines of it. Binary files are refused by name.",
        arguments: arguments(
            json!({
                "path": text("path relative to the project"),
                "from": count(1, "first line, from 1"),
                "lines": count(1, "how many lines"),
                "in": checkout()
            }),
            &["path"],
        ),
        result: result(json!({
            "path": text("as asked for"),
            "text": text("the lines"),
            "lines": count(0, "lines the file has"),
            "from": count(1, "first line given"),
            "truncated": flag("more lines follow")
        })),
        permission: Permission::Read,
        effect: EffectClass::Reads,
    }
}

fn list() -> Descriptor {
    Descriptor {
        name: "list",
        description: "Lists files by a glob (`*` stays within a folder, `**` does not). Files that git ignores are listed only where the glob \
                      begins with their folder's name. Links are not followed.",
        arguments: arguments(json!({ "glob": text("`**` unless given"), "in": checkout(), "max": count(1, "at most so many files") }), &[]),
        result: result(json!({ "files": texts("paths, sorted"), "truncated": flag("there are more") })),
        permission: Permission::Read,
        effect: EffectClass::Reads,
    }
}

fn search() -> Descriptor {
    let found = json!({ "path": text("file"), "line": count(1, "line, from 1"), "text": text("the line") });
    Descriptor {
        name: "search",
        description: "Searches text files line by line for a regular expression.",
        arguments: arguments(
            json!({
                "pattern": text("regular expression (no look-around, no back references)"),
                "glob": text("files to search; `**` unless given"),
                "in": checkout(),
                "max": count(1, "at most so many matches")
            }),
            &["pattern"],
        ),
        result: result(json!({
            "matches": { "type": "array", "items": result(found) },
            "truncated": flag("there are more, or the time was up")
        })),
        permission: Permission::Read,
        effect: EffectClass::Reads,
    }
}

fn write() -> Descriptor {
    Descriptor {
        name: "write",
        description: "Writes a file whole, making its folders. What stood there before is replaced.",
        arguments: arguments(json!({ "path": text("path relative to the project"), "text": text("the whole content") }), &["path", "text"]),
        result: result(
            json!({ "path": text("as asked for"), "bytes": count(0, "bytes written"), "created": flag("there was no such file") }),
        ),
        permission: Permission::Write,
        effect: EffectClass::Writes,
    }
}

fn edit() -> Descriptor {
    Descriptor {
        name: "edit",
        description: "Replaces a piece of a file. `old` must occur exactly once unless `all` is true; line ends match whatever the file uses, \
                      and the file keeps them.",
        arguments: arguments(
            json!({
                "path": text("path relative to the project"),
                "old": { "type": "string", "minLength": 1, "description": "the piece as it stands now" },
                "new": text("what stands there afterwards"),
                "all": flag("replace every occurrence")
            }),
            &["path", "old", "new"],
        ),
        result: result(json!({ "path": text("as asked for"), "replaced": count(1, "pieces replaced") })),
        permission: Permission::Write,
        effect: EffectClass::Writes,
    }
}
