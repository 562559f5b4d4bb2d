//! Rung 4: first add during load.
//!
//! Filipovič, "Implementace 4"; Liu, "Reduction #4: Read two elements and do the first step". The
//! half of the threads that idles in rung 3 is used: each thread reads two elements and adds them
//! on the way to shared memory, so half as many blocks are enough.
//!
//! What it teaches: the memory is now read at a good rate, and the rest of the time goes to the
//! instructions around the loads.

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of two elements per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce4<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let block_dim = thread::block_dim_x() as usize;
    let i = thread::block_idx_x() as usize * (block_dim * 2) + tid as usize;

    // SAFETY: as in rung 3.
    unsafe {
        *sv.add(tid as usize) = O::combine(
            element_or_identity::<T, O>(input, i, n),
            element_or_identity::<T, O>(input, i + block_dim, n),
        );
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
