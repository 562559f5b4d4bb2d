//! The architecture that the code is compiled for.

use crate::gpu_only;

/// The architecture that the module is compiled for, times ten: 750 for `sm_75`, 900 for `sm_90`.
/// CUDA's `__CUDA_ARCH__`.
///
/// The compiler knows the number as a constant. If a branch depends on it, the compiler keeps only
/// the arm that is taken.
///
/// # Panics
/// On the host, always.
///
/// Source: LLVM, "User Guide for NVPTX Back-end", "NVVM Reflect Pass".
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn arch() -> u32 {
    unsafe extern "C" {
        fn __cuda_std_arch() -> u32;
    }
    // SAFETY: no precondition.
    unsafe { __cuda_std_arch() }
}
