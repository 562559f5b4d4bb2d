//! Rung `global`: a block halves its part of the array, in global memory.
//!
//! Udacity: each block takes 1024 elements; at each step the first half of its threads add the
//! second half's elements to their own, until one is left. Two launches reduce a million elements.
//! But every step goes to global memory and back, with three times the traffic of the same loop in
//! shared memory (rung 3).

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::thread;

/// One partial result for each block; `data` is overwritten on the way.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn global<T: Element, O: Op<T>>(data: *mut T, output: *mut T, n: usize) {
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + tid as usize;

    // SAFETY: every access is below `n`; within a step a thread touches its own element and one
    // that no other thread touches, and the barrier separates the steps.
    unsafe {
        let mut s = thread::block_dim_x() / 2;
        while s > 0 {
            if tid < s && i + (s as usize) < n {
                *data.add(i) = O::combine(*data.add(i), *data.add(i + s as usize));
            }
            thread::sync_threads();
            s /= 2;
        }
        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = element_or_identity::<T, O>(data, i, n);
        }
    }
}
