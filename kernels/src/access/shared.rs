//! Shared memory and its banks.
//!
//! Filipovič, "HW organizace sdílené paměti", "Konflikty bank" and "Vzory přístupu". Shared memory
//! has 32 banks, and neighbouring words lie in neighbouring banks. The lecture's three patterns:
//!
//! - `s[threadIdx.x + offset]`: alignment is not needed;
//! - `s[threadIdx.x * c]`: there are no conflicts if `c` is odd; otherwise the number of lanes that
//!   ask the same bank is the greatest common divisor of `c` and 32;
//! - `s[threadIdx.x / c]`: lanes that read the same word are served at once.
//!
//! Each thread reads `rounds` words, and each of them is one word further than the one before. That
//! shifts all banks alike, so conflicts stay the same, and no read can be moved out of the loop.

use super::{thread_index, word};
use cuda_std::{shared, thread};

/// `s[thread * stride + round]`, summed over the rounds.
///
/// # Safety
/// The launch's contract (see [`access`](super)), with dynamic shared memory for
/// `block * stride + rounds` words; `output` holds a word for each thread.
#[inline(always)]
pub unsafe fn shared_stride(output: *mut u32, stride: u32, rounds: u32, seed: u32) {
    // SAFETY: the last word is that of the last thread in the last round.
    unsafe {
        sum_of_rounds(
            output,
            thread::thread_idx_x() * stride,
            thread::block_dim_x() * stride + rounds,
            rounds,
            seed,
        );
    }
}

/// `s[thread + offset + round]`, summed over the rounds.
///
/// # Safety
/// As [`shared_stride`], with dynamic shared memory for `block + offset + rounds` words.
#[inline(always)]
pub unsafe fn shared_offset(output: *mut u32, offset: u32, rounds: u32, seed: u32) {
    // SAFETY: as above.
    unsafe {
        sum_of_rounds(
            output,
            thread::thread_idx_x() + offset,
            thread::block_dim_x() + offset + rounds,
            rounds,
            seed,
        );
    }
}

/// `s[thread / group + round]`, summed over the rounds: `group` threads read the same word.
///
/// # Safety
/// As [`shared_stride`], with dynamic shared memory for `block + rounds` words; `group` is not 0.
#[inline(always)]
pub unsafe fn shared_broadcast(output: *mut u32, group: u32, rounds: u32, seed: u32) {
    // SAFETY: as above, and `group` is not 0; `/` would test that, and trap.
    unsafe {
        let first = thread::thread_idx_x().checked_div(group).unwrap_unchecked();
        sum_of_rounds(output, first, thread::block_dim_x() + rounds, rounds, seed);
    }
}

/// Fills `words` of shared memory, then sums `s[first..first + rounds]`.
///
/// # Safety
/// All threads of the block call this together, with the same `words` of dynamic shared memory;
/// `first + rounds` is at most `words`; `output` holds a word for each thread.
#[inline(always)]
unsafe fn sum_of_rounds(output: *mut u32, first: u32, words: u32, rounds: u32, seed: u32) {
    let s = shared::dynamic_shared_mem::<u32>();
    // SAFETY: the indices are below `words`; each word has one writer, and the barrier separates
    // writing from reading.
    unsafe {
        let mut i = thread::thread_idx_x();
        while i < words {
            *s.add(i as usize) = word(i, seed);
            i += thread::block_dim_x();
        }
        thread::sync_threads();

        let own = s.add(first as usize);
        let mut sum = 0_u32;
        let mut round = 0;
        while round < rounds {
            sum = sum.wrapping_add(*own.add(round as usize));
            round += 1;
        }
        *output.add(thread_index()) = sum;
    }
}
