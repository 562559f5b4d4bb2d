//! How the blocks' accumulators become one, in one launch and with neither fence nor memset.
//!
//! *Forward progress.* In [`Polled`] the last block waits, and only for blocks of lower numbers, which wait for nobody. So all ends
//! if those get to run: where blocks start in order, as they do on all devices so far, or where two blocks are resident at a
//! time. In [`Ticket`] nobody waits.

use super::Reduction;
use super::block::block_reduce;
use super::op::sum::Wrapping;
use super::unroll::each;
use super::words::{MOST, Words};
use cuda_std::ext::{atomic, control, target};
use cuda_std::thread;

/// A way for blocks to make their threads' accumulators one result.
pub trait Meet<R: Reduction> {
    /// Writes the result of the grid to `output`.
    ///
    /// # Safety
    /// The launch's contract (see [`reduce`](super)). All threads of the grid call this, once.
    unsafe fn meet(acc: R::Acc, output: *mut R::Raw, slots: *mut u64);
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

/// Slots that a thread reads at a time, if their accumulators have one word.
const GROUP: u32 = 8;

impl<R: Reduction> Meet<R> for Polled {
    #[inline(always)]
    unsafe fn meet(acc: R::Acc, output: *mut R::Raw, slots: *mut u64) {
        let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
        let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
        let slot = |block: u32| slots.wrapping_add(block as usize * R::Acc::COUNT);
        let group = if R::Acc::COUNT <= 2 { GROUP / R::Acc::COUNT as u32 } else { 1 };
        let mut acc = acc;
        // SAFETY: the words of a block are written by it and read by the last one; the output is written by the last one.
        unsafe {
            if block == last {
                let mut other = tid;
                // Many slots at a time, where there are so many.
                while target::arch() >= 900 && group > 1 && other + (group - 1) * threads < last {
                    control::no_unroll();
                    acc = take::<R, { GROUP as usize }>(acc, group as usize, |i| slot(other + i as u32 * threads));
                    other += group * threads;
                }
                while other < last {
                    control::no_unroll();
                    acc = take::<R, 1>(acc, 1, |_| slot(other));
                    other += threads;
                }
            }
            acc = block_reduce::<R>(acc);
            if tid == 0 {
                if block == last {
                    output.write(R::raw(acc));
                } else {
                    let words = acc.to_words();
                    write::<R::Acc>(slot(block), words.map(|word| TAG | u64::from(word)));
                }
            }
        }
    }
}

/// Reads an accumulator's words. If their number is even, each second one is aligned to 16 bytes.
///
/// # Safety
/// There are so many words at `slot`.
#[inline(always)]
unsafe fn read<A: Words>(slot: *const u64) -> [u64; MOST] {
    let mut words = [0; MOST];
    // SAFETY: the caller's word.
    unsafe {
        if A::COUNT.is_multiple_of(2) {
            each(A::COUNT / 2, |i| {
                [words[2 * i], words[2 * i + 1]] = atomic::load_relaxed_pair(slot.add(2 * i));
            });
        } else {
            each(A::COUNT, |i| words[i] = atomic::load_relaxed(slot.add(i)));
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
        if A::COUNT.is_multiple_of(2) {
            each(A::COUNT / 2, |i| atomic::store_relaxed_pair(slot.add(2 * i), [words[2 * i], words[2 * i + 1]]));
        } else {
            each(A::COUNT, |i| atomic::store_relaxed(slot.add(i), words[i]));
        }
    }
}

/// Waits until all words of `count` slots, at most `MOST_SLOTS`, have been written, combines them with `acc`, and sets them to 0.
///
/// # Safety
/// As for [`read`], of each slot, and the words will come.
#[inline(always)]
unsafe fn take<R: Reduction, const MOST_SLOTS: usize>(
    acc: R::Acc,
    count: usize,
    slot: impl Fn(usize) -> *mut u64,
) -> R::Acc {
    let mut words = [[0; MOST]; MOST_SLOTS];
    // SAFETY: the caller's word.
    unsafe {
        loop {
            control::no_unroll();
            each(count, |i| words[i] = read::<R::Acc>(slot(i)));
            let mut tags = TAG;
            each(count, |i| each(R::Acc::COUNT, |word| tags &= words[i][word]));
            if tags != 0 {
                break;
            }
        }
        each(count, |i| write::<R::Acc>(slot(i), [0; MOST]));
    }
    let mut acc = acc;
    each(count, |i| acc = R::combine(acc, R::Acc::from_words(&|word| words[i][word] as u32)));
    acc
}

/// One 64-bit word in `slots`: each block adds 1 to its lower half, which counts them, and its sum to the upper half. Who is the
/// last has the total, and sets the word to 0. The sum of 32-bit integers alone is so short, and wraps as the word does.
pub struct Ticket;

impl Meet<Wrapping> for Ticket {
    #[inline(always)]
    unsafe fn meet(acc: u32, output: *mut u32, slots: *mut u64) {
        // SAFETY: the word is used by atomics only, until the last of them is done; the output is written by one thread.
        unsafe {
            let sum = block_reduce::<Wrapping>(acc);
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
