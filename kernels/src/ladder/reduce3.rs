//! Rung 3: sequential addressing.
//!
//! Filipovič, "Implementace 3"; Liu, "Reduction #3: Sequential Accesses"; CSDN 2.2; Udacity, the
//! shared-memory kernel. The stride starts at half the block and halves: neighbouring lanes touch
//! neighbouring words.
//!
//! What it teaches: no divergence and no bank conflicts. But half of the threads never add
//! anything.

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of one element per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce3<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + tid as usize;

    // SAFETY: `tid + s` is below `2 * s`, at most the block size; within a step a thread writes
    // only its own cell below `s` and reads one above, and the barrier separates the steps.
    unsafe {
        *sv.add(tid as usize) = element_or_identity::<T, O>(input, i, n);
        thread::sync_threads();

        let mut s = thread::block_dim_x() / 2;
        while s > 0 {
            if tid < s {
                *sv.add(tid as usize) =
                    O::combine(*sv.add(tid as usize), *sv.add((tid + s) as usize));
            }
            thread::sync_threads();
            s /= 2;
        }

        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}
