//! The lines of a report that give the place of an instruction, in the source and in the PTX.

use std::fmt;

use crate::ptx::ast::Frame;

/// Prints the place of an instruction in whole lines: in the source, if it is known, and in the
/// PTX.
pub(crate) struct SourceLines<'a> {
    pub(crate) module: &'a str,
    pub(crate) frames: &'a [Frame],
    pub(crate) line: u32,
    pub(crate) instruction: &'a str,
}

impl fmt::Display for SourceLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceLines { module, frames, line, instruction } = self;
        let Some((first, callers)) = frames.split_first() else {
            return writeln!(f, "  --> {module}:{line}\n   | {instruction}");
        };
        writeln!(f, "  --> {first}")?;
        for caller in callers {
            writeln!(f, "   = inlined at {caller}")?;
        }
        writeln!(f, "   | {module}:{line}: {instruction}")
    }
}
