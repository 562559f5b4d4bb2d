//! The names of the rungs.

/// A rung of the ladder. [`Variant::facts`] is its row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// 0: each thread combines a pair in global memory; each level of the tree is one launch.
    Naive,
    /// Each block halves its part of the input in global memory.
    Global,
    /// 1: interleaved addressing with `%`, which makes warps diverge.
    InterleavedModulo,
    /// 2: interleaved addressing by a strided index, which causes bank conflicts.
    InterleavedContiguous,
    /// 3: sequential addressing.
    Sequential,
    /// 4: the first operation happens during the load.
    FirstAdd,
    /// 5: the last warp is unrolled.
    WarpUnrolled,
    /// 6: completely unrolled for a block size known to the compiler.
    CompletelyUnrolled,
    /// 7: each thread takes many elements.
    MultipleElements,
    /// 8: warp shuffles, with one slot of shared memory for each warp.
    Shuffle,
    /// 9: 128-bit loads, four of them in flight.
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
    /// One atomic operation for each block.
    AtomicBlock,
    /// One atomic operation for each warp.
    AtomicWarp,
}
