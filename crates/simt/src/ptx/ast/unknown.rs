//! Instructions that are not known.

use super::{Module, Span};
use crate::ptx::Diagnostic;

/// The reason for which an instruction is not known. The text may be an instruction of PTX
/// nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The part of the instruction that is not known.
    pub span: Span,
    /// One sentence, without a full stop.
    pub message: String,
    /// A proposal of text to write instead, if the parser can make one.
    pub help: Option<String>,
}

impl Module {
    /// The reason for which an instruction is not known, with its place.
    pub fn diagnostic(&self, unknown: &Unknown) -> Diagnostic {
        let Unknown { span, message, help } = unknown.clone();
        Diagnostic::at(span, message, help, &self.name, &self.source)
    }
}
