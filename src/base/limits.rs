//! Every built-in limit in one place. A document's `limits` may lower or raise those that it names (docs/language.md).

/// Largest document that is read, in bytes (docs/validate.md).
pub const DOCUMENT_BYTES: usize = 64 * 1024 * 1024;
/// Deepest nesting of a document.
pub const DOCUMENT_DEPTH: usize = 128;
/// Findings printed per file before the rest is only counted.
pub const PRINTED_PROBLEMS: usize = 100;
/// Longest single expression or `{{ … }}` block, in bytes: long operator chains would overflow the evaluator's stack.
pub const EXPRESSION_BYTES: usize = 4096;
/// Longest template text (a prompt file), in bytes.
pub const TEMPLATE_BYTES: usize = 256 * 1024;
/// Steps of evaluation one expression or template may take.
pub const FUEL: u64 = 1_000_000;
/// Operations one attempt of a cell may execute.
pub const OPERATIONS: u64 = 10_000;
/// Model turns of one agent session.
pub const TURNS: u32 = 50;
/// Times an agent's invalid output is sent back for repair.
pub const REPAIRS: u32 = 3;
/// Items of an `each` cell that run at the same time.
pub const PARALLEL: usize = 4;
/// Time-out of an attempt that nothing else bounds, in milliseconds.
pub const TIMEOUT_MS: u64 = 600_000;
/// Output kept of one tool call or process stream, in bytes.
pub const OUTPUT_BYTES: usize = 64 * 1024;
/// Rounds of a run that no other limit bounds.
pub const ROUNDS: u32 = 1000;
/// Largest file a tool reads, in bytes.
pub const FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Highest count of a term.
pub const MAX_COUNT: u8 = 99;
/// Largest file a confined program may write, in bytes.
pub const CHILD_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Memory a confined program may have for data, per process, in bytes.
pub const CHILD_DATA_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// Files a confined program may hold open.
pub const CHILD_OPEN_FILES: u64 = 4096;
/// Tasks that confined programs may start beyond those that run.
pub const CHILD_TASKS: u64 = 2048;
