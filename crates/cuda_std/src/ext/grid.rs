//! Barriers for all blocks of a grid, and the order between a grid and the next one.

use super::atomic;
use crate::{gpu_only, thread};

/// The bit that flips when the last block arrives.
const GENERATION: u32 = 1 << 31;

/// Waits until every thread of the grid has called this, and makes all their earlier writes to
/// global memory visible to all: cooperative groups' `grid.sync()`, for one-dimensional grids and
/// blocks.
///
/// Each block except block 0 adds 1 to `barrier`. Block 0 adds 2^31 minus the number of the other
/// blocks. So all of them together flip the highest bit and leave the other bits as they were. The
/// barrier is then ready for the next round, and for the next launch with any grid.
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
    // This barrier puts the writes of the block's threads before the fence of its first thread.
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let others = thread::grid_dim_x() - 1;
        let arrival = if thread::block_idx_x() == 0 { GENERATION - others } else { 1 };
        thread::device_fence();
        // SAFETY: the caller keeps this function's contract; the read is volatile, so that each
        // iteration reads memory again.
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
/// grid was launched with programmatic stream serialization, and only from sm_90 on.
///
/// The call does not make this grid's writes visible to the next grid; that is what
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

/// Waits until the grids that this one depends on have ended and all their writes are visible: PTX
/// `griddepcontrol.wait`. In a plain launch it returns at once, and below sm_90 it compiles to no
/// instruction.
///
/// It orders only the loads and stores of [`streaming`](super::streaming) and the relaxed ones of
/// [`atomic`]. The compiler may move all others across it.
///
/// # Panics
/// On the host, always.
///
/// Source: as for [`launch_dependents`].
#[gpu_only]
#[inline(always)]
pub fn wait_for_dependencies() {
    unsafe extern "C" {
        fn __cuda_std_grid_wait();
    }
    // SAFETY: no precondition.
    unsafe { __cuda_std_grid_wait() }
}
