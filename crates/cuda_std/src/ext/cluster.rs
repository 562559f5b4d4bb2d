//! Thread-block clusters: blocks that run at the same time, close to each other, and can read and
//! write each other's shared memory. They need sm_90.
//!
//! In a launch without clusters each block is a cluster of its own. (CUDA C++ Programming Guide,
//! "Thread Block Clusters", "Distributed Shared Memory"; PTX ISA, "barrier.cluster", "mapa".)

use crate::gpu_only;

/// Declares readers of special registers, for one-dimensional clusters.
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
    /// The number of blocks in the cluster: PTX `%cluster_nctarank`.
    size = "llvm.nvvm.read.ptx.sreg.cluster.nctarank";
    /// The block's number in its cluster: PTX `%cluster_ctarank`.
    rank = "llvm.nvvm.read.ptx.sreg.cluster.ctarank";
    /// The cluster's index in the grid along x: PTX `%clusterid.x`.
    index_x = "llvm.nvvm.read.ptx.sreg.clusterid.x";
}

/// Waits until every thread of the cluster that has not exited has called this, and makes their
/// earlier writes visible to the cluster: cooperative groups' `cluster.sync()`, PTX
/// `barrier.cluster`.
///
/// All threads of the cluster must reach the *same* call: a call in a branch that only some threads
/// take makes the launch hang.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub fn sync() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cluster.arrive.aligned"]
        fn arrive();
        #[link_name = "llvm.nvvm.barrier.cluster.wait.aligned"]
        fn wait();
    }
    // SAFETY: if not all threads come, the launch hangs or traps, but no memory is harmed.
    unsafe {
        arrive();
        wait();
    }
}

/// The address in the shared memory of block `rank` of the cluster that corresponds to `pointer` in
/// this block's: PTX `mapa`.
///
/// # Safety
/// `pointer` points to this block's shared memory, and `rank` is below [`size`]. The other block's
/// memory exists from its start until it exits, so put a [`sync`] before the first use of the
/// result and another after the last use.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn shared_of<T>(pointer: *mut T, rank: u32) -> *mut T {
    unsafe extern "C" {
        // `cuda_builder` defines it, because no Rust signature can express the pointers' address
        // spaces.
        fn __cuda_std_mapa(pointer: *mut u8, rank: u32) -> *mut u8;
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_mapa(pointer.cast(), rank) }.cast()
}
