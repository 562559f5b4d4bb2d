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
pub trait Meet<R: Reduction> {
    /// Writes the result of the grid to `output`. `index` is for [`Reduction::raw`].
    ///
    /// # Safety
    /// The launch's contract (see [`reduce`](super)). All threads of the grid call this, once.
    unsafe fn meet(acc: R::Acc, output: *mut R::Raw, slots: *mut u64, index: impl Fn(Position) -> u64);
}

/// Each block writes its accumulator as 64-bit words, 32 bits of value below and a tag above; the last block, of the highest
/// number, reads those words until they have their tags, and sets them back to 0.
///
/// Value and tag are one 64-bit access, which is made at once (PTX ISA, "Memory Consistency Model": a vector is as many scalar
/// accesses), so that who sees the tag has the value; and no other memory is to be ordered by it: relaxed accesses are enough.
/// Since words are combined in fixed order, a sum of floats is always the same.
pub struct Polled;

/// The tag of a word that is written.
const TAG: u64 = 1 << 32;

/// The most slots that a thread reads before it looks at the first.
const MOST_SLOTS: usize = 8;

/// The most registers, in pairs, for their addresses and words.
const MOST_PAIRS: usize = 20;

/// The slots that a thread reads before it looks at the first.
#[inline(always)]
fn group<A: Words>() -> u32 {
    // The text for old devices is short.
    if target::arch() >= 900 { (MOST_PAIRS / (1 + A::IN_SLOT)).min(MOST_SLOTS) as u32 } else { 1 }
}

impl<R: Reduction> Meet<R> for Polled {
    #[inline(always)]
    unsafe fn meet(acc: R::Acc, output: *mut R::Raw, slots: *mut u64, index: impl Fn(Position) -> u64) {
        let tid = thread::thread_idx_x();
        let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
        let slot = |block: u32| slots.wrapping_add(block as usize * R::Acc::IN_SLOT);
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
                acc = block_reduce::<R>(acc, warps, has_polled);
                if has_polled || last == 0 {
                    break;
                }
                if block < last {
                    if tid == 0 {
                        let words = acc.to_words();
                        write::<R::Acc>(slot(block), words.map(|word| TAG | u64::from(word)));
                    }
                    return;
                }
                own = acc;
                // A warp alone spares a barrier, if it can read all slots at once.
                if last <= WARP * group::<R::Acc>() {
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
                output.write(R::raw(R::combine(own, acc), index));
            }
        }
    }
}

/// The accumulators of those blocks below `last` that are this thread's, one of so many. Waits until their words have been written,
/// and sets them to 0.
///
/// # Safety
/// As for [`read`], of each of these slots, and the words will come.
#[inline(always)]
unsafe fn poll<R: Reduction>(slot: impl Fn(u32) -> *mut u64, last: u32, threads: u32) -> R::Acc {
    let group = group::<R::Acc>() as usize;
    let mut acc = R::identity();
    let mut first = thread::thread_idx_x();
    while first < last {
        control::no_unroll();
        let other = |i: usize| first + i as u32 * threads;
        // Where there are no more, the first is read again.
        let place = |i: usize| slot(if other(i) < last { other(i) } else { first });
        let mut words = [[0; MOST]; MOST_SLOTS];
        // SAFETY: the slots are those of blocks below `last`.
        unsafe {
            loop {
                control::no_unroll();
                each(group, |i| words[i] = read::<R::Acc>(place(i)));
                let mut tags = TAG;
                each(group, |i| each(R::Acc::IN_SLOT, |word| tags &= words[i][word]));
                if tags != 0 {
                    break;
                }
            }
            each(group, |i| write::<R::Acc>(place(i), [0; MOST]));
        }
        let found = |i: usize| {
            if i < group && other(i) < last {
                R::Acc::from_slot(&|word| words[i][word] as u32, other(i))
            } else {
                R::identity()
            }
        };
        acc = R::combine(acc, tree(group.next_power_of_two(), found, R::combine));
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
        if A::IN_SLOT.is_multiple_of(2) {
            each(A::IN_SLOT / 2, |i| {
                [words[2 * i], words[2 * i + 1]] = atomic::load_relaxed_pair(slot.add(2 * i));
            });
        } else {
            each(A::IN_SLOT, |i| words[i] = atomic::load_relaxed(slot.add(i)));
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
        if A::IN_SLOT.is_multiple_of(2) {
            each(A::IN_SLOT / 2, |i| atomic::store_relaxed_pair(slot.add(2 * i), [words[2 * i], words[2 * i + 1]]));
        } else {
            each(A::IN_SLOT, |i| atomic::store_relaxed(slot.add(i), words[i]));
        }
    }
}

/// One 64-bit word in `slots`: each block adds 1 to its lower half, which counts them, and its sum to the upper half. Who is the
/// last has the total, and sets the word to 0. The sum of 32-bit integers alone is so short, and wraps as the word does.
pub struct Ticket;

impl Meet<Wrapping> for Ticket {
    #[inline(always)]
    unsafe fn meet(acc: u32, output: *mut u32, slots: *mut u64, _index: impl Fn(Position) -> u64) {
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
