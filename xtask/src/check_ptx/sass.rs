//! Machine code as nvdisasm prints it, one line at a time.

/// An instruction without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    /// The predicate, such as `@!P4`.
    pub(crate) predicate: Option<&'a str>,
    /// The name with its modifiers, such as `LDG.E.NA.128`.
    pub(crate) opcode: &'a str,
    pub(crate) operands: &'a str,
}

impl<'a> Instruction<'a> {
    /// Reads `/*0990*/ @!P4 LDG.E.NA.128 R8, desc[UR4][R40.64] ;`, perhaps after a brace. Other
    /// lines give `None`.
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        let (_, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
        let text = text.split(';').next()?.trim_start_matches(['{', ' ', '\t']).trim_end();
        let (predicate, text) = match text.split_once(' ') {
            Some((predicate, rest)) if predicate.starts_with('@') => {
                (Some(predicate), rest.trim_start())
            }
            _ => (None, text),
        };
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self { predicate, opcode, operands })
    }
}
