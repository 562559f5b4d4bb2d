//! The command `simt`: runs, counts and checks kernels of any PTX file.
//!
//! The exit status is 0 if all went well, 1 if the kernel faulted or a report is as severe as
//! `--fail-on` names, and 2 for arguments and PTX that cannot be used. Results go to stdout, and
//! errors go to stderr; with `--json`, both go to stdout.

mod json;
mod list;
mod load;
mod run;
mod tables;
mod traces;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Error};
use clap::{Parser, Subcommand};

/// Run, count and check PTX kernels without a GPU
#[derive(Parser)]
#[command(version, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "Exit status: 0 if all went well, 1 if the kernel faulted or a check reported an error \
                           (or what --fail-on names), 2 if the arguments or the PTX cannot be used.";

#[derive(Subcommand)]
enum Command {
    /// Run a kernel
    Run(run::Args),
    /// List the kernels of a file with their parameters
    List(list::Args),
    /// Check that the simulator can parse and run the kernels of a file, and name the instructions
    /// that it cannot run
    Parse(list::Args),
}

/// The reason for which the command ends early, and its exit status.
enum Failure {
    /// The arguments or the PTX cannot be used: status 2.
    Refused(Error),
    /// The PTX cannot be used, and the reason has been printed: status 2.
    Unusable,
    /// The run failed: status 1.
    Failed(Error),
    /// The run failed, and the reason has been printed: status 1.
    Reported,
}

fn refused(error: impl Into<Error>) -> Failure {
    Failure::Refused(error.into())
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::List(args) => list::list(&args),
        Command::Parse(args) => list::parse(&args),
    };
    let (error, status) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => (Some(error), 2),
        Err(Failure::Failed(error)) => (Some(error), 1),
        Err(Failure::Unusable) => (None, 2),
        Err(Failure::Reported) => (None, 1),
    };
    if let Some(error) = error {
        // `{:#}` also prints the causes, after the sentence. A closed stderr must not cause a
        // panic.
        let _ = writeln!(io::stderr(), "error: {error:#}");
    }
    ExitCode::from(status)
}

/// Writes results to stdout. If the reader has closed the pipe, the rest is dropped without an
/// error.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout").map_err(Failure::Failed),
    }
}
