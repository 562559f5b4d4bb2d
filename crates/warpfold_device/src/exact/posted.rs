//! A grid that sums the shard of its device exactly, and whose last block then exchanges the sum
//! with other devices, in one launch.
//!
//! The last block does for its sum what a block of [`exchange`](crate::exchange) does, and uses the
//! same mailboxes in the same way, so that devices of one call may launch either kernel.
//!
//! # The launch's contract
//!
//! That of [an exact sum](super#the-launchs-contract) for everything up to `slots`, and that of [an
//! exchange](crate::exchange#the-launchs-contract) of one result for the rest.

use super::cells::{Cells, WIDE_LIMBS};
use super::exchanged::CombinedSums;
use super::item::Float;
use super::{Raw, sum_cells};
use crate::exchange::{Call, Exchanged, MOST_RANKS, next, room, slot, status_of, wait, words_of};
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread};

/// The most words of 32 bits of a sum.
const MOST_WORDS: usize = size_of::<Raw<f64, WIDE_LIMBS>>() / 4;

/// A sum of each rank.
#[repr(C, align(8))]
struct Staged([MaybeUninit<u32>; MOST_WORDS * MOST_RANKS]);

/// The sums of the ranks, one behind the other.
#[address_space(shared)]
static mut STAGED: Staged = Staged([const { MaybeUninit::uninit() }; MOST_WORDS * MOST_RANKS]);

/// Whether an earlier call has failed, and whether this one has. Each is written before a barrier
/// and read behind it.
#[address_space(shared)]
static mut FAILED: [MaybeUninit<u32>; 2] = [const { MaybeUninit::uninit() }; 2];

/// Writes the exact sum of the elements of all ranks to the output of `call`. This is the whole
/// body of a kernel that [`fused_exact!`](crate::fused_exact!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn exact_posted<T: Float, const LIMBS: usize, const LOADS: usize>(
    input: *const T,
    n: usize,
    chunk: usize,
    keep: f32,
    slots: *mut u64,
    call: &Call<Raw<T::Value, LIMBS>>,
) {
    // SAFETY: the caller's contract. The threads of one block come to `post`.
    unsafe {
        sum_cells::<T, LIMBS, LOADS>(input, n, chunk, keep, slots, || {
            post::<T, LIMBS>(n, call);
        });
    }
}

/// Rounds the sum of `n` elements in the block's cells, and exchanges it.
///
/// # Safety
/// The threads of one block call this together, after a barrier, and the launch keeps [its
/// contract](self#the-launchs-contract).
#[inline(always)]
unsafe fn post<T: Float, const LIMBS: usize>(n: usize, call: &Call<Raw<T::Value, LIMBS>>) {
    type How<T, const LIMBS: usize> = CombinedSums<<T as Float>::Value, LIMBS>;
    let &Call { rank, ranks, mailboxes, .. } = call;
    let words = const { words_of::<Raw<T::Value, LIMBS>>() };
    let (tid, threads, own) = (thread::thread_idx_x(), thread::block_dim_x(), mailboxes.of(rank));
    let staged = (&raw mut STAGED).cast::<u32>();
    let place = |rank: u32, word: u32| staged.wrapping_add((rank * words + word) as usize);
    let failed = (&raw mut FAILED).cast::<u32>();
    let all = words * ranks.count;
    // SAFETY: threads write places of their own, and barriers separate these from the reads of
    // others. The grids that this one depends on have ended, because each thread has waited for
    // them before it has read elements.
    unsafe {
        let count = next(atomic::load_relaxed(own.add(1)) as u32);
        if tid == 0 {
            let status = atomic::load_relaxed_system(own);
            Cells::<LIMBS>::finish(n, place(rank, 0).cast::<Raw<T::Value, LIMBS>>());
            *failed = u32::from(status != 0);
            *failed.add(1) = 0;
        }
        thread::sync_threads();
        // A rank that did not come in an earlier call is not waited for again.
        if *failed != 0 {
            return;
        }
        let set = 2 + (count % 2 * ranks.count * room::<How<T, LIMBS>>()) as usize;
        let slot =
            |mailbox: *mut u64, of: u32, word: u32| slot::<How<T, LIMBS>>(mailbox, set, of, word);
        let mut word = tid;
        while word < all {
            control::keep_rolled();
            let (peer, word_of) = (word / words, word % words);
            if peer != rank {
                let value = u64::from(*place(rank, word_of));
                let tagged = u64::from(count) << 32 | value;
                atomic::store_relaxed_system(slot(mailboxes.of(peer), rank, word_of), tagged);
            }
            word += threads;
        }
        let mut word = tid;
        while word < all {
            control::keep_rolled();
            let (peer, word_of) = (word / words, word % words);
            if peer != rank {
                let (value, came) = wait(slot(own, peer, word_of), count, call.limit);
                if !came {
                    atomic::store_relaxed_system(own, status_of(peer));
                    *failed.add(1) = 1;
                    break;
                }
                *place(peer, word_of) = value;
            }
            word += threads;
        }
        thread::sync_threads();
        if *failed.add(1) != 0 {
            return;
        }
        let raw = |rank, _| place(rank, 0).cast_const().cast::<Raw<T::Value, LIMBS>>();
        <How<T, LIMBS> as Exchanged>::combine(raw, ranks, 1, |_| call.output, 1);
        if tid == 0 {
            atomic::store_relaxed(own.add(1), count.into());
        }
    }
}
