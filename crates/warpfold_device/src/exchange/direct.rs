//! The skeleton of kernels that combine the raw results of all ranks where these lie, instead of
//! passing them through mailboxes. They are for many results, because a word of a mailbox has as
//! many bits of tag as of value.
//!
//! All ranks cut the results into the same tiles, and block `t` of each rank works on tile `t`. The
//! blocks of a tile *meet* three times, which means that no block goes on before the blocks of all
//! ranks have come:
//!
//! 1. They meet when the raw results of the tile are there. Then each rank combines a part of the
//!    tile: it reads the raw results of all ranks, and writes the combined ones over its own.
//! 2. They meet when all parts are combined. Then each rank copies all parts to its output.
//! 3. They meet when all parts are copied, because the next launch of a rank may write raw results.
//!
//! So each result is combined on one rank only, and `ranks - 1` of `ranks` parts of all results
//! come to a rank in each of the two steps, which no other order makes less (Patarasuk and Yuan,
//! "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
//!
//! *Meeting.* A word of a mailbox is the number of the last call in which a rank has come to a
//! meeting. The word of a meeting is written again only in the next call, and a rank begins the
//! next call only after the third meeting of this one, when all have read the words of the first
//! two. Each rank also reads the word of the third meeting before it can come to the first one of
//! the next call, without which nobody comes to its third. Fences of the system on both sides make
//! the results visible that were written before (PTX ISA, "Memory Consistency Model").
//!
//! *Forward progress* and *time limit* are as [in the other exchange](super#), because a block
//! waits only for blocks of the same number. A launch that fails may have written some of its
//! results.
//!
//! If something else has gathered the raw results of all ranks in the memory of one, nobody waits:
//! the rank combines all results and writes them to its output.
//!
//! # The launch's contract
//!
//! - The first `ranks` of `raws` are the raw results of the ranks: `results` of them each, at least
//!   one, which the kernel may overwrite. Bit `r` of `present` is set if rank `r` has results.
//!   `output` has space for as many, and for each rank `bases` is the number of elements of all
//!   lower ranks, by which indices are moved.
//! - There are `ranks` ranks, at least 1 and at most [`MOST_RANKS`], and this is `rank`. The first
//!   `ranks` mailboxes are those of the ranks. Each is aligned to 8 bytes, has [`words`] words, was
//!   zeroed before the first call, and is used by these kernels alone. Or all mailboxes are null,
//!   and all raw results are in memory that only this rank uses.
//! - The grid has a block for each [`per_tile`] results, rounded up, of at least [`MOST_RANKS`]
//!   threads along x. The dynamic shared memory has 4 bytes. All of it is the same on all ranks.
//! - All ranks make the same calls in the same order, with the same `results`, `ranks` and
//!   `present`; a rank's calls do not overlap.
//! - `limit` and the first word of a mailbox are as [in the other exchange](super#).

use super::{Exchanged, MOST_RANKS, Mailboxes, Ranks, next, wait};
use crate::unroll::each;
use cuda_std::ext::{atomic, control, grid};
use cuda_std::{shared, thread};

/// How often the blocks of a tile meet.
const MEETINGS: u32 = 3;

/// How many results a tile has, if a block of the other exchange has `per_block`. A tile is large
/// enough that meetings take little of its time.
#[must_use]
pub const fn per_tile(per_block: u32) -> u32 {
    if per_block == 1 { 1 } else { 8 * per_block }
}

/// How many words of 64 bits the blocks of one number need in a mailbox: the number of their last
/// call, and a word for each meeting and rank.
const fn words_of_tile(ranks: u32) -> usize {
    1 + (MEETINGS * ranks) as usize
}

/// How many words of 64 bits a mailbox has, for this number of tiles.
///
/// ```
/// assert_eq!(warpfold_device::exchange::direct::words(1, 2), 1 + 1 + 3 * 2);
/// ```
#[must_use]
pub const fn words(tiles: u32, ranks: u32) -> usize {
    1 + tiles as usize * words_of_tile(ranks)
}

/// One call of a rank.
pub struct Call<Raw> {
    /// The raw results of the ranks.
    pub raws: [*mut Raw; MOST_RANKS],
    /// For each rank, the number of elements of all lower ranks.
    pub bases: [u64; MOST_RANKS],
    /// Where the results of all ranks together go.
    pub output: *mut Raw,
    /// The number of results.
    pub results: u32,
    /// This rank.
    pub rank: u32,
    /// All ranks.
    pub ranks: Ranks,
    /// How long a block waits, in nanoseconds.
    pub limit: u64,
    /// The mailboxes of the ranks.
    pub mailboxes: Mailboxes,
}

