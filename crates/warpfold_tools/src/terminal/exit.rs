//! The end of a tool.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use super::{
    failure::Failure,
    interrupt::{INTERRUPTED, interrupted},
};

/// The paragraph on the exit status at the end of the help of each tool.
pub const EXIT_STATUS: &str = "Exit status: 0 if all went well; 1 if a run failed or a result is wrong; 2 if the arguments or the \
                               input cannot be used; 130 if Ctrl-C ended the command (the measurements until then are written; \
                               a second Ctrl-C ends it at once).";

/// Ends a tool: writes the error, if there is one, to stderr in one line, and returns the exit
/// status.
pub fn exit(done: Result<(), Failure>) -> ExitCode {
    let (class, error, status) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => ("error", error, 2),
        Err(Failure::Failed(error)) => {
            ("error", error, if interrupted() { INTERRUPTED } else { 1 })
        }
        Err(Failure::Interrupted(error)) => ("interrupted", error, INTERRUPTED),
    };
    // `{:#}` writes the causes after the error's own sentence. A closed stderr is no reason to
    // panic.
    let _ = writeln!(io::stderr(), "{class}: {error:#}");
    ExitCode::from(status)
}
