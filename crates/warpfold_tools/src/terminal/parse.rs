//! Reading the arguments of a tool.

use std::error::Error as _;

use anyhow::anyhow;
use clap::{Error, Parser, error::ErrorKind};

use super::failure::{Failure, refused};

/// Reads the arguments of a tool. A value that cannot be used is refused in the one sentence of its
/// parser, because every refusal of these tools is one sentence. For any other mistake, clap writes
/// its own message and ends the tool.
///
/// # Errors
///
/// [`Failure::Refused`] for a value that cannot be used.
pub fn parse<A: Parser>() -> Result<A, Failure> {
    A::try_parse().map_err(|error| misused(&error))
}

/// The failure for arguments that clap refused, as in [`parse`].
pub fn misused(error: &Error) -> Failure {
    match (error.kind(), error.source()) {
        (ErrorKind::ValueValidation, Some(sentence)) => refused(anyhow!("{sentence}")),
        _ => error.exit(),
    }
}