/// Combines the raw results of all ranks. This is the whole body of a kernel that
/// [`direct!`](crate::direct!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn direct<E: Exchanged>(call: &Call<E::Raw>) {
    grid::launch_dependents();
    let &Call { rank, ranks, mailboxes, .. } = call;
    let per_tile = const { per_tile(E::PER_BLOCK) };
    let (block, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    let first = block * per_tile;
    let results = (call.results - first).min(per_tile);
    let is_gathered = mailboxes.of(rank).is_null();
    let raws = |rank: u32| select(call.raws, rank).wrapping_add(first as usize);
    let output = call.output.wrapping_add(first as usize);
    // The part of the tile that a rank combines ends where that of the next one begins.
    let parts = ranks.count.max(1);
    let begin = |rank: u32| results * rank / parts;

    let failed = shared::dynamic_shared_mem::<u32>();
    let own = mailboxes.of(rank);
    let of_tile = 1 + block as usize * words_of_tile(ranks.count);
    // SAFETY: the ranks write results of different parts, and a meeting or a barrier separates
    // writes from the reads of others. The rest is the launch's contract.
    unsafe {
        grid::wait_for_dependencies();
        if E::HAS_INDEX {
            let mut of = 0;
            while of < ranks.count {
                control::keep_rolled();
                let is_moved = (is_gathered || of == rank) && ranks.has(of);
                let mut result = if is_moved { tid } else { results };
                while result < results {
                    control::keep_rolled();
                    let raw = raws(of).wrapping_add(result as usize);
                    E::move_index(raw, select(call.bases, of));
                    result += thread::block_dim_x();
                }
                of += 1;
            }
        }
        if is_gathered {
            if E::HAS_INDEX {
                thread::sync_threads();
            }
            let raw = |rank, result| raws(rank).wrapping_add(result as usize).cast_const();
            E::combine(raw, ranks, results, output);
            return;
        }

        if tid == 0 {
            *failed = 0;
        }
        let count = next(atomic::load_relaxed(own.add(of_tile)) as u32);
        let tile = Tile { rank, ranks: ranks.count, of_tile, mailboxes, count, failed };
        if !tile.meet(0, call.limit) {
            return;
        }
        let (from, to) = (begin(rank), begin(rank + 1));
        if from < to {
            let raw = |rank, result| raws(rank).wrapping_add((from + result) as usize).cast_const();
            E::combine(raw, ranks, to - from, raws(rank).wrapping_add(from as usize));
        }
        if !tile.meet(1, call.limit) {
            return;
        }
        let mut of = 0;
        while of < ranks.count {
            control::keep_rolled();
            let (mut result, end) = (begin(of) + tid, begin(of + 1));
            while result < end {
                control::keep_rolled();
                let combined = raws(of).wrapping_add(result as usize).read();
                output.wrapping_add(result as usize).write(combined);
                result += thread::block_dim_x();
            }
            of += 1;
        }
        if tile.meet(2, call.limit) && tid == 0 {
            atomic::store_relaxed(own.add(of_tile), count.into());
        }
    }
}

/// What the blocks of a tile need to meet.
#[derive(Clone, Copy)]
struct Tile {
    rank: u32,
    ranks: u32,
    /// Where the words of the tile begin in a mailbox.
    of_tile: usize,
    mailboxes: Mailboxes,
    /// The number of the call.
    count: u32,
    /// The note in shared memory whether a rank did not come.
    failed: *mut u32,
}

impl Tile {
    /// Waits until the blocks of all ranks have come to this meeting. Returns false if one did not
    /// come, in this call or an earlier one.
    ///
    /// # Safety
    /// All threads of the block call this together, and the launch keeps [its
    /// contract](self#the-launchs-contract).
    #[inline(always)]
    unsafe fn meet(self, meeting: u32, limit: u64) -> bool {
        let Self { rank, ranks, of_tile, mailboxes, count, failed } = self;
        let (own, peer) = (mailboxes.of(rank), thread::thread_idx_x());
        let word = |mailbox: *mut u64, of: u32| {
            mailbox.wrapping_add(of_tile + (1 + meeting * ranks + of) as usize)
        };
        thread::sync_threads();
        if peer < ranks && peer != rank {
            thread::system_fence();
            // SAFETY: the words are in mailboxes, and threads that write the note write the same.
            unsafe {
                if atomic::load_relaxed_system(own) != 0 {
                    *failed = 1;
                } else {
                    let tag = u64::from(count) << 32;
                    atomic::store_relaxed_system(word(mailboxes.of(peer), rank), tag);
                    let (_, came) = wait(word(own, peer), count, limit);
                    if !came {
                        atomic::store_relaxed_system(own, u64::from(peer) + 1);
                        *failed = 1;
                    }
                }
            }
            thread::system_fence();
        }
        thread::sync_threads();
        // SAFETY: barriers separate this from all writes.
        unsafe { *failed == 0 }
    }
}

/// Element number `number` of a list in registers.
#[inline(always)]
fn select<T: Copy>(list: [T; MOST_RANKS], number: u32) -> T {
    let mut found = list[0];
    each(MOST_RANKS, |i| found = if i as u32 == number { list[i] } else { found });
    found
}
