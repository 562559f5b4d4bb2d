//! Barriers in shared memory that count arrivals and bytes. Asynchronous copies report to them. All
//! functions here need sm_90.
//!
//! A barrier is 8 bytes of shared memory, aligned to 8. It goes through one phase after the other.
//! A phase is complete when as many threads have arrived as [`init`] asked for, and all bytes that
//! [`arrive_expect`] announced have come. A thread that waits names the phase by its parity: 0 for
//! the first phase, 1 for the second, 0 for the third. (PTX ISA, "mbarrier".)

use crate::gpu_only;

/// A barrier. Only the functions of this module read or write it.
pub type Barrier = u64;

/// Begins a barrier's first phase. Each of its phases waits for `arrivals` arrivals.
///
/// # Safety
/// `barrier` is shared memory, aligned, and nobody uses it yet.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn init(barrier: *mut Barrier, arrivals: u32) {
    unsafe extern "C" {
        fn __cuda_std_mbarrier_init(barrier: *mut Barrier, arrivals: u32);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_mbarrier_init(barrier, arrivals) }
}

/// Makes the thread's earlier writes to shared memory, such as those of [`init`], visible to
/// asynchronous copies: PTX `fence.proxy.async.shared::cta`.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub fn fence_async() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.fence.proxy.async.shared_cta"]
        fn fence();
    }
    // SAFETY: a fence has no precondition.
    unsafe { fence() }
}

/// Arrives, and announces `bytes` more bytes for the current phase: PTX
/// `mbarrier.arrive.expect_tx`.
///
/// # Safety
/// `barrier` is initialised, and its current phase still waits for an arrival.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn arrive_expect(barrier: *mut Barrier, bytes: u32) {
    unsafe extern "C" {
        fn __cuda_std_mbarrier_arrive_expect(barrier: *mut Barrier, bytes: u32);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_mbarrier_arrive_expect(barrier, bytes) }
}

/// Waits until the phase of that parity is complete, and makes the copied bytes visible: PTX
/// `mbarrier.try_wait.parity`.
///
/// # Safety
/// `barrier` is initialised, and `parity` is that of the current phase or of the one before it.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn wait(barrier: *mut Barrier, parity: u32) {
    unsafe extern "C" {
        fn __cuda_std_mbarrier_try_wait(barrier: *mut Barrier, parity: u32) -> bool;
    }
    // SAFETY: the caller keeps this function's contract. The instruction itself waits for a while.
    while !unsafe { __cuda_std_mbarrier_try_wait(barrier, parity) } {}
}
