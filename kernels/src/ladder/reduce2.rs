//! Rung 2: interleaved addressing with a strided index.
//!
//! Filipovič, "Implementace 2"; Liu, kernel 2. The first threads do the additions of rung 1: whole
//! warps are busy or idle, and the remainder is gone.
//!
//! What it teaches: neighbouring lanes now touch words `2 * s` apart. At each step more of them
//! share a bank of shared memory, up to 32 at once, and take turns (bank conflicts).

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of one element per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce2<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + tid as usize;

    // SAFETY: `index + s` is below the block size, a multiple of `2 * s`; within a step each cell
    // belongs to one thread, and the barrier separates the steps.
    unsafe {
        *sv.add(tid as usize) = element_or_identity::<T, O>(input, i, n);
        thread::sync_threads();

        let mut s = 1;
        while s < thread::block_dim_x() {
            let index = 2 * s * tid;
            if index < thread::block_dim_x() {
                *sv.add(index as usize) =
                    O::combine(*sv.add(index as usize), *sv.add((index + s) as usize));
            }
            thread::sync_threads();
            s *= 2;
        }

        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}
