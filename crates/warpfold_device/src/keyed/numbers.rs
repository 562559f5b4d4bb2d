//! Which block takes which tile, and the number of runs before a tile.
//!
//! *Tickets.* A block takes the next tile by a counter, so a block that waits for the numbers of
//! lower tiles waits for blocks that run. It asks for the next tile before it needs it.
//!
//! *Numbers.* A block tells the number of its tile's runs as soon as it has the keys, and waits for
//! nobody before that. It looks one tile later for the numbers of all tiles between its last tile
//! and this one, and adds them to what it had. So no block waits for a sum that another block has
//! to make first, and what it looks for is there in most cases. Four tiles share a word, because
//! all blocks read all words.
//!
//! Relaxed accesses are enough, because number and tag are one 64-bit access. Each word is read by
//! a block that waits for it, before the last group of tiles is closed (`open.rs`). So all words
//! have arrived when they are cleared.

use super::{THREADS, WARPS};
use crate::op::sum::Wrapping;
use crate::unroll::each;
use crate::warp::{WARP, warp_reduce};
use cuda_std::ext::{atomic, control};
use cuda_std::thread;

/// Bits of the number of a tile, and its tag.
const BITS: u32 = 16;

/// The tag of a number.
const TAG: u64 = 1 << (BITS - 1);

/// How many tiles share a word.
const OF_WORD: u32 = u64::BITS / BITS;

/// 1 in each number of a word.
const ONES: u64 = u64::MAX / ((1 << BITS) - 1);

/// The workspace of a launch for so many tiles.
#[derive(Clone, Copy)]
pub(super) struct Workspace {
    pub words: *mut u64,
    pub tiles: u32,
}

impl Workspace {
    /// How many 64-bit words it has, if accumulators have so many words: one for counters, the
    /// numbers of the tiles, and a record of each group and of each tile.
    pub(super) const fn words(tiles: u32, acc_words: usize) -> usize {
        let groups = tiles.div_ceil(THREADS) as usize;
        1 + tiles.div_ceil(OF_WORD) as usize
            + groups * (1 + acc_words)
            + tiles as usize * (1 + 2 * acc_words)
    }

    /// The number of groups of tiles.
    #[inline(always)]
    pub(super) fn groups(self) -> u32 {
        self.tiles.div_ceil(THREADS)
    }

    /// The word of a tile's number.
    #[inline(always)]
    fn word_of(self, tile: u32) -> *mut u64 {
        self.words.wrapping_add(1 + (tile / OF_WORD) as usize)
    }

    /// The first word behind the numbers.
    #[inline(always)]
    pub(super) fn records(self) -> *mut u64 {
        self.words.wrapping_add(1 + self.tiles.div_ceil(OF_WORD) as usize)
    }

    /// Tiles, and behind them groups, of which each block takes one after the other.
    #[inline(always)]
    fn jobs(self) -> u32 {
        self.tiles + self.groups()
    }

    /// Whether there is a block for each job, which then needs no counter.
    #[inline(always)]
    fn has_block_for_each(self) -> bool {
        thread::grid_dim_x() >= self.jobs()
    }

    /// The first job of this block.
    ///
    /// # Safety
    /// All threads of the block call this, and `shared` is a place in shared memory.
    #[inline(always)]
    pub(super) unsafe fn first_ticket(self, shared: *mut u32) -> u32 {
        if self.has_block_for_each() {
            return thread::block_idx_x();
        }
        // SAFETY: the caller's contract.
        unsafe { self.next_ticket(shared) }
    }

