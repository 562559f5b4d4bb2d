//! Access that is not aligned.
//!
//! Filipovič, "Nezarovnaný přístup do paměti" and "Výkon při nezarovnaném přístupu". Neighbouring
//! threads take neighbouring words, but the first of a warp does not begin a sector of 32 bytes.
//!
//! What it teaches: 128 bytes then lie in five sectors instead of four. On GPUs before compute
//! capability 1.2 each thread then had a transfer of its own, which left an eighth of the
//! bandwidth. Today the neighbouring warp needs the fifth sector too, so the sector is in the
//! cache.

use super::{thread_index, threads};

/// Each thread sums `input[i + offset]` over its `i` below `n`, and leaves the sum in
/// `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `input` holds `n + offset` words, `output` one
/// for each thread.
#[inline(always)]
pub unsafe fn offset_read(input: *const u32, output: *mut u32, n: usize, offset: u32) {
    let mut sum = 0_u32;
    let mut i = thread_index();
    // SAFETY: `i` is below `n`; a thread writes its own word.
    unsafe {
        while i < n {
            sum = sum.wrapping_add(*input.add(i + offset as usize));
            i += threads();
        }
        *output.add(thread_index()) = sum;
    }
}

/// `output[i + offset] = input[i + offset]`, for each `i` below `n`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); both arrays hold `n + offset` words.
#[inline(always)]
pub unsafe fn offset_copy(input: *const u32, output: *mut u32, n: usize, offset: u32) {
    let mut i = thread_index();
    while i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *output.add(i + offset as usize) = *input.add(i + offset as usize) };
        i += threads();
    }
}
