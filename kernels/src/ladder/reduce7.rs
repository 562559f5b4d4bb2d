//! Rung 7: many elements per thread.
//!
//! Filipovič, "Implementace 7". A reduction with a thread for each element costs O(n log n):
//! threads times time. With n / log n threads that each first add log n elements alone, the time
//! stays and the cost falls to O(n). So the grid no longer grows with `n`: each thread strides over
//! the array by the whole grid, two elements at a time.
//!
//! What it teaches: launching threads and computing addresses takes less work, and fewer partial
//! results are left to combine.

use super::reduce6::unrolled;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block, whatever the grid.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)), with `B` threads in a block: 64, 128, 256, 512 or
/// 1024.
#[inline(always)]
pub unsafe fn reduce7<T: Element, O: Op<T>, const B: usize>(
    input: *const T,
    output: *mut T,
    n: usize,
) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let mut i = thread::block_idx_x() as usize * (B * 2) + tid as usize;
    let grid_size = thread::grid_dim_x() as usize * (B * 2);

    // SAFETY: every element read is below `n`; the rest as in rung 6.
    unsafe {
        let mut sum = O::IDENTITY;
        while i < n {
            sum = O::combine(sum, *input.add(i));
            if i + B < n {
                sum = O::combine(sum, *input.add(i + B));
            }
            i += grid_size;
        }
        *sv.add(tid as usize) = sum;
        thread::sync_threads();

        unrolled::<T, O, B>(sv, tid);

        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}
