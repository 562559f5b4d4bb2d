//! Rung 12: a barrier for the whole grid.
//!
//! CUDA C++ Programming Guide, "Cooperative Groups: Grid Synchronization". If all blocks are
//! resident at once, which a cooperative launch promises, they can wait for each other. Each writes
//! its partial result and waits for all others, and then block 0 goes on alone.
//!
//! What it teaches: a grid-wide barrier is an atomic counter, fences and a loop that waits. It
//! limits the grid to what fits on the device. Rung 10's ticket costs less: no block waits.

use super::block::block_reduce;
use super::reduce9::thread_reduce;
use super::reduce10::combine_partials;
use crate::element::Element;
use crate::op::Op;
use cuda_std::ext::grid;
use cuda_std::{shared, thread};

/// Writes the result of the whole grid to `output[0]`.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)), and the launch is cooperative. `partials` holds
/// one element for each block, and `barrier` is 0, or has the value that an earlier launch of any
/// grid left there.
#[inline(always)]
pub unsafe fn reduce12<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    n: usize,
    partials: *mut T,
    barrier: *mut u32,
) {
    let sv = shared::dynamic_shared_mem::<T>();
    let block = thread::block_idx_x();

    // SAFETY: each block writes its own cell; the grid's barrier puts all of these writes, and the
    // block's use of its shared memory, before block 0's reads.
    unsafe {
        let sum = thread_reduce::<T, O>(input, n);
        let sum = block_reduce::<T, O>(sv, sum);
        if thread::thread_idx_x() == 0 {
            *partials.add(block as usize) = sum;
        }
        grid::sync(barrier);

        if block == 0 {
            combine_partials::<T, O>(sv, partials, output);
        }
    }
}
