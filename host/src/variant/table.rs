//! The table with the facts about each rung.

use super::{
    facts::{Coverage, Facts, Operands, RangeBounds, Results, Shared, Step, Together},
    rung::Variant,
};

const UDACITY: &str =
    "Udacity, Intro to Parallel Programming, Reduction Using Global and Shared Memory";
const FILIPOVIC: &str = "J. Filipovič, Optimalizace pro GPU hardware, Součet prvků vektoru";
const LUITJENS: &str = "J. Luitjens, Faster Parallel Reductions on Kepler, NVIDIA, 2014";

/// The compute capability that every rung needs, because it has warp-level instructions that name
/// their lanes.
const BASELINE: (u32, u32) = (7, 0);

/// The bytes of a tile of rung 14, and the number of tiles that a block has under way.
const TILE_BYTES: u32 = 8 << 10;
const STAGES: u32 = 4;

/// The facts that most of the lectures' rungs share.
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
    // 8 blocks of 256 threads fill the 2048 threads that a multiprocessor of sm_80 and sm_90 holds
    // (CUDA C++ Programming Guide, Technical Specifications per Compute Capability).
    blocks_per_multiprocessor: 8,
    capability: BASELINE,
};

/// The facts that the rungs beyond the lectures' share.
const ABOVE: Facts = Facts {
    lecture: LUITJENS,
    blocks: RangeBounds { min: 32, max: 1024 },
    coverage: Coverage::GridStride(Step::Loads(4)),
    shared: Shared::PerWarp,
    shuffles: true,
    ..BASE
};

pub(super) const TABLE: [Facts; 18] = [
    Facts {
        variant: Variant::Naive,
        label: "0",
        name: "naive",
        sentence: "One launch for each level of the tree: every thread combines two neighbours in global memory.",
        family: "reduce0",
        blocks: RangeBounds { min: 1, max: 1024 },
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
        family: "global",
        default_block: 1024,
        shared: Shared::None,
        destroys_input: true,
        ..BASE
    },
    Facts {
        variant: Variant::InterleavedModulo,
        label: "1",
        name: "interleaved-modulo",
        sentence: "Shared memory, interleaved addressing: threads with tid % (2*s) == 0 work, so every warp diverges.",
        nvidia: Some("reduce0"),
        family: "reduce1",
        ..BASE
    },
    Facts {
        variant: Variant::InterleavedContiguous,
        label: "2",
        name: "interleaved-contiguous",
        sentence: "Interleaved addressing by neighbouring threads at index 2*s*tid: no divergence, but bank conflicts.",
        nvidia: Some("reduce1"),
        family: "reduce2",
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
        coverage: Coverage::PerThread(2),
        ..BASE
    },
    Facts {
        variant: Variant::WarpUnrolled,
        label: "5",
        name: "warp-unrolled",
        sentence: "The last warp is unrolled and needs no block-wide barrier any more.",
        nvidia: Some("reduce4"),
        family: "reduce5",
        blocks: RangeBounds { min: 64, max: 1024 },
        coverage: Coverage::PerThread(2),
        ..BASE
    },
    Facts {
        variant: Variant::CompletelyUnrolled,
        label: "6",
        name: "completely-unrolled",
        sentence: "The block size is known to the compiler, which unrolls the whole tree.",
        nvidia: Some("reduce5"),
        family: "reduce6",
        blocks: RangeBounds { min: 64, max: 1024 },
        coverage: Coverage::PerThread(2),
        block_in_name: true,
        ..BASE
    },
    Facts {
        variant: Variant::MultipleElements,
        label: "7",
        name: "multiple-elements",
        sentence: "Each thread strides over the input by the whole grid and combines many elements before the tree.",
        nvidia: Some("reduce6"),
        family: "reduce7",
        blocks: RangeBounds { min: 64, max: 1024 },
        coverage: Coverage::GridStride(Step::Elements(2)),
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
        // Each stage takes a tile and an 8-byte barrier.
        shared: Shared::AndPerWarp(STAGES * (TILE_BYTES + 8)),
        // All four are resident: a multiprocessor holds six at most, because each takes a little
        // more than 32 KiB of shared memory.
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
