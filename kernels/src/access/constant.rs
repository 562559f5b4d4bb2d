//! Constant memory.
//!
//! Filipovič, "Paměť konstant": as fast as registers if all threads read the same value; if they
//! read different ones, the speed falls linearly.
//!
//! What it teaches: the constant cache gives one word at a time to a warp. A table that lanes index
//! differently belongs in shared memory.

use super::{thread_index, word};
use cuda_std::{address_space, thread};

/// The number of words in the table. They are 1 KiB, which stays in the nearest cache.
pub const WORDS: usize = 256;

/// The table, as [`fill`](super::fill::fill) would fill it with seed 0.
#[address_space(constant)]
static TABLE: [u32; WORDS] = {
    let mut table = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        table[i] = word(i as u32, 0);
        i += 1;
    }
    table
};

/// `TABLE[(thread % distinct + round) % 256]`, summed over the rounds: a warp reads `distinct`
/// words at a time. The rounds move on by one word each, so that no read can be moved out of the
/// loop.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `output` holds a word for each thread; `distinct`
/// is at least 1.
#[inline(always)]
pub unsafe fn constant(output: *mut u32, distinct: u32, rounds: u32) {
    // SAFETY: the caller promises that `distinct` is not 0; `%` would test that, and trap.
    let first = unsafe { (thread::thread_idx_x() % 32).checked_rem(distinct).unwrap_unchecked() };
    let mut sum = 0_u32;
    let mut round = 0;
    while round < rounds {
        sum = sum.wrapping_add(TABLE[(first + round) as usize % WORDS]);
        round += 1;
    }
    // SAFETY: a thread writes its own word.
    unsafe { *output.add(thread_index()) = sum };
}
