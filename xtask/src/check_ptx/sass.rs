//! Machine code as nvdisasm prints it, one line at a time.

/// An instruction without its address and predicate.
pub(super) struct Instruction<'a> {
    /// The name with its modifiers, such as `LDG.E.NA.128`.
    pub(super) opcode: &'a str,
    pub(super) operands: &'a str,
}

impl<'a> Instruction<'a> {
    /// Reads `/*0990*/ @!P4 LDG.E.NA.128 R8, desc[UR4][R40.64] ;`, perhaps after a brace. Other
    /// lines give `None`.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (_, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
        let text = text.split(';').next()?.trim_start_matches(['{', ' ', '\t']).trim_end();
        let text = if text.starts_with('@') { text.split_once(' ')?.1.trim_start() } else { text };
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self { opcode, operands })
    }
}
