//! The rungs of the ladder and the table with the facts of each.

mod facts;
mod rung;
mod table;

use std::{fmt, str::FromStr};

use self::table::TABLE;
use crate::{element::ElementType, op::Op};

pub(crate) use facts::LOAD_BYTES;
pub use facts::{
    Coverage, Facts, Operands, Parameter, RangeBounds, Results, Shared, Step, Together,
};
pub use rung::Variant;

impl Variant {
    /// All rungs, in the order of the ladder.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|facts| facts.variant)
    }

    /// The facts about this rung: its row in the table.
    pub const fn facts(self) -> &'static Facts {
        // The table is in the order of the enumeration; a test makes sure of that.
        &TABLE[self as usize]
    }

    /// Whether the blocks wait for each other by reading memory again and again. On the simulator,
    /// its own order of blocks decides how often they read it.
    pub const fn polls(self) -> bool {
        matches!(self.facts().together, Together::Grid)
    }

    /// Whether there is a kernel for the operation and the type.
    pub const fn allows(self, op: Op, element: ElementType) -> bool {
        self.facts().operands.allow(op, element)
    }

    /// The parameters of the rung's kernels, in order.
    pub const fn parameters(self) -> &'static [Parameter] {
        use Parameter::{Count, Counter, Input, Output, Partials};
        match self.facts().results {
            Results::Combined => &[Input, Output, Count, Partials, Counter],
            Results::Partials | Results::Atomic => &[Input, Output, Count],
        }
    }

    /// The name of the rung's kernel for an operation, a type and a block size.
    ///
    /// ```
    /// use warpfold_lab::{element::ElementType, op::Op, variant::Variant};
    /// assert_eq!(Variant::Sequential.kernel(Op::Max, ElementType::F64, 128), "reduce3_max_f64");
    /// let unrolled = Variant::CompletelyUnrolled;
    /// assert_eq!(unrolled.kernel(Op::Sum, ElementType::I32, 256), "reduce6_sum_i32_b256");
    /// ```
    pub fn kernel(self, op: Op, element: ElementType, block: u32) -> String {
        let facts = self.facts();
        let block = if facts.block_in_name { format!("_b{block}") } else { String::new() };
        format!("{}_{op}_{element}{block}", facts.family)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().label)
    }
}

/// The error for a text that is neither the number nor the name of a rung.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown variant '{0}': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints"
)]
pub struct UnknownVariant(pub String);

impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(text: &str) -> Result<Self, UnknownVariant> {
        TABLE
            .iter()
            .find(|facts| facts.label == text || facts.name == text)
            .map(|facts| facts.variant)
            .ok_or_else(|| UnknownVariant(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for (index, facts) in TABLE.iter().enumerate() {
            assert_eq!(facts.variant as usize, index);
        }
    }

    #[test]
    fn labels_and_names_parse_back() {
        for variant in Variant::all() {
            assert_eq!(variant.facts().label.parse(), Ok(variant));
            assert_eq!(variant.facts().name.parse(), Ok(variant));
        }
        for unknown in ["15", "-1", "", "Naive", "06"] {
            assert_eq!(unknown.parse::<Variant>(), Err(UnknownVariant(unknown.into())));
        }
    }

    #[test]
    fn every_sentence_is_one() {
        for variant in Variant::all() {
            let sentence = variant.facts().sentence;
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{sentence}");
        }
    }

    #[test]
    fn defaults_are_allowed() {
        for variant in Variant::all() {
            let facts = variant.facts();
            assert!(
                facts.default_block.is_power_of_two()
                    && facts.blocks.range().contains(&facts.default_block)
            );
        }
    }
}
