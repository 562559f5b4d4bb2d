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
    /// 8: warp shuffles, one shared slot for each warp.
    Shuffle,
    /// 9: 128-bit loads, four in flight.
    Vectorized,
    /// 10: the last block to finish combines the partial results.
    SinglePass,
    /// 11: `redux.sync`.
    Redux,
    /// 12: a barrier for the whole grid.
    Cooperative,
    /// 13: thread-block clusters.
    Cluster,
    /// 14: bulk copies into shared memory.
    Bulk,
    /// One atomic operation a block.
    AtomicBlock,
    /// One atomic operation a warp.
    AtomicWarp,
}

/// How much of the input one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Each thread combines two neighbours and writes one result; nothing is reduced beyond that.
    Pairs,
    /// Each thread takes this many elements; each block leaves one result.
    PerThread(u64),
    /// The blocks together stride over the input, so much at each step; any grid does.
    GridStride(Step),
}

impl Coverage {
    /// Whether any grid covers any input.
    pub const fn takes_any_grid(self) -> bool {
        matches!(self, Self::GridStride(_))
    }
}

/// What is taken at each step of a grid-stride loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many elements for each thread.
    Elements(u64),
    /// So many 128-bit loads for each thread.
    Loads(u64),
    /// A tile of so many bytes for each block.
    Tile(u64),
}

impl Step {
    /// The elements that a block takes.
    pub const fn elements_of_block(self, element: ElementType, block: u32) -> u64 {
        match self {
            Self::Elements(elements) => elements * block as u64,
            Self::Loads(loads) => loads * LOAD_BYTES / element.size() as u64 * block as u64,
            Self::Tile(bytes) => bytes / element.size() as u64,
        }
    }
}

/// Bytes of a 128-bit load.
pub(crate) const LOAD_BYTES: u64 = 16;

/// The dynamic shared memory that a block needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// None.
    None,
    /// One element for each thread.
    PerThread,
    /// One element for each warp.
    PerWarp,
    /// So many bytes, and one element for each warp.
    AndPerWarp(u32),
}

/// What a launch leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// A partial result of each block (or, for rung 0, of each pair; for a cluster, of each cluster).
    Partials,
    /// The result itself, by way of room for the partial results and a counter that is 0 before the first launch.
    Combined,
    /// The result itself, combined atomically with the identity that must be there before.
    Atomic,
}

/// The operations and types that a rung exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All.
    All,
    /// What `redux.sync` does.
    Redux,
    /// What atomics in global memory do.
    Atomic,
}

impl Operands {
    /// Whether there is a kernel.
    pub const fn allow(self, op: Op, element: ElementType) -> bool {
        match self {
            Self::All => true,
            Self::Redux => !matches!(op, Op::Prod) && matches!(element, ElementType::I32 | ElementType::U32),
            Self::Atomic => match op {
                Op::Sum => true,
                Op::Min | Op::Max => !matches!(element, ElementType::F32 | ElementType::F64),
                Op::Prod => false,
            },
        }
    }

    /// Why there is none for the others.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::All => "every operation and type is there",
            Self::Redux => "redux.sync does sum, min and max of i32 and u32",
            Self::Atomic => "atomics in global memory do the sum of every type, and min and max of integers",
        }
    }
}

/// What the blocks of a launch share beside global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Nothing.
    Apart,
    /// A barrier for the whole grid: a cooperative launch.
    Grid,
    /// Each other's shared memory, in clusters of so many blocks at most: the largest power of two that divides the grid.
    Clusters(u32),
}

/// A parameter of a rung's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address of the elements.
    Input,
    /// The address of what the launch leaves.
    Output,
    /// The number of elements, 64 bits.
    Count,
    /// The address of room for a partial result of each block.
    Partials,
    /// The address of a 32-bit counter.
    Counter,
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
    /// The dynamic shared memory of a block.
    pub shared: Shared,
    /// Whether there is a kernel for each block size (`_b<block>` in its name).
    pub block_in_name: bool,
    /// Whether it overwrites its input.
    pub destroys_input: bool,
    /// Whether the lanes of a warp combine their values in registers, where memory shows nothing of it.
    pub shuffles: bool,
    /// What a launch leaves.
    pub results: Results,
    /// What it exists for.
    pub operands: Operands,
    /// How its blocks are launched.
    pub together: Together,
    /// Blocks for each multiprocessor where nothing is said, if any grid does.
    pub blocks_per_multiprocessor: u32,
    /// The oldest compute capability that has its instructions.
    pub capability: (u32, u32),
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

const LUITJENS: &str = "J. Luitjens, Faster Parallel Reductions on Kepler, NVIDIA, 2014";

/// What every rung needs: warp-level instructions that name their lanes.
const BASELINE: (u32, u32) = (7, 0);

/// Bytes of a tile of rung 14, and how many of them it has under way.
const TILE_BYTES: u32 = 8 << 10;
const STAGES: u32 = 4;

/// What most of the lectures' rungs have in common.
const BASE: Facts = Facts {
    variant: Variant::Naive,
    label: "",
    name: "",
    sentence: "",
    lecture: FILIPOVIC,
    nvidia: None,
    family: "",
    blocks: RangeBounds { min: 2, max: 1024 },
    default_block: 256,
    coverage: Coverage::PerThread(1),
    shared: Shared::PerThread,
    block_in_name: false,
    destroys_input: false,
    shuffles: false,
    results: Results::Partials,
    operands: Operands::All,
    together: Together::Apart,
    // 8 blocks of 256 threads fill the 2048 threads that a multiprocessor of sm_80 and sm_90 holds (CUDA C++ Programming
    // Guide, Technical Specifications per Compute Capability).
    blocks_per_multiprocessor: 8,
    capability: BASELINE,
};

