//! Puts known words into an array, faster than the host could send them.

use super::{thread_index, threads, word};

/// `output[i] = word(i)`, for `n` words.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `output` holds `n` words.
#[inline(always)]
pub unsafe fn fill(output: *mut u32, n: usize, seed: u32) {
    let mut i = thread_index();
    while i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *output.add(i) = word(i as u32, seed) };
        i += threads();
    }
}
