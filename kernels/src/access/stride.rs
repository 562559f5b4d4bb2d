//! Access with gaps.
//!
//! Filipovič, "Výkon při prokládaném přístupu". Neighbouring threads take words that lie `stride`
//! apart.
//!
//! What it teaches: memory moves whole sectors of 32 bytes, so the words in the gaps are moved too.
//! From a stride of 8 on each thread has a sector of its own, and seven eighths of the traffic are
//! wasted.

use super::{thread_index, threads};

/// Each thread sums `input[i * stride]` over its `i` below `n`, and leaves the sum in
/// `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `input` holds `n * stride` words, `output` one
/// for each thread.
#[inline(always)]
pub unsafe fn stride_read(input: *const u32, output: *mut u32, n: usize, stride: u32) {
    let mut sum = 0_u32;
    let mut i = thread_index();
    // SAFETY: `i` is below `n`; a thread writes its own word.
    unsafe {
        while i < n {
            sum = sum.wrapping_add(*input.add(i * stride as usize));
            i += threads();
        }
        *output.add(thread_index()) = sum;
    }
}

/// `output[i * stride] = input[i * stride]`, for each `i` below `n`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); both arrays hold `n * stride` words.
#[inline(always)]
pub unsafe fn stride_copy(input: *const u32, output: *mut u32, n: usize, stride: u32) {
    let mut i = thread_index();
    while i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *output.add(i * stride as usize) = *input.add(i * stride as usize) };
        i += threads();
    }
}
