//! Files around checks: suppressions to read, and SARIF to write.

pub mod sarif;
pub mod suppress;

mod pattern;
