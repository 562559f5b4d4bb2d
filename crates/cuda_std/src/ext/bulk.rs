//! Bulk copies: one thread asks, and the copy engine brings kilobytes, past the registers. From sm_90 on.

use super::mbarrier::Barrier;
use crate::gpu_only;

/// Starts a copy of `bytes` from global to shared memory, which reports to `barrier`: PTX
/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`.
///
/// # Safety
/// `target` is shared memory and `source` global memory, both of so many bytes and aligned to 16; `bytes` is a multiple of
/// 16. Nobody uses `target` until `barrier`'s phase, which expects these bytes, is complete.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async.bulk"; CUDA C++ Programming Guide, "Asynchronous Data Copies using the Tensor Memory
/// Accelerator".
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared(target: *mut u8, source: *const u8, bytes: u32, barrier: *mut Barrier) {
    unsafe extern "C" {
        fn __cuda_std_bulk_copy_to_shared(target: *mut u8, source: *const u8, bytes: u32, barrier: *mut Barrier);
    }
    // SAFETY: the caller's word.
    unsafe { __cuda_std_bulk_copy_to_shared(target, source, bytes, barrier) }
}
