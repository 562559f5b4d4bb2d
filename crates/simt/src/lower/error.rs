//! The reasons for which a PTX text is refused.

use thiserror::Error;

use crate::ptx;

/// The reason for which a PTX text was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX, or it is PTX that the parser does not know.
    #[error(transparent)]
    Syntax(#[from] ptx::Diagnostic),
    /// The text is PTX that cannot be simulated.
    #[error("{module}:{line}:{column}: {reason}: `{instruction}`")]
    Unsupported {
        /// The module's name, usually its file.
        module: String,
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: u32,
        /// The instruction or declaration as written.
        instruction: String,
        /// The reason for which it cannot be simulated.
        reason: String,
    },
}
