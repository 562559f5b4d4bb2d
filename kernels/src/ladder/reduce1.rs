//! Rung 1: interleaved addressing with divergent branching.
//!
//! Filipovič, "Implementace 1"; CSDN 2.1; Liu, kernel 1. First the block's elements go to shared
//! memory, then every second thread adds its neighbour's value, then every fourth, and so on.
//!
//! What it teaches: `tid % (2 * s) == 0` picks threads from every warp, so that all warps run in
//! every step with most of their lanes idle (divergence). An integer remainder by an unknown
//! divisor takes dozens of instructions.

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of one element per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
#[allow(clippy::manual_is_multiple_of)] // the lecture's own spelling
pub unsafe fn reduce1<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize + tid as usize;

    // SAFETY: `tid + s` is below the block size wherever it is used. Within a step no other thread
    // writes `sv[tid]` or `sv[tid + s]`, and the barrier separates the steps.
    unsafe {
        *sv.add(tid as usize) = element_or_identity::<T, O>(input, i, n);
        thread::sync_threads();

        let mut s = one();
        while s < thread::block_dim_x() {
            if tid % (2 * s) == 0 {
                *sv.add(tid as usize) =
                    O::combine(*sv.add(tid as usize), *sv.add((tid + s) as usize));
            }
            thread::sync_threads();
            s *= 2;
        }

        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}

/// The first stride. If it were a plain 1, LLVM would see that `s` is a power of two and turn the
/// remainder, which is the lesson, into a mask. No compiler knows that the grid's height is 1.
#[inline(always)]
fn one() -> u32 {
    thread::grid_dim_y()
}
