//! Work for a chunk of an array, to be done while the next chunk is on its way.
//!
//! Filipovič, "Přenosy mezi systémovou a grafickou pamětí": it is worth overlapping computation
//! with transfers.

use super::thread_index;
use cuda_std::ext::control::no_unroll;

/// `output[i]` is `input[i]` after `rounds` steps x -> 1664525 x + 1013904223, for each `i` below
/// `n`. All other threads do nothing.
///
/// # Safety
/// The launch's contract (see [`access`](super)); both arrays hold `n` words.
#[inline(always)]
pub unsafe fn transfer_work(input: *const u32, output: *mut u32, n: usize, rounds: u32) {
    let i = thread_index();
    if i < n {
        // SAFETY: `i` is below `n`.
        unsafe {
            let mut x = *input.add(i);
            let mut round = 0;
            while round < rounds {
                // Without this the compiler would combine several steps into one step with other
                // numbers.
                no_unroll();
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                round += 1;
            }
            *output.add(i) = x;
        }
    }
}
