//! What all blocks of a grid do together, and how a grid follows another.

use super::atomic;
use crate::{gpu_only, thread};

/// The bit that flips when the last block arrives.
const GENERATION: u32 = 1 << 31;

/// Waits until every thread of the grid is here, and makes all that they wrote to global memory
/// before visible to all: cooperative groups' `grid.sync()`, for one-dimensional grids and blocks.
///
/// Each block but block 0 adds 1 to `barrier`. Block 0 adds what is missing to 2^31, so that all of
/// them together flip the highest bit and leave the others as they were. The barrier is then ready
/// for the next round, and for the next launch with any grid.
///
/// # Safety
/// All blocks are resident at once: the launch is cooperative. All threads of the grid make the
/// same call. `barrier` is in global memory, was 0 before its first use, and nothing else uses it.
/// The grid has fewer than 2^31 blocks.
///
/// # Panics
/// On the host, always.
///
/// Source: CUDA C++ Programming Guide, "Grid Synchronization"; PTX ISA, "Memory Consistency Model".
#[inline(always)]
pub unsafe fn sync(barrier: *mut u32) {
    // What the block's threads wrote comes before its first thread's fence.
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let others = thread::grid_dim_x() - 1;
        let arrival = if thread::block_idx_x() == 0 { GENERATION - others } else { 1 };
        thread::device_fence();
        // SAFETY: the caller keeps this function's contract; the read is volatile, so that it is
        // made again each time.
        unsafe {
            let before = atomic::add(barrier, arrival);
            while (before ^ barrier.read_volatile()) & GENERATION == 0 {}
        }
        thread::device_fence();
    }
    thread::sync_threads();
}

/// Lets the next grid in the stream start its blocks as soon as each block of this one has called
/// this or has ended: PTX `griddepcontrol.launch_dependents`. It has an effect only if the next
/// grid was launched with programmatic stream serialization, and none below sm_90.
///
/// The call makes nothing that this grid writes visible to the next one; that is what
/// [`wait_for_dependencies`] is for.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch
/// and Synchronization".
#[gpu_only]
#[inline(always)]
pub fn launch_dependents() {
    unsafe extern "C" {
        fn __cuda_std_grid_launch_dependents();
    }
    // SAFETY: no precondition.
    unsafe { __cuda_std_grid_launch_dependents() }
}

/// Waits until the grids that this one depends on have ended and all that they wrote is visible:
/// PTX `griddepcontrol.wait`. It returns at once in a plain launch, and below sm_90 it is no
/// instruction at all.
///
/// It orders the loads and stores of [`streaming`](super::streaming) and the relaxed ones of
/// [`atomic`] only: the compiler may move others across it.
///
/// # Panics
/// On the host, always.
///
/// Source: as [`launch_dependents`].
#[gpu_only]
#[inline(always)]
pub fn wait_for_dependencies() {
    unsafe extern "C" {
        fn __cuda_std_grid_wait();
    }
    // SAFETY: no precondition.
    unsafe { __cuda_std_grid_wait() }
}
