//! What people and tools are shown. Renders; decides nothing and reads no file.

pub mod diagnostics;
