//! Rung 10: a single pass. The last block to finish combines the partial results.
//!
//! NVIDIA's sample `threadFenceReduction`; CUDA C++ Programming Guide, "Memory Fence Functions".
//! Each block draws a ticket when its partial result is written. The block that draws the last
//! ticket knows that all results are there. No block waits.
//!
//! What it teaches: order between blocks takes a fence, an atomic operation and a fence. The first
//! fence puts the write of the partial result before the ticket; the second puts the reads of the
//! other results after it. The counter wraps around, so it is 0 again for the next launch. The
//! order of combining depends only on grid and block sizes, so the bits are the same each time.

use super::block::block_reduce;
use super::reduce9::thread_reduce;
use crate::element::Element;
use crate::op::Op;
use core::mem::MaybeUninit;
use cuda_std::ext::atomic;
use cuda_std::{address_space, shared, thread};

/// Whether this block drew the last ticket.
#[address_space(shared)]
static mut IS_LAST: [MaybeUninit<u32>; 1] = [const { MaybeUninit::uninit() }; 1];

/// Writes the result of the whole grid to `output[0]`.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)). `partials` holds one element for each block, and
/// `ticket` is 0.
#[inline(always)]
pub unsafe fn reduce10<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    n: usize,
    partials: *mut T,
    ticket: *mut u32,
) {
    let sv = shared::dynamic_shared_mem::<T>();
    let is_last = (&raw mut IS_LAST).cast::<u32>();
    let tid = thread::thread_idx_x();
    let blocks = thread::grid_dim_x();

    // SAFETY: each block writes its own cells, and barriers order its threads' use of shared
    // memory. The last block reads the other partial results after fence, ticket and fence.
    unsafe {
        let sum = thread_reduce::<T, O>(input, n);
        let sum = block_reduce::<T, O>(sv, sum);

        if tid == 0 {
            *partials.add(thread::block_idx_x() as usize) = sum;
            thread::device_fence();
            let drawn = atomic::inc(ticket, blocks - 1);
            thread::device_fence();
            *is_last = u32::from(drawn == blocks - 1);
        }
        thread::sync_threads();

        if *is_last != 0 {
            combine_partials::<T, O>(sv, partials, output);
        }
    }
}

/// Combines the partial results of all blocks by the threads of one block.
///
/// # Safety
/// All threads of the block call this together, after a barrier; `partials` holds one element for
/// each block of the grid, and all of them are visible to the thread.
#[inline(always)]
pub(super) unsafe fn combine_partials<T: Element, O: Op<T>>(
    sv: *mut T,
    partials: *const T,
    output: *mut T,
) {
    let tid = thread::thread_idx_x();
    let mut block = tid;
    let mut sum = O::IDENTITY;
    // SAFETY: `block` is below the number of blocks; the caller vouches for the rest.
    unsafe {
        while block < thread::grid_dim_x() {
            sum = O::combine(sum, *partials.add(block as usize));
            block += thread::block_dim_x();
        }
        sum = block_reduce::<T, O>(sv, sum);
        if tid == 0 {
            *output = sum;
        }
    }
}
