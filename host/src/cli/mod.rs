//! What warpfold's command-line tools share: numbers as arguments, progress, errors with their exit status.

mod progress;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Error};

pub use progress::Progress;

/// An error and the exit status that it asks for.
#[derive(Debug)]
pub enum Failure {
    /// The arguments or the input cannot be used: 2.
    Refused(Error),
    /// The run failed, the result is wrong, or a demanded device is missing: 1.
    Failed(Error),
}

/// [`Failure::Refused`], as a function.
pub fn refused(error: impl Into<Error>) -> Failure {
    Failure::Refused(error.into())
}

/// [`Failure::Failed`], as a function.
pub fn failed(error: impl Into<Error>) -> Failure {
    Failure::Failed(error.into())
}

/// Ends a tool: writes the error, if there is one, to stderr in one line.
pub fn exit(done: Result<(), Failure>) -> ExitCode {
    let (error, status) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => (error, 2),
        Err(Failure::Failed(error)) => (error, 1),
    };
    // `{:#}` puts causes behind the sentence. A closed stderr is no reason to panic.
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(status)
}

/// What came of writing to stdout. Whoever closed the pipe has read enough.
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

/// A whole number from 0: digits, with `_` between them if wanted, or a power such as `2^22`. `flag` and `example` are for the message.
///
/// ```
/// # use warpfold::cli::whole;
/// assert_eq!(whole("--n", "4_194_304", "2^22").unwrap(), whole("--n", "2^22", "2^22").unwrap());
/// assert!(whole("--n", "-1", "2^22").is_err());
/// ```
///
/// # Errors
///
/// Anything else, in one sentence.
pub fn whole(flag: &str, text: &str, example: &str) -> anyhow::Result<u64> {
    let digits = |text: &str| -> Option<u64> {
        let plain = text.replace('_', "");
        let all_digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
        all_digits.then(|| plain.parse().ok()).flatten()
    };
    let value = match text.split_once('^') {
        Some((base, exponent)) => digits(base)
            .zip(digits(exponent))
            .and_then(|(base, exponent)| base.checked_pow(u32::try_from(exponent).ok()?)),
        None => digits(text),
    };
    value.with_context(|| format!("{flag} '{text}': it must be a whole number from 0 to 2^64 - 1, such as {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let n = |text| whole("--n", text, "1").ok();
        assert_eq!(n("0"), Some(0));
        assert_eq!(n("4_194_304"), Some(1 << 22));
        assert_eq!(n("2^22"), Some(1 << 22));
        assert_eq!(n("10^6"), Some(1_000_000));
        assert_eq!(n("18446744073709551615"), Some(u64::MAX));
        for bad in
            ["", "-1", "+1", "1.5", "1e6", "many", "2^64", "18446744073709551616", "2^-1", "^", "_", "2^2^2", " 1"]
        {
            assert_eq!(n(bad), None, "{bad}");
        }
    }
}
