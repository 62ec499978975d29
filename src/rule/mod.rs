//! Expressions, templates and decision tables over MiniJinja: native values, strict undefined, bounded size and fuel, no loader.
//!
//! An [`Engine`] is filled while a document is checked and only evaluates texts it was given then: what runs was checked.
//! Pure: no I/O, no clock, no randomness.

