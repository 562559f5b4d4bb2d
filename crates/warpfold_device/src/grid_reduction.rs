//! Combines the accumulators of a grid into one result, in one launch, without a fence and without
//! a memset.
//!
//! *Forward progress.* In [`Polled`] only the last block waits, for blocks of lower numbers, and
//! those wait for no block. So the launch ends if the lower blocks get to run. They do if blocks
//! start in the order of their numbers, as on all devices so far, or if two blocks are resident at
//! a time. In [`Ticket`] no block waits.

use crate::block::block_reduce;
use crate::op::sum::Wrapping;
use crate::source::One;
use crate::unroll::{each, tree};
use crate::warp::WARP;
use crate::words::{LONGEST, Words};
use crate::{Position, Reduction};
use cuda_std::ext::{atomic, control, target};
use cuda_std::thread;

/// A way to combine the accumulators of all threads of a grid into one result.
pub trait GridReduction<R: Reduction> {
    /// Where the result goes.
    type Output;

    /// Passes the result of the grid to `output`. `by_block` is passed on to [`Reduction::redux`]
    /// where accumulators of several blocks are combined, and `index` and `source` to
    /// [`Reduction::write`].
    ///
    /// # Safety
    /// The launch keeps [its contract](crate#the-launchs-contract). All threads of the grid call
    /// this, once.
    unsafe fn reduce(
        acc: R::Acc,
        output: Self::Output,
        slots: *mut u64,
        by_block: bool,
        index: impl Fn(Position) -> u64,
        source: R::Source,
    );
}

/// Each block writes its accumulator as 64-bit words, each of which holds 32 or 48 bits of value
/// and a tag above them. The last block, which has the highest number, reads these words until all
/// have their tags, and sets them back to 0.
///
/// Relaxed accesses are enough, because value and tag are one 64-bit access: a thread that sees the
/// tag also has the value, and the tag need not order any other memory. (PTX ISA, "Memory
/// Consistency Model": an access of a vector is one access for each of its words.) A sum of floats
/// is always the same, because the words are combined in a fixed order.
pub struct Polled;

/// The tag of a word that a block has written.
const TAG: u64 = 1 << 48;

/// The most slots that a thread reads before it looks at the first one. Five are enough for 160
/// blocks, which is more than the 132 multiprocessors of an H100 or H200 (bench/NOTEBOOK.md,
/// attempt 36: six or eight before).
const MOST_SLOTS: usize = 5;

/// How many slots a thread reads before it looks at the first one. One warp then reads the slots of
/// 160 blocks, as far as there are registers for their addresses and words. Devices before sm_90
/// read one slot at a time, because that keeps their code short.
#[inline(always)]
fn group<A: Words>() -> usize {
    match slot_words::<A>() {
        _ if target::arch() < 900 => 1,
        1 | 2 => MOST_SLOTS,
        3 | 4 => 4,
        _ => 2,
    }
}

/// How many 64-bit words one slot takes. Each holds 32 bits of the accumulator and a tag. If the
/// accumulator has an odd number of 32-bit words, the last word is split: its two halves travel in
/// the spare bits of the first two slot words, because that saves one access.
#[inline(always)]
fn slot_words<A: Words>() -> usize {
    if has_halves::<A>() { A::IN_SLOT - 1 } else { A::IN_SLOT }
}

/// Whether the last word of an accumulator is split into two halves.
#[inline(always)]
fn has_halves<A: Words>() -> bool {
    A::IN_SLOT > 1 && !A::IN_SLOT.is_multiple_of(2)
}

impl<R: Reduction> GridReduction<R> for Polled {
    type Output = *mut R::Raw;

    #[inline(always)]
    unsafe fn reduce(
        acc: R::Acc,
        output: *mut R::Raw,
        slots: *mut u64,
        by_block: bool,
        index: impl Fn(Position) -> u64,
        source: R::Source,
    ) {
        let tid = thread::thread_idx_x();
        let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
        let slot = |block: u32| slots.wrapping_add(block as usize * slot_words::<R::Acc>());
        let mut warps = thread::block_dim_x() / WARP;
        let mut acc = acc;
        let mut own = R::identity();
        let mut has_polled = false;
        // SAFETY: a block writes the words of its own slot, and the last block reads them; only the
        // last block writes the output. All threads of a block take the same branches, except the
        // branches on `tid`. The lanes of a warp leave together.
        unsafe {
            // All blocks go through this loop once for their own accumulators, and the last block
            // goes through it once more for those of the other blocks. It is a loop so that both
            // passes share one copy of the code.
            loop {
                control::no_unroll();
                acc = block_reduce::<R>(acc, warps, by_block && has_polled);
                if has_polled || last == 0 {
                    break;
                }
                if block < last {
                    if tid == 0 {
                        write::<R::Acc>(slot(block), tagged(acc));
                    }
                    return;
                }
                own = acc;
                // A single warp needs no barrier. So if one warp can read all slots at once, it
                // does the rest alone.
                if last <= WARP * group::<R::Acc>() as u32 {
                    warps = 1;
                    if tid >= WARP {
                        return;
                    }
                } else {
                    thread::sync_threads();
                }
                acc = poll::<R>(slot, last, warps * WARP);
                has_polled = true;
            }
            if tid == 0 {
                R::write(R::append(acc, own), output, 0, index, source, slots);
            }
        }
    }
}

