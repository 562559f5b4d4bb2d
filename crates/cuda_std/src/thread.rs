//! Who a thread is (its index, its block, its grid), and how it waits for and orders itself among
//! others.

use crate::gpu_only;

/// Declares readers of special registers: one `mov` from the register each.
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
    /// Threads in a block along x: CUDA's `blockDim.x`, PTX `%ntid.x`.
    block_dim_x = "llvm.nvvm.read.ptx.sreg.ntid.x";
    /// Threads in a block along y: CUDA's `blockDim.y`, PTX `%ntid.y`.
    block_dim_y = "llvm.nvvm.read.ptx.sreg.ntid.y";
    /// Threads in a block along z: CUDA's `blockDim.z`, PTX `%ntid.z`.
    block_dim_z = "llvm.nvvm.read.ptx.sreg.ntid.z";
    /// Blocks in the grid along x: CUDA's `gridDim.x`, PTX `%nctaid.x`.
    grid_dim_x = "llvm.nvvm.read.ptx.sreg.nctaid.x";
    /// Blocks in the grid along y: CUDA's `gridDim.y`, PTX `%nctaid.y`.
    grid_dim_y = "llvm.nvvm.read.ptx.sreg.nctaid.y";
    /// Blocks in the grid along z: CUDA's `gridDim.z`, PTX `%nctaid.z`.
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

/// Waits until every thread of the block that has not exited is here, and makes all that they wrote
/// to shared and global memory before visible to the block: CUDA's `__syncthreads`, PTX
/// `bar.sync 0`.
///
/// All threads of the block must reach the *same* call: one in a branch that only some threads take
/// is a hang.
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
    // SAFETY: barrier 0 always exists. That all threads come is the kernel's duty; where they do
    // not, the launch hangs or traps, but no memory is harmed.
    unsafe { barrier(0) }
}

/// Declares memory fences: ordering only, nobody waits.
macro_rules! fences {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// A fence orders the calling thread's own accesses; it waits for nobody.
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
    /// What this thread wrote before is seen before what it writes after, by all threads of the
    /// grid: here PTX `membar.gl`. rust-cuda documents the same and emits `membar.cta`, which
    /// orders for the block alone, so a kernel for both calls [`device_fence`].
    grid_fence = "llvm.nvvm.membar.gl";
    /// What this thread wrote before is seen before what it writes after, by all threads of the
    /// device: CUDA's `__threadfence`, PTX `membar.gl`.
    device_fence = "llvm.nvvm.membar.gl";
    /// As [`device_fence`], for the host and other devices too: CUDA's `__threadfence_system`, PTX
    /// `membar.sys`.
    system_fence = "llvm.nvvm.membar.sys";
}
