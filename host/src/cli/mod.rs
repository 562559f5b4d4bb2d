//! What warpfold's command-line tools share: numbers as arguments, the device, progress, Ctrl-C, results in a format,
//! completions and manual pages, errors with their exit status.

mod driver;
mod findings;
mod generate;
mod interrupt;
mod output;
mod progress;

use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Error};

use crate::device::{Device, DeviceChoice};

pub use driver::{DRIVER_VARIABLE, choose_driver};
pub use findings::Findings;
pub use generate::GenerateArgs;
pub use interrupt::{INTERRUPTED, catch_interrupts, interrupted};
pub use output::{Output, OutputArgs};
pub use progress::Progress;

/// What tools say of their exit status at the end of their help.
pub const EXIT_STATUS: &str = "Exit status: 0 all went well, 1 a run failed or a result is wrong, 2 the arguments or the input \
                               cannot be used, 130 Ctrl-C ended it; what was measured until then is written. A second \
                               Ctrl-C ends it at once.";

/// An error and the exit status that it asks for.
#[derive(Debug)]
pub enum Failure {
    /// The arguments or the input cannot be used: 2.
    Refused(Error),
    /// The run failed, the result is wrong, or a demanded device is missing: 1; or 130 after Ctrl-C, which is why then.
    Failed(Error),
    /// Ctrl-C ended it, and this is what was done until then: 130.
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

/// Ends a tool: writes the error, if there is one, to stderr in one line.
pub fn exit(done: Result<(), Failure>) -> ExitCode {
    let (class, error, status) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => ("error", error, 2),
        Err(Failure::Failed(error)) => ("error", error, if interrupted() { INTERRUPTED } else { 1 }),
        Err(Failure::Interrupted(error)) => ("interrupted", error, INTERRUPTED),
    };
    // `{:#}` puts causes behind the sentence. A closed stderr is no reason to panic.
    let _ = writeln!(io::stderr(), "{class}: {error:#}");
    ExitCode::from(status)
}

/// Writes a line for people to stderr.
pub fn note(text: impl Display) {
    // A closed stderr is no reason to panic.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Opens a device that Ctrl-C interrupts, and says why if it is the simulator where a GPU might have been. The driver's library
/// is [the one that the environment names](choose_driver).
///
/// # Errors
///
/// [`Failure::Failed`] if there is no such device.
pub fn open_device(choice: DeviceChoice) -> Result<Device, Failure> {
    choose_driver();
    let device = interruptible(Device::open(choice).map_err(failed)?)?;
    if let Some(reason) = device.fallback_note() {
        note(reason);
    }
    Ok(device)
}

/// A device that Ctrl-C interrupts.
///
/// # Errors
///
/// As [`catch_interrupts`].
pub fn interruptible(device: Device) -> Result<Device, Failure> {
    device.interrupt_by(catch_interrupts()?);
    Ok(device)
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
/// # use warpfold_lab::cli::whole;
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
