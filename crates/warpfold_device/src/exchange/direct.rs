//! The skeleton of kernels that combine the raw results of all ranks where these lie, instead of
//! passing them through mailboxes. They are for many results, because a word of a mailbox has as
//! many bits of tag as of value.
//!
//! All ranks cut the results into the same tiles, and a tile into one part for each rank. The
//! blocks of the same number work on the same tiles, and *meet* twice, which means that no block
//! goes on before those of all ranks have come:
//!
//! 1. They meet when the raw results are there. Then each rank reads its part of each tile of all
//!    ranks, combines these, and writes the combined results over that part of the raw results of
//!    all ranks.
//! 2. They meet when all parts of their tiles are combined. Then each rank has all combined results
//!    of these tiles, and copies them to its output.
//!
//! So each result is combined on one rank only, and `ranks - 1` of `ranks` parts of all results
//! come to a rank in each of two steps, which no other order makes less (Patarasuk and Yuan,
//! "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). The next launch
//! of a rank may write its raw results, because the other ranks use them only between the meetings.
//!
//! *Meeting.* A word of a mailbox is the number of the last call in which a rank has come to a
//! meeting. A rank writes the word of a meeting again in the next call. It has then met all others
//! at the other meeting in between, so that they have read the word before. Fences of the system on
//! both sides make the results visible that were written before (PTX ISA, "Memory Consistency
//! Model").
//!
//! *Forward progress* and *time limit* are as [in the other exchange](super#), because a block
//! waits only for blocks of the same number. A launch that fails may have written some of its
//! results.
//!
//! If something else has gathered the raw results of all ranks in the memory of one, nobody waits:
//! the rank combines all parts and writes them to its output.
//!
//! # The launch's contract
//!
//! - The first `ranks` of `raws` are the raw results of the ranks: `results` of them each, at least
//!   one, aligned to 4 bytes, which the kernel may overwrite. Bit `r` of `present` is set if rank
//!   `r` has results. `output` has space for as many, and for each rank `bases` is the number of
//!   elements of all lower ranks, by which indices are moved.
//! - There are `ranks` ranks, at least 1 and at most [`MOST_RANKS`], and this is `rank`. The first
//!   `ranks` mailboxes are those of the ranks. Each is aligned to 8 bytes, has [`words`] words, was
//!   zeroed before the first call, and is used by these kernels alone. Or all mailboxes are null,
//!   and all raw results are in memory that only this rank uses.
//! - The grid has any number of blocks, for example as many as are resident at once, but not more
//!   than there are tiles of [`per_tile`] results. A block has at least [`MOST_RANKS`] threads
//!   along x, and the dynamic shared memory has [`shared_bytes`]. All of it is the same on all
//!   ranks.
//! - All ranks make the same calls in the same order, with the same `results`, `ranks` and
//!   `present`; a rank's calls do not overlap.
//! - `limit` and the first word of a mailbox are as [in the other exchange](super#).

use super::{
    Exchanged, MOST_RANKS, Mailboxes, Ranks, load, next, select, status_of, wait, words_of,
};
use crate::unroll::each;
use core::sync::atomic::{Ordering, fence};
use cuda_std::ext::{atomic, control, grid};
use cuda_std::{shared, thread};

/// How often blocks of the same number meet.
const MEETINGS: u32 = 2;

/// How many results a tile has, if a block of the other exchange has `per_block`. A block of 256
/// threads can then have a whole tile in flight.
#[must_use]
pub const fn per_tile(per_block: u32) -> u32 {
    if per_block == 1 { 1 } else { 8 * per_block }
}

/// How many words of 64 bits the blocks of one number need in a mailbox: the number of their last
/// call, and a word for each meeting and rank.
const fn words_of_block(ranks: u32) -> usize {
    1 + (MEETINGS * ranks) as usize
}

