//! Rung 13: thread-block clusters and distributed shared memory (sm_90).
//!
//! CUDA C++ Programming Guide, "Thread Block Clusters" and "Distributed Shared Memory". Up to eight
//! blocks form a cluster: they run at the same time, have a barrier of their own, and read each
//! other's shared memory. So eight partial results become one without a trip to global memory.
//!
//! What it teaches: there is a level between block and grid. The second barrier is not for the
//! data: a block's shared memory is gone when it exits, so no block may exit while another still
//! reads there.

use super::block::{WARP, block_reduce, warp_reduce};
use super::reduce9::thread_reduce;
use crate::element::Element;
use crate::op::Op;
use cuda_std::ext::cluster;
use cuda_std::{shared, thread};

/// One partial result for each cluster in `output[cluster]`, whatever the grid and the alignment of
/// the input.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)); a cluster has at most 32 blocks, in one
/// dimension.
#[inline(always)]
pub unsafe fn reduce13<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();

    // SAFETY: the cluster's barriers put writing a block's first cell before reading it, and
    // reading it before the block's end. Only blocks that exist are read.
    unsafe {
        let sum = thread_reduce::<T, O>(input, n);
        let sum = block_reduce::<T, O>(sv, sum);
        if tid == 0 {
            *sv = sum;
        }
        cluster::sync();

        if cluster::rank() == 0 && tid < WARP {
            let sum =
                if tid < cluster::size() { *cluster::shared_of(sv, tid) } else { O::IDENTITY };
            let sum = warp_reduce::<T, O>(sum);
            if tid == 0 {
                *output.add(cluster::index_x() as usize) = sum;
            }
        }
        cluster::sync();
    }
}
