//! The variants: how many threads share one result.

use std::{fmt, str::FromStr};

use super::plan::BLOCK;
use crate::{element::ElementType, op::Op};

/// How a matrix is reduced, and how many threads share one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// A thread for each row.
    Thread,
    /// A warp for each row.
    Warp,
    /// A block for each row.
    Block,
    /// A thread for each column.
    Column,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Thread, Self::Warp, Self::Block, Self::Column];

    /// The name of the variant, as the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Warp => "warp",
            Self::Block => "block",
            Self::Column => "column",
        }
    }

    /// The name of the kernel for an operation on a type.
    ///
    /// ```
    /// use warpfold_lab::{element::ElementType, op::Op, rows::Variant};
    ///
    /// assert_eq!(Variant::Warp.kernel(Op::Max, ElementType::F32), "rowwarp_max_f32");
    /// ```
    pub fn kernel(self, op: Op, element: ElementType) -> String {
        let family = match self {
            Self::Thread => "rowthread",
            Self::Warp => "rowwarp",
            Self::Block => "rowblock",
            Self::Column => "columnthread",
        };
        format!("{family}_{op}_{element}")
    }

    /// The number of threads that share one result.
    pub const fn threads(self) -> u32 {
        match self {
            Self::Thread | Self::Column => 1,
            Self::Warp => 32,
            Self::Block => BLOCK,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown variant '{0}': it is one of thread, warp, block, column")]
pub struct UnknownVariant(pub String);

impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(text: &str) -> Result<Self, UnknownVariant> {
        let found = Self::ALL.into_iter().find(|variant| variant.name() == text);
        found.ok_or_else(|| UnknownVariant(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for variant in Variant::ALL {
            assert_eq!(variant.name().parse(), Ok(variant));
        }
        let error = "row".parse::<Variant>().unwrap_err().to_string();
        assert_eq!(error, "unknown variant 'row': it is one of thread, warp, block, column");
    }
}