/// How many words of 64 bits a mailbox has, for this number of blocks.
///
/// ```
/// assert_eq!(warpfold_device::exchange::direct::words(1, 2), 1 + 1 + 2 * 2);
/// ```
#[must_use]
pub const fn words(blocks: u32, ranks: u32) -> usize {
    1 + blocks as usize * words_of_block(ranks)
}

/// How many bytes of shared memory a block needs: a part of a tile of each rank, and a note.
/// `words` is how many words of 32 bits a raw result takes.
#[must_use]
pub const fn shared_bytes(per_tile: u32, words: u32, ranks: u32) -> u32 {
    4 * (ranks * per_tile.div_ceil(ranks) * words + 1)
}

/// How many words of 32 bits a thread asks for before it uses the first.
const IN_FLIGHT: usize = 8;

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
    let words = const { words_of::<E::Raw>() };
    let (block, blocks, tid) =
        (thread::block_idx_x(), thread::grid_dim_x(), thread::thread_idx_x());
    let tiles = call.results.div_ceil(per_tile);
    let is_gathered = mailboxes.of(rank).is_null();
    // Where a tile begins, and how many results it has.
    let of_tile = |tile: u32| {
        let first = tile * per_tile;
        (first as usize, (call.results - first).min(per_tile))
    };
    let raws = |of: u32, first: usize| select(call.raws, of).wrapping_add(first);

    let parts = ranks.count.max(1);
    let per_part = per_tile.div_ceil(parts);
    let staged = shared::dynamic_shared_mem::<u32>();
    let place = |of: u32, word: u32| staged.wrapping_add((of * per_part * words + word) as usize);
    let failed = place(parts, 0);
    let of_block = 1 + block as usize * words_of_block(ranks.count);
    // SAFETY: the ranks write results of different parts, and a meeting or a barrier separates
    // writes from the reads of others. The rest is the launch's contract.
    unsafe {
        grid::wait_for_dependencies();
        let count = if is_gathered {
            0
        } else {
            if tid == 0 {
                *failed = 0;
            }
            next(atomic::load_relaxed(mailboxes.of(rank).add(of_block)) as u32)
        };
        let meetings = Meetings { rank, ranks: ranks.count, of_block, mailboxes, count, failed };
        if !is_gathered && !meetings.meet(0, call.limit) {
            return;
        }

        // Each step is for one part of one tile.
        let (first_part, last_part) = if is_gathered { (0, parts - 1) } else { (rank, rank) };
        let (mut tile, mut part) = (block, first_part);
        while tile < tiles {
            control::keep_rolled();
            let (first, results) = of_tile(tile);
            let from = (part * per_part).min(results);
            let of_part = per_part.min(results - from);
            let of_rank = (of_part * words).max(1);
            let first = first + from as usize;
            copy(
                of_part * words * ranks.count,
                |word, is_there| {
                    let of = word / of_rank;
                    let is_there = is_there && ranks.has(of);
                    load::<E::Raw>(raws(of, first), word % of_rank, is_there)
                },
                |word, value| *place(word / of_rank, word % of_rank) = value,
            );
            thread::sync_threads();
            if E::HAS_INDEX {
                let mut number = tid;
                while number < of_part * ranks.count {
                    control::keep_rolled();
                    let (of, result) = (number / of_part.max(1), number % of_part.max(1));
                    let raw = place(of, result * words).cast();
                    E::move_index(raw, select(call.bases, of));
                    number += thread::block_dim_x();
                }
                thread::sync_threads();
            }
            let raw = |of, result| place(of, result * words).cast_const().cast::<E::Raw>();
            let outputs = |copy: u32| {
                if is_gathered { call.output.wrapping_add(first) } else { raws(copy, first) }
            };
            let copies = if is_gathered { 1 } else { ranks.count };
            if of_part > 0 {
                E::combine(raw, ranks, of_part, outputs, copies);
            }
            // The places are written again in the next step.
            thread::sync_threads();
            (tile, part) =
                if part < last_part { (tile, part + 1) } else { (tile + blocks, first_part) };
        }
        if is_gathered || !meetings.meet(1, call.limit) {
            return;
        }
        let mut tile = block;
        while tile < tiles {
            control::keep_rolled();
            let (first, results) = of_tile(tile);
            let (own, output) = (raws(rank, first).cast_const(), call.output.wrapping_add(first));
            copy(
                results * words,
                |word, is_there| load::<E::Raw>(own, word, is_there),
                |word, value| store::<E::Raw>(output, word, value),
            );
            tile += blocks;
        }
        if tid == 0 {
            atomic::store_relaxed(mailboxes.of(rank).add(of_block), count.into());
        }
    }
}

