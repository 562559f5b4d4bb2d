//! Access in another order within the warp.
//!
//! Filipovič, "Spojitý přístup do paměti": the block of words is contiguous and aligned, but the
//! k-th thread does not take the k-th word.
//!
//! What it teaches: the sectors are the same in any order. Before compute capability 1.2 a
//! permutation cost a transfer for each thread; since then it costs nothing.

use super::{thread_index, threads};
use cuda_std::thread;

/// A permutation of 32 lanes: byte `k % 8` of word `k / 8` is the number of the word that lane `k`
/// takes. The permutation is passed in registers, so that the kernel reads memory only for the
/// pattern.
pub type Permutation = [u64; 4];

/// Each thread sums `input[i]` over the indices below `n` that the permutation of its warp gives
/// it, and leaves the sum in `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `input` holds `n` words, `output` one for each
/// thread; each byte of the permutation is below 32.
#[inline(always)]
pub unsafe fn permuted_read(
    input: *const u32,
    output: *mut u32,
    n: usize,
    permutation: Permutation,
) {
    let (mut first, lane) = warp(permutation);
    let mut sum = 0_u32;
    // SAFETY: the index is below `n`; a thread writes its own word.
    unsafe {
        while first < n {
            if first + lane < n {
                sum = sum.wrapping_add(*input.add(first + lane));
            }
            first += threads();
        }
        *output.add(thread_index()) = sum;
    }
}

/// `output[i] = input[i]`, for the same indices.
///
/// # Safety
/// As [`permuted_read`], but both arrays hold `n` words.
#[inline(always)]
pub unsafe fn permuted_copy(
    input: *const u32,
    output: *mut u32,
    n: usize,
    permutation: Permutation,
) {
    let (mut first, lane) = warp(permutation);
    while first < n {
        if first + lane < n {
            // SAFETY: the index is below `n`.
            unsafe { *output.add(first + lane) = *input.add(first + lane) };
        }
        first += threads();
    }
}

/// The index of the warp's first thread, and the lane whose word this thread takes.
#[inline(always)]
fn warp(permutation: Permutation) -> (usize, usize) {
    let lane = thread::thread_idx_x() % 32;
    let [a, b, c, d] = permutation;
    let half = if lane & 16 == 0 { [a, b] } else { [c, d] };
    let bytes = if lane & 8 == 0 { half[0] } else { half[1] };
    (thread_index() - lane as usize, (bytes >> (lane % 8 * 8)) as usize & 31)
}
