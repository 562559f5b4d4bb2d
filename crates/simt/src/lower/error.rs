//! The reasons for which a PTX text or one of its kernels cannot be run.

use std::fmt;

use thiserror::Error;

use crate::ptx;
use crate::ptx::ast::Frame;

/// The reason for which a PTX text was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX.
    #[error(transparent)]
    Syntax(#[from] ptx::Diagnostic),
}

/// A reason for which a kernel cannot be run: an instruction or a declaration, of the kernel itself
/// or of a function that it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The kernel or function that contains the text.
    pub function: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The instruction or declaration as written.
    pub instruction: String,
    /// The reason, without a full stop.
    pub reason: String,
    /// The source lines from which the instruction was compiled, innermost first; empty if the PTX
    /// does not contain them.
    pub frames: Vec<Frame>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { line, column, instruction, reason, frames, .. } = self;
        write!(f, "{line}:{column}: {reason}: `{instruction}`")?;
        frames.first().map_or(Ok(()), |frame| write!(f, ", compiled from {frame}"))
    }
}
