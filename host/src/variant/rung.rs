//! The names of the rungs.

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
