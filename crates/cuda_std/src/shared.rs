//! Shared memory, of which each block has its own copy.

use crate::gpu_only;

/// The block's dynamic shared memory, as large as the launch asked for, aligned to 16 bytes and
/// undefined at first.
///
/// Every call in a kernel returns the same pointer, whatever `T` is. This is CUDA's
/// `extern __shared__ T data[]`.
///
/// # Panics
/// On the host, always.
///
/// Source: CUDA C++ Programming Guide, "Shared Memory"; PTX ISA, "State Spaces: Shared".
#[gpu_only]
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    unsafe extern "C" {
        // `cuda_builder` defines it, as the address of an `addrspace(3)` array without a size.
        fn __cuda_std_dynamic_shared() -> *mut u8;
    }
    // SAFETY: the function has no precondition; it only takes an address.
    unsafe { __cuda_std_dynamic_shared() }.cast()
}
