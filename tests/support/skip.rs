//! Writes the line that reports a test that did not run. The whole workspace uses this form:
//!
//! ```text
//! skipped: CRATE::TEST: REASON
//! skipped: CRATE, PART: REASON
//! ```
//!
//! The line bypasses the test harness and goes to stderr, because the harness hides the output of a
//! test that passes. `.ci/check-skips` counts these lines and fails on one that
//! `.ci/expected-skips` does not have.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Reports that the calling test does not run, or does not run to its end.
#[allow(dead_code, reason = "a test binary may have parts alone")]
pub(crate) fn test(reason: impl Display) {
    // The harness names a test's thread after the test, unless it has only one thread.
    let thread = thread::current();
    say(&format!("{}::{}", env!("CARGO_CRATE_NAME"), thread.name().unwrap_or("a test")), &reason);
}

/// Reports, once in a process, that a part of its tests does not run.
#[allow(dead_code, reason = "a test binary may have whole tests alone")]
pub(crate) fn part(part: &str, reason: impl Display) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(part.to_owned()) {
        say(&format!("{}, {part}", env!("CARGO_CRATE_NAME")), &reason);
    }
}

fn say(what: &str, reason: &impl Display) {
    let reason = reason.to_string();
    let reason = reason.lines().next().unwrap_or_default();
    // The line is written in one piece, because the harness may write between two pieces.
    let _ = io::stderr().write_all(format!("skipped: {what}: {reason}\n").as_bytes());
}
