//! Rung 5: the last warp unrolled.
//!
//! Filipovič, "Implementace 5". Once 64 values are left a single warp works, and needs no barrier
//! of the whole block: its six steps are written out, and the other warps end early.
//!
//! What it teaches: barriers, loop counters and branches cost as much as the additions. This rung
//! needs blocks of at least 64 threads.

use super::{element_or_identity, last_warp::last_warp};
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of two elements per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)), with at least 64 threads in a block.
#[inline(always)]
pub unsafe fn reduce5<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let block_dim = thread::block_dim_x() as usize;
    let i = thread::block_idx_x() as usize * (block_dim * 2) + tid as usize;

    // SAFETY: as in rung 3 down to 64 values, with which the first warp goes on alone.
    unsafe {
        *sv.add(tid as usize) = O::combine(
            element_or_identity::<T, O>(input, i, n),
            element_or_identity::<T, O>(input, i + block_dim, n),
        );
        thread::sync_threads();

        let mut s = thread::block_dim_x() / 2;
        while s > 32 {
            if tid < s {
                *sv.add(tid as usize) =
                    O::combine(*sv.add(tid as usize), *sv.add((tid + s) as usize));
            }
            thread::sync_threads();
            s /= 2;
        }

        if tid < 32 {
            last_warp::<T, O>(sv, tid);
        }
        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}