    /// The next job of this block.
    ///
    /// # Safety
    /// That of [`first_ticket`](Self::first_ticket).
    #[inline(always)]
    pub(super) unsafe fn next_ticket(self, shared: *mut u32) -> u32 {
        // SAFETY: the caller's contract. The first barrier is behind the last read of the place.
        unsafe {
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                *shared = self.ticket();
            }
            thread::sync_threads();
            *shared
        }
    }

    /// The next job, for one thread of the block. A block asks until there is no job for it, so the
    /// counter is 0 after the last answer.
    ///
    /// # Safety
    /// The workspace is that of this launch.
    #[inline(always)]
    pub(super) unsafe fn ticket(self) -> u32 {
        if self.has_block_for_each() {
            return u32::MAX;
        }
        let last = self.jobs() + thread::grid_dim_x() - 1;
        // SAFETY: the caller's contract.
        unsafe { atomic::inc(self.words.cast(), last) }
    }

    /// Counts one more closed group, for one thread of the block, and tells whether it is the last.
    ///
    /// # Safety
    /// The workspace is that of this launch.
    #[inline(always)]
    pub(super) unsafe fn is_last_group(self) -> bool {
        let last = self.groups() - 1;
        // SAFETY: the caller's contract.
        unsafe { atomic::inc(self.words.cast::<u32>().wrapping_add(1), last) == last }
    }

    /// Tells the number of a tile's runs.
    ///
    /// # Safety
    /// One thread calls this, once for each tile.
    #[inline(always)]
    pub(super) unsafe fn give(self, tile: u32, number: u32) {
        // Nobody looks for the number of the last tile.
        if tile < self.tiles - 1 {
            let number = (TAG | u64::from(number)) << (tile % OF_WORD * BITS);
            // SAFETY: the caller's contract.
            unsafe { atomic::add(self.word_of(tile), number) };
        }
    }

    /// This thread's share of the sum of the numbers of the tiles from `from` up to `until`.
    ///
    /// # Safety
    /// All threads of the block call this. The tiles are lower than one that the block has.
    #[inline(always)]
    pub(super) unsafe fn between(self, from: u32, until: u32) -> u32 {
        let mut sum = 0;
        let mut first = (from / OF_WORD + control::anew_thread_idx_x()) * OF_WORD;
        while first < until {
            control::keep_rolled();
            // The bits of the word that count.
            let mut wanted = u64::MAX;
            if first < from {
                wanted <<= (from - first) * BITS;
            }
            if until - first < OF_WORD {
                wanted &= (1 << ((until - first) * BITS)) - 1;
            }
            let tags = wanted & (ONES * TAG);
            let mut found;
            loop {
                control::keep_rolled();
                // SAFETY: the caller's contract.
                found = unsafe { atomic::load_relaxed(self.word_of(first)) } & wanted;
                if found & tags == tags {
                    break;
                }
            }
            // The sum of four numbers is less than a tag, so it fits into the highest one.
            sum += ((found ^ tags).wrapping_mul(ONES) >> (u64::BITS - BITS)) as u32;
            first += THREADS * OF_WORD;
        }
        sum
    }

    /// Clears the words up to `end`. This is what the last block does.
    ///
    /// # Safety
    /// All threads of the block call this, and nobody uses the words any more.
    #[inline(always)]
    pub(super) unsafe fn clear(self, end: *mut u64) {
        let mut word = self.words.wrapping_add(1 + thread::thread_idx_x() as usize);
        while word < end {
            control::keep_rolled();
            // SAFETY: the caller's contract.
            unsafe { atomic::store_relaxed(word, 0) };
            word = word.wrapping_add(THREADS as usize);
        }
    }
}

/// The sum of the shares of all threads of the block.
///
/// # Safety
/// All threads of the block call this, and `shares` has a place for each warp. A barrier is between
/// two calls.
#[inline(always)]
pub(super) unsafe fn block_sum(share: u32, shares: *mut u32) -> u64 {
    let tid = control::anew_thread_idx_x();
    // SAFETY: the caller's contract.
    unsafe {
        let of_warp = warp_reduce::<Wrapping>(share, WARP, false);
        if tid.is_multiple_of(WARP) {
            *shares.add((tid / WARP) as usize) = of_warp;
        }
        thread::sync_threads();
        let mut sum = 0;
        each(WARPS, |i| sum += *shares.add(i));
        sum.into()
    }
}