/// The words of a slot that holds this accumulator.
#[inline(always)]
fn tagged<A: Words>(acc: A) -> [u64; LONGEST] {
    let words = acc.to_words().map(u64::from);
    let mut slot = words.map(|word| TAG | word);
    if has_halves::<A>() {
        let last = words[A::IN_SLOT - 1];
        slot[0] |= (last & 0xffff) << 32;
        slot[1] |= (last >> 16) << 32;
    }
    slot
}

/// The accumulator that `block` has left in its slot.
#[inline(always)]
fn untagged<A: Words>(slot: [u64; LONGEST], block: u32) -> A {
    let half = |i: usize| (slot[i] >> 32) as u32 & 0xffff;
    let word = |i| {
        if has_halves::<A>() && i == A::IN_SLOT - 1 {
            half(1) << 16 | half(0)
        } else {
            slot[i] as u32
        }
    };
    A::from_slot(&word, block)
}

/// Combines this thread's share of the accumulators of the blocks below `last`. The number of
/// threads that share them is `threads`. The function waits until the blocks have written the
/// words, and then sets the words to 0.
///
/// # Safety
/// Each of these slots has the words that [`read`] reads, and some block will write them.
#[inline(always)]
unsafe fn poll<R: Reduction>(slot: impl Fn(u32) -> *mut u64, last: u32, threads: u32) -> R::Acc {
    let group = group::<R::Acc>();
    let mut acc = R::identity();
    let mut first = thread::thread_idx_x();
    while first < last {
        control::no_unroll();
        let is_there = |i: usize| first + (i as u32 * threads) < last;
        // If no more slots are left, the thread reads its first one again.
        let other = |i: usize| if is_there(i) { first + i as u32 * threads } else { first };
        let place = |i: usize| slot(other(i));
        let mut words = [[0; LONGEST]; MOST_SLOTS];
        // SAFETY: the slots are those of blocks below `last`.
        unsafe {
            loop {
                control::no_unroll();
                each(group, |i| words[i] = read::<R::Acc>(place(i)));
                let mut tags = TAG;
                each(group, |i| each(slot_words::<R::Acc>(), |word| tags &= words[i][word]));
                if tags != 0 {
                    break;
                }
            }
            each(group, |i| write::<R::Acc>(place(i), [0; LONGEST]));
        }
        let found = |i: usize| {
            if i < group && (R::IS_IDEMPOTENT || is_there(i)) {
                untagged(words[i], other(i))
            } else {
                R::identity()
            }
        };
        acc = R::append(acc, tree(group.next_power_of_two(), found, R::append));
        first += group as u32 * threads;
    }
    acc
}

/// Reads a slot. If the number of its words is even, each pair of words is aligned to 16 bytes and
/// is read by one access.
///
/// # Safety
/// `slot` has the words of an accumulator `A`, and only atomics use them meanwhile.
#[inline(always)]
unsafe fn read<A: Words>(slot: *const u64) -> [u64; LONGEST] {
    let mut words = [0; LONGEST];
    // SAFETY: the caller's slot has these words.
    unsafe {
        if slot_words::<A>().is_multiple_of(2) {
            each(slot_words::<A>() / 2, |i| {
                [words[2 * i], words[2 * i + 1]] = atomic::load_relaxed_pair(slot.add(2 * i));
            });
        } else {
            each(slot_words::<A>(), |i| words[i] = atomic::load_relaxed(slot.add(i)));
        }
    }
    words
}

/// Writes a slot.
///
/// # Safety
/// Those of [`read`].
#[inline(always)]
unsafe fn write<A: Words>(slot: *mut u64, words: [u64; LONGEST]) {
    // SAFETY: the caller's slot has these words.
    unsafe {
        if slot_words::<A>().is_multiple_of(2) {
            each(slot_words::<A>() / 2, |i| {
                atomic::store_relaxed_pair(slot.add(2 * i), [words[2 * i], words[2 * i + 1]]);
            });
        } else {
            each(slot_words::<A>(), |i| atomic::store_relaxed(slot.add(i), words[i]));
        }
    }
}

/// All blocks share one 64-bit word in `slots`. Each adds 1 to the lower half, which counts the
/// blocks, and its sum to the upper half. The block that comes last has the total and sets the word
/// to 0. Only the sum of 32-bit integers is combined in this way, because it fits into half a word
/// and wraps as the word does.
pub struct Ticket;

impl GridReduction<Wrapping> for Ticket {
    type Output = *mut u32;

    #[inline(always)]
    unsafe fn reduce(
        acc: u32,
        output: *mut u32,
        slots: *mut u64,
        _by_block: bool,
        _index: impl Fn(Position) -> u64,
        _source: One<u32>,
    ) {
        // SAFETY: only atomics use the word until the last of them is done, and one thread writes
        // the output.
        unsafe {
            let sum = block_reduce::<Wrapping>(acc, thread::block_dim_x() / WARP, false);
            if thread::thread_idx_x() > 0 {
                return;
            }
            let others = thread::grid_dim_x() - 1;
            if others == 0 {
                output.write(sum);
                return;
            }
            let before = atomic::add(slots, u64::from(sum) << 32 | 1);
            if before as u32 == others {
                output.write(sum.wrapping_add((before >> 32) as u32));
                atomic::store_relaxed(slots, 0);
            }
        }
    }
}
