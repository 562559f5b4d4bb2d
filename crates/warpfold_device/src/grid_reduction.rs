//! How the blocks' accumulators become one, in one launch and with neither fence nor memset.
//!
//! *Forward progress.* In [`Polled`] the last block waits, and only for blocks of lower numbers, which wait for nobody. So all ends
//! if those get to run: where blocks start in order, as they do on all devices so far, or where two blocks are resident at a
//! time. In [`Ticket`] nobody waits.

use super::block::{WARP, block_reduce};
use super::op::sum::Wrapping;
use super::unroll::{each, tree};
use super::words::{MOST, Words};
use super::{Position, Reduction};
use cuda_std::ext::{atomic, control, target};
use cuda_std::thread;

/// A way for blocks to make their threads' accumulators one result.
pub trait GridReduction<R: Reduction> {
    /// Writes the result of the grid to `output`. `by_block` is for [`Reduction::redux`], and `index` for [`Reduction::raw`].
    ///
    /// # Safety
    /// The launch's contract (see [`reduce`](super)). All threads of the grid call this, once.
    unsafe fn reduce(acc: R::Acc, output: *mut R::Raw, slots: *mut u64, by_block: bool, index: impl Fn(Position) -> u64);
}

/// Each block writes its accumulator as 64-bit words, 32 or 48 bits of value below and a tag above; the last block, of the
/// highest number, reads those words until they have their tags, and sets them back to 0.
///
/// Value and tag are one 64-bit access, which is made at once (PTX ISA, "Memory Consistency Model": a vector is as many scalar
/// accesses), so that who sees the tag has the value; and no other memory is to be ordered by it: relaxed accesses are enough.
/// Since words are combined in fixed order, a sum of floats is always the same.
pub struct Polled;

/// The tag of a word that is written.
const TAG: u64 = 1 << 48;

/// The most slots that a thread reads before it looks at the first.
const MOST_SLOTS: usize = 5;

/// The slots that a thread reads before it looks at the first: so many that a warp reads those of 160 blocks, if there are registers
/// for their addresses and words. The text for old devices is short.
#[inline(always)]
fn group<A: Words>() -> usize {
    match slot_words::<A>() {
        _ if target::arch() < 900 => 1,
        1 | 2 => MOST_SLOTS,
        3 | 4 => 4,
        _ => 2,
    }
}

/// 64-bit words of a slot. Of an odd number of 32-bit words the last one's halves are beside the first two.
#[inline(always)]
fn slot_words<A: Words>() -> usize {
    if has_halves::<A>() { A::IN_SLOT - 1 } else { A::IN_SLOT }
}

/// Whether there are such halves.
#[inline(always)]
fn has_halves<A: Words>() -> bool {
    A::IN_SLOT > 1 && !A::IN_SLOT.is_multiple_of(2)
}

impl<R: Reduction> GridReduction<R> for Polled {
    #[inline(always)]
    unsafe fn reduce(acc: R::Acc, output: *mut R::Raw, slots: *mut u64, by_block: bool, index: impl Fn(Position) -> u64) {
        let tid = thread::thread_idx_x();
        let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
        let slot = |block: u32| slots.wrapping_add(block as usize * slot_words::<R::Acc>());
        let mut warps = thread::block_dim_x() / WARP;
        let mut acc = acc;
        let mut own = R::identity();
        let mut has_polled = false;
        // SAFETY: the words of a block are written by it and read by the last one; the output is written by the last one. All
        // branches but those by `tid` are taken by whole blocks, and those that leave are taken by whole warps.
        unsafe {
            // Once for the block itself, and in the last one once more for all others: one text for both.
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
                // A warp alone spares a barrier, if it can read all slots at once.
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
                output.write(R::raw(R::append(acc, own), index));
            }
        }
    }
}

/// An accumulator as a slot's words.
#[inline(always)]
fn tagged<A: Words>(acc: A) -> [u64; MOST] {
    let words = acc.to_words().map(u64::from);
    let mut slot = words.map(|word| TAG | word);
    if has_halves::<A>() {
        let last = words[A::IN_SLOT - 1];
        slot[0] |= (last & 0xffff) << 32;
        slot[1] |= (last >> 16) << 32;
    }
    slot
}

/// The accumulator that the block of that number has left in its slot.
#[inline(always)]
fn untagged<A: Words>(slot: [u64; MOST], block: u32) -> A {
    let half = |i: usize| (slot[i] >> 32) as u32 & 0xffff;
    let word = |i| if has_halves::<A>() && i == A::IN_SLOT - 1 { half(1) << 16 | half(0) } else { slot[i] as u32 };
    A::from_slot(&word, block)
}

/// The accumulators of those blocks below `last` that are this thread's, one of so many, made one. Waits until their
/// words have been written, and sets them to 0.
///
/// # Safety
/// As for [`read`], of each of these slots, and the words will come.
#[inline(always)]
unsafe fn poll<R: Reduction>(slot: impl Fn(u32) -> *mut u64, last: u32, threads: u32) -> R::Acc {
    let group = group::<R::Acc>();
    let mut acc = R::identity();
    let mut first = thread::thread_idx_x();
    while first < last {
        control::no_unroll();
        let is_there = |i: usize| first + (i as u32 * threads) < last;
        // Where there are no more, the first is read again.
        let other = |i: usize| if is_there(i) { first + i as u32 * threads } else { first };
        let place = |i: usize| slot(other(i));
        let mut words = [[0; MOST]; MOST_SLOTS];
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
            each(group, |i| write::<R::Acc>(place(i), [0; MOST]));
        }
        let found = |i: usize| {
            if i < group && (R::IS_IDEMPOTENT || is_there(i)) { untagged(words[i], other(i)) } else { R::identity() }
        };
        acc = R::append(acc, tree(group.next_power_of_two(), found, R::append));
        first += group as u32 * threads;
    }
    acc
}

/// Reads a slot. If the number of its words is even, each second one is aligned to 16 bytes.
///
/// # Safety
/// There are so many words at `slot`.
#[inline(always)]
unsafe fn read<A: Words>(slot: *const u64) -> [u64; MOST] {
    let mut words = [0; MOST];
    // SAFETY: the caller's word.
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

/// Writes an accumulator's words.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
unsafe fn write<A: Words>(slot: *mut u64, words: [u64; MOST]) {
    // SAFETY: the caller's word.
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

/// One 64-bit word in `slots`: each block adds 1 to its lower half, which counts them, and its sum to the upper half. Who is the
/// last has the total, and sets the word to 0. The sum of 32-bit integers alone is so short, and wraps as the word does.
pub struct Ticket;

impl GridReduction<Wrapping> for Ticket {
    #[inline(always)]
    unsafe fn reduce(acc: u32, output: *mut u32, slots: *mut u64, _by_block: bool, _index: impl Fn(Position) -> u64) {
        // SAFETY: the word is used by atomics only, until the last of them is done; the output is written by one thread.
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
