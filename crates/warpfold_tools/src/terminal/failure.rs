//! Errors with their exit status, and notes to people.

use std::{
    fmt::Display,
    io::{self, Write},
};

use anyhow::{Context, Error};

/// An error and the exit status that it asks for.
#[derive(Debug)]
pub enum Failure {
    /// The arguments or the input cannot be used. The exit status is 2.
    Refused(Error),
    /// The run failed, the result is wrong, or a demanded device is missing. The exit status is 1,
    /// or 130 after Ctrl-C, because Ctrl-C is then the reason.
    Failed(Error),
    /// Ctrl-C ended the run, and the error says what was done until then. The exit status is 130.
    Interrupted(Error),
}

/// [`Failure::Refused`], as a function.
pub fn refused(error: impl Into<Error>) -> Failure {
    Failure::Refused(error.into())
}

/// [`Failure::Failed`], as a function.
pub fn failed(error: impl Into<Error>) -> Failure {
    Failure::Failed(error.into())
}

/// Writes a line for people to stderr.
pub fn note(text: impl Display) {
    // A closed stderr is no reason to panic.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Turns the result of writing to stdout into that of a tool. A closed pipe is no error, because
/// whoever closed it has read enough.
///
/// # Errors
///
/// [`Failure::Failed`] for every other error.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout").map_err(Failure::Failed),
    }
}
