//! The counts of all blocks, in global memory.
//!
//! Atomic additions to the same sector of memory wait for each other. If all blocks added to the
//! same few words, the last of them would wait for all others. So there are several shards. Each
//! shard has a place for every bin, and the number of a block picks its shard. The last block of
//! the grid adds the shards up, and clears them.

use crate::item::Pack;
use crate::unroll::each;
use cuda_std::ext::{atomic, control, streaming};
use cuda_std::thread;

/// 64-bit words before the first shard. They are a line of memory, of which the first word counts
/// blocks, so that this word waits for no shard.
pub const SHARDS_AT: u32 = 16;

/// How many shards a thread of the last block reads at once.
const LOADS: usize = 8;

/// The shards, and the word that counts blocks.
#[derive(Clone, Copy)]
pub(super) struct Shards {
    /// The word that counts blocks. The first shard is [`SHARDS_AT`] words behind it.
    pub(super) words: *mut u64,
    /// 64-bit words of a shard, an even number.
    pub(super) length: u32,
    /// The number of shards, a power of two.
    pub(super) count: u32,
}

impl Shards {
    /// The first word of a shard.
    #[inline(always)]
    pub(super) fn at(self, shard: u32) -> *mut u64 {
        self.words.wrapping_add(SHARDS_AT as usize + shard as usize * self.length as usize)
    }

    /// The first word of the shard to which this block adds its counts.
    #[inline(always)]
    pub(super) fn own(self) -> *mut u64 {
        self.at(thread::block_idx_x() & (self.count - 1))
    }

    /// Notes that this block has added its counts, and tells whether all blocks have.
    ///
    /// # Safety
    /// The whole block calls this once, behind its last addition. `is_last` is a word of shared
    /// memory, which nobody uses any more.
    #[inline(always)]
    pub(super) unsafe fn are_complete(self, is_last: *mut u32) -> bool {
        let blocks = thread::grid_dim_x() * thread::grid_dim_y();
        // SAFETY: before the last block, only atomics use the words. The barrier and the fence
        // bring the additions of the block before its arrival, and the second fence and barrier
        // bring those of all blocks before the reads of the last one.
        unsafe {
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                thread::device_fence();
                *is_last = u32::from(atomic::add(self.words, 1) == u64::from(blocks) - 1);
                thread::device_fence();
            }
            thread::sync_threads();
            *is_last != 0
        }
    }

    /// Adds the shards up and clears them, and clears the word that counts blocks. `split` makes
    /// counts of two neighbouring words, and `write` receives for each such pair its number and the
    /// sums.
    ///
    /// # Safety
    /// The whole block calls this, which has so many threads. No other block uses the words.
    #[inline(always)]
    pub(super) unsafe fn sum<const N: usize>(
        self,
        threads: u32,
        split: impl Fn(Pack) -> [u64; N],
        write: impl Fn(u32, [u64; N]),
    ) {
        let tid = thread::thread_idx_x();
        let mut pair = tid;
        // SAFETY: the caller's contract. Each pair of words belongs to one thread.
        unsafe {
            while pair < self.length / 2 {
                control::keep_rolled();
                let at = |shard: u32| self.at(shard).wrapping_add(2 * pair as usize);
                let mut sums = [0; N];
                let mut shard = 0;
                while shard < self.count {
                    control::keep_rolled();
                    let mut loaded = [[0; 4]; LOADS];
                    each(LOADS, |i| {
                        let shard = shard + i as u32;
                        let source = at(shard).cast::<Pack>();
                        loaded[i] = streaming::load_unhinted_pack_if(source, shard < self.count);
                    });
                    each(LOADS, |i| {
                        let counts = split(loaded[i]);
                        let is_there = shard + (i as u32) < self.count;
                        each(N, |k| sums[k] += if is_there { counts[k] } else { 0 });
                    });
                    shard += LOADS as u32;
                }
                let mut shard = 0;
                while shard < self.count {
                    control::keep_rolled();
                    atomic::store_relaxed_pair(at(shard), [0; 2]);
                    shard += 1;
                }
                write(pair, sums);
                pair += threads;
            }
            if tid == 0 {
                atomic::store_relaxed(self.words, 0);
            }
        }
    }
}
