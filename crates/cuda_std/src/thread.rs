//! A thread's indices, the sizes of its block and its grid, the barrier of the block, and memory
//! fences.

use crate::gpu_only;

/// Declares readers of special registers. Each is one `mov` from the register.
macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn read() -> u32;
            }
            // SAFETY: reading a special register has no precondition.
            unsafe { read() }
        }
    )*};
}

special_registers! {
    /// The thread's index in its block along x: CUDA's `threadIdx.x`, PTX `%tid.x`.
    thread_idx_x = "llvm.nvvm.read.ptx.sreg.tid.x";
    /// The thread's index in its block along y: CUDA's `threadIdx.y`, PTX `%tid.y`.
    thread_idx_y = "llvm.nvvm.read.ptx.sreg.tid.y";
    /// The thread's index in its block along z: CUDA's `threadIdx.z`, PTX `%tid.z`.
    thread_idx_z = "llvm.nvvm.read.ptx.sreg.tid.z";
    /// The block's index in the grid along x: CUDA's `blockIdx.x`, PTX `%ctaid.x`.
    block_idx_x = "llvm.nvvm.read.ptx.sreg.ctaid.x";
    /// The block's index in the grid along y: CUDA's `blockIdx.y`, PTX `%ctaid.y`.
    block_idx_y = "llvm.nvvm.read.ptx.sreg.ctaid.y";
    /// The block's index in the grid along z: CUDA's `blockIdx.z`, PTX `%ctaid.z`.
    block_idx_z = "llvm.nvvm.read.ptx.sreg.ctaid.z";
    /// The number of threads in a block along x: CUDA's `blockDim.x`, PTX `%ntid.x`.
    block_dim_x = "llvm.nvvm.read.ptx.sreg.ntid.x";
    /// The number of threads in a block along y: CUDA's `blockDim.y`, PTX `%ntid.y`.
    block_dim_y = "llvm.nvvm.read.ptx.sreg.ntid.y";
    /// The number of threads in a block along z: CUDA's `blockDim.z`, PTX `%ntid.z`.
    block_dim_z = "llvm.nvvm.read.ptx.sreg.ntid.z";
    /// The number of blocks in the grid along x: CUDA's `gridDim.x`, PTX `%nctaid.x`.
    grid_dim_x = "llvm.nvvm.read.ptx.sreg.nctaid.x";
    /// The number of blocks in the grid along y: CUDA's `gridDim.y`, PTX `%nctaid.y`.
    grid_dim_y = "llvm.nvvm.read.ptx.sreg.nctaid.y";
    /// The number of blocks in the grid along z: CUDA's `gridDim.z`, PTX `%nctaid.z`.
    grid_dim_z = "llvm.nvvm.read.ptx.sreg.nctaid.z";
}

/// The thread's index among all threads of a one-dimensional launch. Wraps beyond 2^32 threads.
///
/// # Panics
/// On the host, always.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// Waits until every thread of the block that has not exited has called this, and makes all their
/// earlier writes to shared and global memory visible to the block: CUDA's `__syncthreads`, PTX
/// `bar.sync 0`.
///
/// All threads of the block must reach the *same* call: a call in a branch that only some threads
/// take makes the launch hang.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
        fn barrier(id: u32);
    }
    // SAFETY: barrier 0 always exists. The kernel must see to it that all threads come. If they do
    // not, the launch hangs or traps, but no memory is harmed.
    unsafe { barrier(0) }
}

/// Declares memory fences. They only order accesses; no thread waits.
macro_rules! fences {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// A fence orders the calling thread's own accesses; it does not wait for other threads.
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        pub fn $name() {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn fence();
            }
            // SAFETY: a fence has no precondition.
            unsafe { fence() }
        }
    )*};
}

fences! {
    /// All threads of the grid see this thread's writes before the fence earlier than its writes
    /// after the fence: here PTX `membar.gl`. rust-cuda documents the same but emits `membar.cta`,
    /// which orders only for the block. So a kernel that is to work with both calls
    /// [`device_fence`].
    grid_fence = "llvm.nvvm.membar.gl";
    /// All threads of the device see this thread's writes before the fence earlier than its writes
    /// after the fence: CUDA's `__threadfence`, PTX `membar.gl`.
    device_fence = "llvm.nvvm.membar.gl";
    /// As [`device_fence`], but for the host and other devices as well: CUDA's
    /// `__threadfence_system`, PTX `membar.sys`.
    system_fence = "llvm.nvvm.membar.sys";
}