/// What the rungs above the lectures' have in common.
const ABOVE: Facts = Facts {
    lecture: LUITJENS,
    blocks: RangeBounds { min: 32, max: 1024 },
    coverage: Coverage::GridStride(Step::Loads(4)),
    shared: Shared::PerWarp,
    shuffles: true,
    ..BASE
};

const TABLE: [Facts; 18] = [
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
        shared: Shared::None,
        ..BASE
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
        shared: Shared::None,
        destroys_input: true,
        ..BASE
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
        shared: Shared::PerThread,
        ..BASE
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
        shared: Shared::PerThread,
        ..BASE
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
        shared: Shared::PerThread,
        ..BASE
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
        shared: Shared::PerThread,
        ..BASE
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
        shared: Shared::PerThread,
        ..BASE
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
        shared: Shared::PerThread,
        block_in_name: true,
        ..BASE
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
        coverage: Coverage::GridStride(Step::Elements(2)),
        shared: Shared::PerThread,
        block_in_name: true,
        ..BASE
    },
    Facts {
        variant: Variant::Shuffle,
        label: "8",
        name: "shuffle",
        sentence: "Lanes pass values from register to register by warp shuffles, and each warp takes one slot of shared memory.",
        family: "reduce8",
        coverage: Coverage::GridStride(Step::Elements(2)),
        ..ABOVE
    },
    Facts {
        variant: Variant::Vectorized,
        label: "9",
        name: "vectorized",
        sentence: "128-bit loads, four of them in flight for each thread, whatever the alignment of the input.",
        lecture: "J. Luitjens, CUDA Pro Tip: Increase Performance with Vectorized Memory Access, NVIDIA, 2013",
        family: "reduce9",
        ..ABOVE
    },
    Facts {
        variant: Variant::SinglePass,
        label: "10",
        name: "single-pass",
        sentence: "One launch: the block that draws the last ticket combines the partial results of all.",
        lecture: "NVIDIA, CUDA Samples, threadFenceReduction",
        family: "reduce10",
        results: Results::Combined,
        ..ABOVE
    },
    Facts {
        variant: Variant::Redux,
        label: "11",
        name: "redux",
        sentence: "A warp reduces by one instruction, redux.sync, which exists for 32-bit integers.",
        lecture: "NVIDIA, PTX ISA, redux.sync",
        family: "reduce11",
        operands: Operands::Redux,
        capability: (8, 0),
        ..ABOVE
    },
    Facts {
        variant: Variant::Cooperative,
        label: "12",
        name: "cooperative",
        sentence: "One launch: all blocks meet at a barrier for the whole grid, and the first combines the partial results.",
        lecture: "NVIDIA, CUDA C++ Programming Guide, Grid Synchronization",
        family: "reduce12",
        results: Results::Combined,
        together: Together::Grid,
        ..ABOVE
    },
    Facts {
        variant: Variant::Cluster,
        label: "13",
        name: "cluster",
        sentence: "The blocks of a cluster collect their values in distributed shared memory, and leave one partial result.",
        lecture: "NVIDIA, CUDA C++ Programming Guide, Distributed Shared Memory",
        family: "reduce13",
        together: Together::Clusters(8),
        capability: (9, 0),
        ..ABOVE
    },
    Facts {
        variant: Variant::Bulk,
        label: "14",
        name: "bulk",
        sentence: "One thread has the copy engine bring tiles into shared memory, four stages ahead of those that combine them.",
        lecture: "NVIDIA, CUDA C++ Programming Guide, Asynchronous Data Copies using the Tensor Memory Accelerator",
        family: "reduce14",
        coverage: Coverage::GridStride(Step::Tile(TILE_BYTES as u64)),
        // A tile and its barrier for each stage.
        shared: Shared::AndPerWarp(STAGES * (TILE_BYTES + 8)),
        // All of them resident, as six are at most.
        blocks_per_multiprocessor: 4,
        capability: (9, 0),
        ..ABOVE
    },
    Facts {
        variant: Variant::AtomicBlock,
        label: "atomic",
        name: "atomic-block",
        sentence: "One launch: each block combines its value with the result by one atomic operation.",
        family: "atomic",
        results: Results::Atomic,
        operands: Operands::Atomic,
        ..ABOVE
    },
    Facts {
        variant: Variant::AtomicWarp,
        label: "atomic-warp",
        name: "atomic-warp",
        sentence: "One launch: each warp combines its value with the result by one atomic operation, without shared memory.",
        family: "atomicwarp",
        shared: Shared::None,
        results: Results::Atomic,
        operands: Operands::Atomic,
        ..ABOVE
    },
];

impl Variant {
    /// All rungs, from the ground up.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|facts| facts.variant)
    }

    /// Its row in the table.
    pub const fn facts(self) -> &'static Facts {
        // The table is in the order of the enumeration; a test holds it there.
        &TABLE[self as usize]
    }

    /// Whether there is a kernel for the operation and the type.
    pub const fn allows(self, op: Op, element: ElementType) -> bool {
        self.facts().operands.allow(op, element)
    }

    /// The parameters of its kernels, in order.
    pub const fn parameters(self) -> &'static [Parameter] {
        use Parameter::{Count, Counter, Input, Output, Partials};
        match self.facts().results {
            Results::Combined => &[Input, Output, Count, Partials, Counter],
            Results::Partials | Results::Atomic => &[Input, Output, Count],
        }
    }

    /// The name of its kernel for an operation, a type and a block size.
    ///
    /// ```
    /// use warpfold_lab::{element::ElementType, op::Op, variant::Variant};
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
#[error("unknown variant '{0}': it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints")]
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
            assert!(facts.default_block.is_power_of_two() && facts.blocks.range().contains(&facts.default_block));
        }
    }
}
