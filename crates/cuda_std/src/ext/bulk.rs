//! Bulk copies: one thread asks for kilobytes, and the copy engine brings them to shared memory
//! without a detour through registers. They need sm_90.

use super::mbarrier::Barrier;
use crate::gpu_only;

/// Starts a copy of `bytes` from global to shared memory, which reports to `barrier`: PTX
/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`.
///
/// # Safety
/// `target` is shared memory and `source` global memory. Both have at least `bytes` bytes and are
/// aligned to 16, and `bytes` is a multiple of 16. The current phase of `barrier` expects these
/// bytes, and no thread uses `target` until that phase is complete.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async.bulk"; CUDA C++ Programming Guide, "Asynchronous Data Copies using
/// the Tensor Memory Accelerator".
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared(
    target: *mut u8,
    source: *const u8,
    bytes: u32,
    barrier: *mut Barrier,
) {
    unsafe extern "C" {
        fn __cuda_std_bulk_copy_to_shared(
            target: *mut u8,
            source: *const u8,
            bytes: u32,
            barrier: *mut Barrier,
        );
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_bulk_copy_to_shared(target, source, bytes, barrier) }
}