/// The threads of a block copy `words` words, several at a time. `load` gives a word, or anything
/// if there is none, and `store` takes it.
#[inline(always)]
fn copy(words: u32, load: impl Fn(u32, bool) -> u32, store: impl Fn(u32, u32)) {
    let threads = thread::block_dim_x();
    let mut first = thread::thread_idx_x();
    while first < words {
        control::keep_rolled();
        let mut values = [0; IN_FLIGHT];
        let word = |i: usize| first + i as u32 * threads;
        each(IN_FLIGHT, |i| values[i] = load(word(i), word(i) < words));
        each(IN_FLIGHT, |i| {
            if word(i) < words {
                store(word(i), values[i]);
            }
        });
        first += IN_FLIGHT as u32 * threads;
    }
}

/// Writes word number `word` of the results at `results`. A result of fewer than 32 bits takes a
/// word, too.
///
/// # Safety
/// The word is writable, and only this thread uses it.
#[inline(always)]
unsafe fn store<Raw>(results: *mut Raw, word: u32, value: u32) {
    let word = word as usize;
    // SAFETY: the caller's contract; a result of 1 or 2 bytes is one such integer.
    unsafe {
        match size_of::<Raw>() {
            1 => results.cast::<u8>().wrapping_add(word).write(value as u8),
            2 => results.cast::<u16>().wrapping_add(word).write(value as u16),
            _ => results.cast::<u32>().wrapping_add(word).write(value),
        }
    }
}

/// What the blocks of the same number need to meet.
#[derive(Clone, Copy)]
struct Meetings {
    rank: u32,
    ranks: u32,
    /// Where the words of these blocks begin in a mailbox.
    of_block: usize,
    mailboxes: Mailboxes,
    /// The number of the call.
    count: u32,
    /// The note in shared memory whether a rank did not come.
    failed: *mut u32,
}

impl Meetings {
    /// Waits until the blocks of all ranks have come to this meeting. Returns false if one did not
    /// come, in this call or an earlier one.
    ///
    /// # Safety
    /// All threads of the block call this together, and the launch keeps [its
    /// contract](self#the-launchs-contract).
    #[inline(always)]
    unsafe fn meet(self, meeting: u32, limit: u64) -> bool {
        let Self { rank, ranks, of_block, mailboxes, count, failed } = self;
        let (own, peer) = (mailboxes.of(rank), thread::thread_idx_x());
        let word = |mailbox: *mut u64, of: u32| {
            mailbox.wrapping_add(of_block + (1 + meeting * ranks + of) as usize)
        };
        thread::sync_threads();
        if peer < ranks && peer != rank {
            fence(Ordering::AcqRel);
            // SAFETY: the words are in mailboxes, and threads that write the note write the same.
            unsafe {
                if atomic::load_relaxed_system(own) != 0 {
                    *failed = 1;
                } else {
                    let tag = u64::from(count) << 32;
                    atomic::store_relaxed_system(word(mailboxes.of(peer), rank), tag);
                    let (_, came) = wait(word(own, peer), count, limit);
                    if !came {
                        atomic::store_relaxed_system(own, status_of(peer));
                        *failed = 1;
                    }
                }
            }
            fence(Ordering::AcqRel);
        }
        thread::sync_threads();
        // SAFETY: barriers separate this from all writes.
        unsafe { *failed == 0 }
    }
}
