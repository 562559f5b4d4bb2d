//! SIMD video instructions (PTX ISA, "SIMD Video Instructions").

/// The operation on each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum VideoOp {
    Add,
    Sub,
    Average,
    AbsoluteDifference,
    Min,
    Max,
}

/// The use of the results of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VideoResult {
    /// Their low bits are the parts of the destination.
    Wrapped,
    /// With `.sat`, for an unsigned destination.
    Unsigned,
    /// With `.sat`, for a signed destination.
    Signed,
    /// With `.add`: they are added to the third operand.
    Sum,
}

/// The modifiers of a SIMD video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Video {
    /// The use of the results.
    pub result: VideoResult,
    /// Whether the parts of the first operand are signed.
    pub a_signed: bool,
    /// Whether the parts of the second operand are signed.
    pub b_signed: bool,
    /// The parts that are computed, one bit for each. The others are those of the third operand.
    pub mask: u8,
    /// For each part, the number of the source: the parts of the first operand come first, and
    /// those of the second follow.
    pub a: [u8; 4],
    /// The same for the second source.
    pub b: [u8; 4],
}

const SELECTION: u32 = 3;

impl Video {
    /// The modifiers in one word.
    pub(crate) fn to_bits(self) -> u32 {
        let selections = self.a.into_iter().chain(self.b);
        let selections =
            selections.rev().fold(0, |bits, number| bits << SELECTION | u32::from(number));
        let result = match self.result {
            VideoResult::Wrapped => 0,
            VideoResult::Unsigned => 1,
            VideoResult::Signed => 2,
            VideoResult::Sum => 3,
        };
        let signs = u32::from(self.a_signed) | u32::from(self.b_signed) << 1;
        selections | result << 24 | signs << 26 | u32::from(self.mask) << 28
    }

    #[inline(always)]
    pub(crate) fn from_bits(bits: u32) -> Video {
        let select = |from: u32| {
            std::array::from_fn(|i| (bits >> (SELECTION * (from + i as u32)) & 7) as u8)
        };
        let result = match bits >> 24 & 3 {
            0 => VideoResult::Wrapped,
            1 => VideoResult::Unsigned,
            2 => VideoResult::Signed,
            _ => VideoResult::Sum,
        };
        Video {
            result,
            a_signed: bits >> 26 & 1 == 1,
            b_signed: bits >> 27 & 1 == 1,
            mask: (bits >> 28) as u8,
            a: select(0),
            b: select(4),
        }
    }
}
