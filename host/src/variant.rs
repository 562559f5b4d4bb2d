//! The rungs of the ladder, one row each.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::{element::ElementType, op::Op};

/// A rung of the ladder. [`Variant::facts`] is its row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// 0: pairs in global memory, one launch for each level of the tree.
    Naive,
    /// Block-wise halving in global memory.
    Global,
    /// 1: interleaved addressing with `%`: warps diverge.
    InterleavedModulo,
    /// 2: interleaved addressing by a strided index: banks conflict.
    InterleavedContiguous,
    /// 3: sequential addressing.
    Sequential,
    /// 4: the first operation happens during the load.
    FirstAdd,
    /// 5: the last warp is unrolled.
    WarpUnrolled,
    /// 6: completely unrolled for a block size known to the compiler.
    CompletelyUnrolled,
    /// 7: many elements for each thread.
    MultipleElements,
}

/// How much of the input one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Each thread combines two neighbours and writes one result; nothing is reduced beyond that.
    Pairs,
    /// Each thread takes this many elements; each block leaves one result.
    PerThread(u64),
    /// The blocks together stride over the input, two elements for each thread at each step; each leaves one result.
    GridStride,
}

/// What is fixed about a rung.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The rung itself.
    pub variant: Variant,
    /// What `--variant` takes and `--list` prints: a number, or `global`.
    pub label: &'static str,
    /// The name that `--variant` takes as well.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// The lecture it comes from.
    pub lecture: &'static str,
    /// The same kernel in NVIDIA's `reduction` sample, where there is one.
    pub nvidia: Option<&'static str>,
    /// Kernels are named `<family>_<op>_<type>`.
    pub family: &'static str,
    /// The block sizes it works for, of which only powers of two are used.
    pub blocks: RangeBounds,
    /// Threads of a block where nothing is said.
    pub default_block: u32,
    /// Elements that a block takes.
    pub coverage: Coverage,
    /// Whether a block keeps one element for each thread in dynamic shared memory.
    pub shared: bool,
    /// Whether there is a kernel for each block size (`_b<block>` in its name).
    pub block_in_name: bool,
    /// Whether it overwrites its input.
    pub destroys_input: bool,
}

/// Least and greatest, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeBounds {
    /// The least.
    pub min: u32,
    /// The greatest.
    pub max: u32,
}

impl RangeBounds {
    /// As a range.
    pub fn range(self) -> RangeInclusive<u32> {
        self.min..=self.max
    }
}

const UDACITY: &str = "Udacity, Intro to Parallel Programming, Reduction Using Global and Shared Memory";
const FILIPOVIC: &str = "J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru";

const TABLE: [Facts; 9] = [
    Facts {
        variant: Variant::Naive,
        label: "0",
        name: "naive",
        sentence: "One launch for each level of the tree: every thread combines two neighbours in global memory.",
        lecture: FILIPOVIC,
        nvidia: None,
        family: "reduce0",
        blocks: RangeBounds { min: 1, max: 1024 },
        default_block: 256,
        coverage: Coverage::Pairs,
        shared: false,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::Global,
        label: "global",
        name: "global",
        sentence: "Each block halves its part of the input in place in global memory until one value is left.",
        lecture: UDACITY,
        nvidia: None,
        family: "global",
        blocks: RangeBounds { min: 2, max: 1024 },
        default_block: 1024,
        coverage: Coverage::PerThread(1),
        shared: false,
        block_in_name: false,
        destroys_input: true,
    },
    Facts {
        variant: Variant::InterleavedModulo,
        label: "1",
        name: "interleaved-modulo",
        sentence: "Shared memory, interleaved addressing: threads with tid % (2*s) == 0 work, so every warp diverges.",
        lecture: FILIPOVIC,
        nvidia: Some("reduce0"),
        family: "reduce1",
        blocks: RangeBounds { min: 2, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(1),
        shared: true,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::InterleavedContiguous,
        label: "2",
        name: "interleaved-contiguous",
        sentence: "Interleaved addressing by neighbouring threads at index 2*s*tid: no divergence, but bank conflicts.",
        lecture: FILIPOVIC,
        nvidia: Some("reduce1"),
        family: "reduce2",
        blocks: RangeBounds { min: 2, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(1),
        shared: true,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::Sequential,
        label: "3",
        name: "sequential",
        sentence: "Sequential addressing: the stride halves from half a block to 1, without divergence or conflicts.",
        lecture: "Hui Liu, GPU Computing, Reduction #3: Sequential Accesses",
        nvidia: Some("reduce2"),
        family: "reduce3",
        blocks: RangeBounds { min: 2, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(1),
        shared: true,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::FirstAdd,
        label: "4",
        name: "first-add",
        sentence: "Each thread loads two elements and combines them on the way to shared memory, so none idles at first.",
        lecture: "Hui Liu, GPU Computing, Reduction #4: Read two elements and do the first step",
        nvidia: Some("reduce3"),
        family: "reduce4",
        blocks: RangeBounds { min: 2, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(2),
        shared: true,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::WarpUnrolled,
        label: "5",
        name: "warp-unrolled",
        sentence: "The last warp is unrolled and needs no block-wide barrier any more.",
        lecture: FILIPOVIC,
        nvidia: Some("reduce4"),
        family: "reduce5",
        blocks: RangeBounds { min: 64, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(2),
        shared: true,
        block_in_name: false,
        destroys_input: false,
    },
    Facts {
        variant: Variant::CompletelyUnrolled,
        label: "6",
        name: "completely-unrolled",
        sentence: "The block size is known to the compiler, which unrolls the whole tree.",
        lecture: FILIPOVIC,
        nvidia: Some("reduce5"),
        family: "reduce6",
        blocks: RangeBounds { min: 64, max: 1024 },
        default_block: 256,
        coverage: Coverage::PerThread(2),
        shared: true,
        block_in_name: true,
        destroys_input: false,
    },
    Facts {
        variant: Variant::MultipleElements,
        label: "7",
        name: "multiple-elements",
        sentence: "Each thread strides over the input by the whole grid and combines many elements before the tree.",
        lecture: FILIPOVIC,
        nvidia: Some("reduce6"),
        family: "reduce7",
        blocks: RangeBounds { min: 64, max: 1024 },
        default_block: 256,
        coverage: Coverage::GridStride,
        shared: true,
        block_in_name: true,
        destroys_input: false,
    },
];

impl Variant {
    /// All rungs, from the ground up.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|facts| facts.variant)
    }

    /// Its row in the table.
    pub fn facts(self) -> &'static Facts {
        // The table is in the order of the enumeration; a test holds it there.
        &TABLE[self as usize]
    }

    /// The name of its kernel for an operation, a type and a block size.
    ///
    /// ```
    /// use warpfold::{element::ElementType, op::Op, variant::Variant};
    /// assert_eq!(Variant::Sequential.kernel(Op::Max, ElementType::F64, 128), "reduce3_max_f64");
    /// assert_eq!(Variant::CompletelyUnrolled.kernel(Op::Sum, ElementType::I32, 256), "reduce6_sum_i32_b256");
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

/// Neither the number nor the name of a rung.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown variant '{0}': it is 0 to 7, global, or a name that --list prints")]
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
        for unknown in ["8", "-1", "", "Naive", "06"] {
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
            assert!(facts.default_block.is_power_of_two() && facts.blocks.range().contains(&facts.default_block));
        }
    }
}
