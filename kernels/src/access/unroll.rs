//! Unrolled loops.
//!
//! Filipovič, "Smyčky": a small loop spends more on its branch, its counter and its addresses than
//! on its body. Written out several times, the body shares them.
//!
//! What it teaches: an element then takes little more than the load and the addition, instead of
//! all instructions of the loop. Neither compiler may unroll on its own here, because all four
//! kernels would then be alike: see [`no_unroll`].

use super::{thread_index, threads};
use cuda_std::ext::control::no_unroll;

/// Each thread sums `input[i]` over its `i` below `n`, `UNROLLED` in each turn of the loop, and
/// leaves the sum in `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `input` holds `n` words, `output` one for each
/// thread.
#[inline(always)]
pub unsafe fn unroll<const UNROLLED: usize>(input: *const u32, output: *mut u32, n: usize) {
    let step = threads();
    let mut sum = 0_u32;
    let mut i = thread_index();
    // SAFETY: each index is below `n`; a thread writes its own word.
    unsafe {
        while i + (UNROLLED - 1) * step < n {
            no_unroll();
            let mut k = 0;
            while k < UNROLLED {
                sum = sum.wrapping_add(*input.add(i + k * step));
                k += 1;
            }
            i += UNROLLED * step;
        }
        // Now fewer elements are left than one turn takes.
        while i < n {
            no_unroll();
            sum = sum.wrapping_add(*input.add(i));
            i += step;
        }
        *output.add(thread_index()) = sum;
    }
}
