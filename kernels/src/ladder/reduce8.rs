//! Rung 8: warp shuffles.
//!
//! J. Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA, 2014), on rung 7's loop. The tree
//! in shared memory is gone: lanes pass values from register to register, each warp leaves one
//! value in shared memory, and the first warp combines those.
//!
//! What it teaches: the block's last steps cost one barrier, and one access to shared memory for
//! each warp. That holds for any block size, and the compiler need not know the size any more.

use super::block::block_reduce;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block, whatever the grid.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce8<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let block_dim = thread::block_dim_x() as usize;
    let mut i = thread::block_idx_x() as usize * (block_dim * 2) + thread::thread_idx_x() as usize;
    let grid_size = thread::grid_dim_x() as usize * (block_dim * 2);

    // SAFETY: every element read is below `n`; the block reduces together, in shared memory that is
    // not used before.
    unsafe {
        let mut sum = O::IDENTITY;
        while i < n {
            sum = O::combine(sum, *input.add(i));
            if i + block_dim < n {
                sum = O::combine(sum, *input.add(i + block_dim));
            }
            i += grid_size;
        }
        sum = block_reduce::<T, O>(shared::dynamic_shared_mem(), sum);

        if thread::thread_idx_x() == 0 {
            *output.add(thread::block_idx_x() as usize) = sum;
        }
    }
}
