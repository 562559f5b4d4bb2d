//! The skeletons of kernels that reduce values into bins: one result for each key from 0 up to a
//! small number of bins.
//!
//! *Reductions.* A kernel of [`bins!`](crate::bins!) makes result number `b` of all values whose
//! key is `b`. It has two stages, which are two launches.
//!
//! - In the first stage ([`reduce()`]) each warp takes a share of neighbouring elements, and has
//!   bins of its own in shared memory. In each step it takes 32 elements, one a lane. The lanes
//!   whose keys are equal find each other, combine their elements in a tree, and the lowest of them
//!   adds the result to the bin (`group.rs`). At the end the block combines the bins of its warps,
//!   in order, and leaves a partial result of each bin in memory.
//! - In the second stage ([`combine()`]) the partial results of all blocks are combined, in order.
//!   If the first stage has one block, it writes the results itself, and there is no second stage.
//!
//! *Counts.* A kernel of [`bin_counts!`](crate::bin_counts!) counts the keys ([`counts()`]). The
//! order of additions of integers does not matter, so threads add by atomics. Keys of one byte have
//! a skeleton of their own (`bytes.rs`). Blocks add their counts to several shards in memory, which
//! the last block adds up (`shards.rs`).
//!
//! *Ranges.* If the bins do not fit into shared memory, each range of bins has blocks of its own,
//! which all read the whole input.
//!
//! *Order.* Elements of a bin are combined in the order in which they stand: those of a step in a
//! tree over the lanes that have them, in which neighbours meet first; then one step after the
//! other, from the identity on; then warps, and at last blocks. So the bits depend on the elements
//! of the bin, where they stand among all elements, the share of a warp, and the shape of the
//! launch. They do not depend on the addresses.
//!
//! *Wrong keys.* A key that is no bin is added to none. The position of the first one is left in
//! the status.
//!
//! # The launch's contract
//!
//! A kernel of [`bins!`](crate::bins!) takes the fields of [`Problem`] one by one, and then the
//! stage. There is at least one bin.
//!
//! - In the first stage the grid has a block for each chunk along x, and one for each range of bins
//!   along y. The block has whole warps, and [`range`](Problem::range) accumulators of shared
//!   memory for each warp. The shares of all warps along x together are `n` elements or more.
//! - In the second stage the grid has a block for each [`COLUMNS`] bins. The block has
//!   [`COLUMNS`] times [`SLICES`] threads, and an accumulator of shared memory for each thread.
//! - `output` has a place for each bin. `partials` has a 32-bit word for each chunk, each bin and
//!   each word of an accumulator. All are 0 before the first stage, and 0 again after the second.
//!   If there is one chunk, they are not used.
//! - The status is 0 before.
//!
//! A kernel of [`bin_counts!`](crate::bin_counts!) takes the fields of [`Counting`] one by one.
//!
//! - The grid has a block for each chunk along x, and one for each range of bins along y. The block
//!   has [`THREADS`] threads, and `copies * range` 32-bit words of shared memory. `chunk` is the
//!   number of packs of a block, and fewer than 2^32 keys.
//! - If a key has one byte, the block has [`BYTE_THREADS`] threads, of which those of each of
//!   [`BYTE_COLUMNS`] columns take fewer than 2^16 - 1 keys in packs. There is one range, and no
//!   dynamic shared memory.
//! - `words` is aligned to 16 bytes. It has [`SHARDS_AT`] 64-bit words, and then `shards` shards, a
//!   power of two. A shard has a word for each bin, rounded up to an even number. All words are 0
//!   before the launch, and 0 again after it. If there is one chunk, they are not used. Block `x`
//!   adds to shard `x` modulo `shards`.
//! - If a key has one byte, a shard has 128 words. Each of them holds the counts of two keys, so
//!   all blocks of a shard together have fewer than 2^32 keys.

mod bytes;
mod combine;
mod counts;
mod group;
mod keys;
mod reduce;
mod shards;

pub use bytes::{BYTE_COLUMNS, BYTE_THREADS};
pub use combine::{COLUMNS, SLICES, combine};
pub use counts::{Counting, THREADS, counts};
pub use keys::Count;
pub use reduce::{LOADS, reduce};
pub use shards::SHARDS_AT;

use cuda_std::ext::atomic;

/// A launch that reduces values into bins.
pub struct Problem<T, Raw> {
    /// The first key.
    pub keys: *const u8,
    /// 2 to this number are the bytes of a key: 1, 2, 4 or 8.
    pub log: u32,
    /// The first value.
    pub values: *const T,
    /// The number of keys, and of values.
    pub n: u64,
    /// Elements of a warp, a multiple of 32 times [`LOADS`].
    pub share: u64,
    /// The number of bins.
    pub bins: u32,
    /// Bins of a block.
    pub range: u32,
    /// The number of chunks.
    pub chunks: u32,
    /// The result of each bin.
    pub output: *mut Raw,
    /// The words of partial results.
    pub partials: *mut u32,
    /// 0, or the bits of the position of a wrong key, inverted. If several keys are wrong, it is
    /// the first one.
    pub status: *mut u64,
}

impl<T, Raw> Problem<T, Raw> {
    /// Where word number `word` of a partial result is.
    #[inline(always)]
    fn partial(&self, word: usize, chunk: u32, bin: u32) -> *mut u32 {
        let row = word * self.chunks as usize + chunk as usize;
        self.partials.wrapping_add(row * self.bins as usize + bin as usize)
    }
}

/// Notes that the key at `position` is no bin.
///
/// # Safety
/// The launch has a status.
#[inline(always)]
unsafe fn report(status: *mut u64, position: u64) {
    // SAFETY: the caller's contract.
    unsafe { atomic::max(status, !position) };
}
