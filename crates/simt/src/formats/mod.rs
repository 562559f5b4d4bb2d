//! What is around checks: suppressions to read, the severity that fails a command, and SARIF to
//! write.

pub mod sarif;
pub mod suppress;

mod fail_on;
mod pattern;

pub use fail_on::{FailOn, UnknownSeverity};
