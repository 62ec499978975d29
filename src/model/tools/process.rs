//! Descriptors of the tools that start programs or ask the engine itself.

use super::{Descriptor, EffectClass, Permission, arguments, checkout, count, flag, maybe_integer, result, text};
use serde_json::{Value, json};

pub(super) fn descriptors() -> Vec<Descriptor> {
    vec![exec(), sequence(), usage_status()]
}

fn exec() -> Descriptor {
    Descriptor {
        name: "exec",
        description: "Runs a program (`argv`), or a shell line (`shell`). The environment is a chosen one without keys; temporary files, caches \
                      and coverage data go to a scratch folder. A time-out ends the whole process group. Long output keeps its head and tail.",
        arguments: exec_arguments(),
        result: result(json!({
            "exit": maybe_integer("exit status; null when a signal ended it"),
            "signal": maybe_integer("the signal that ended it"),
            "timed_out": flag("its time was up"),
            "stdout": text("standard output, cleaned"),
            "stderr": text("standard error, cleaned"),
            "truncated": flag("output was left out in the middle"),
            "ms": count(0, "wall time in milliseconds"),
            "collected": { "type": "object", "additionalProperties": { "type": ["string", "null"] }, "description": "files asked for by `collect`; null where there is none" },
            "confined": flag("the kernel kept the program to what the role may do"),
            "refused": { "type": "array", "items": { "type": "string" }, "description": "lines of output that tell of something refused; each counts as a risk flag" },
            "rerun": flag("an earlier try was interrupted, so it ran more than once")
        })),
        permission: Permission::Exec,
        effect: EffectClass::Executes,
    }
}

fn exec_arguments() -> Value {
    // That exactly one of the two is given is checked by the tool: providers refuse schemas with alternatives at the top.
    arguments(
        json!({
            "argv": { "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "program and arguments" },
            "shell": { "type": "string", "minLength": 1, "description": "a line for `sh -c`, in place of `argv`" },
            "in": checkout(),
            "cwd": text("working folder, relative to the project"),
            "env": { "type": "object", "additionalProperties": { "type": "string" }, "description": "further environment variables" },
            "stdin": text("standard input; closed unless given"),
            "timeout": { "type": "number", "exclusiveMinimum": 0, "description": "seconds" },
            "collect": {
                "type": "object",
                "additionalProperties": { "type": "string" },
                "description": "name → path of a file the program writes; what stands there before is removed first, so an old report is never taken for a new one"
            }
        }),
        &[],
    )
}

fn sequence() -> Descriptor {
    Descriptor {
        name: "sequence",
        description: "Draws the next number of a name, for the project's life; a repeated call of the same cell gets the same number.",
        arguments: arguments(
            json!({ "name": { "type": "string", "minLength": 1, "maxLength": 200, "description": "what is numbered" } }),
            &["name"],
        ),
        result: result(json!({ "value": count(1, "the number") })),
        permission: Permission::Nothing,
        effect: EffectClass::Writes,
    }
}

fn usage_status() -> Descriptor {
    Descriptor {
        name: "usage.status",
        description: "Tells the tokens and money used so far, and the balance where a provider tells it.",
        arguments: arguments(json!({}), &[]),
        result: result(json!({ "usage": { "type": "object" }, "balance": {} })),
        permission: Permission::Nothing,
        effect: EffectClass::Pure,
    }
}
