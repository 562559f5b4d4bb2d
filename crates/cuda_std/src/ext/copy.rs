//! Copies from global to shared memory, for which a thread need not wait, and a read of what has
//! arrived. No register holds a word on its way, so a thread can have many under way.
//!
//! A thread starts copies, and later [waits](wait) for all of them. Below sm_80 a copy is a load
//! and a store, and there is nothing to wait for.

use crate::gpu_only;

/// Starts a copy of 32 bits if `valid`: PTX `cp.async.ca.shared.global` (below sm_80 a load and a
/// store).
///
/// # Safety
/// If `valid`, `target` is shared memory and `source` is initialised global memory, both aligned to
/// 4 bytes. No thread uses `target` until this thread has waited for the copy, and another thread
/// only after a barrier behind that.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async".
#[gpu_only]
#[inline(always)]
pub unsafe fn word_if(target: *mut u32, source: *const u32, valid: bool) {
    unsafe extern "C" {
        fn __cuda_std_copy_word_if(target: *mut u32, source: *const u32, valid: bool);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_copy_word_if(target, source, valid) }
}

/// Starts a copy of 64 bits if `valid`: PTX `cp.async.ca.shared.global` (below sm_80 a load and a
/// store).
///
/// # Safety
/// That of [`word_if`], with an alignment of 8 bytes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async".
#[gpu_only]
#[inline(always)]
pub unsafe fn pair_if(target: *mut [u32; 2], source: *const [u32; 2], valid: bool) {
    unsafe extern "C" {
        fn __cuda_std_copy_pair_if(target: *mut [u32; 2], source: *const [u32; 2], valid: bool);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_copy_pair_if(target, source, valid) }
}

/// Starts a copy of 128 bits if `valid`, which puts nothing into the first-level cache: PTX
/// `cp.async.cg.shared.global` (below sm_80 a load and a store).
///
/// # Safety
/// That of [`word_if`], with an alignment of 16 bytes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async".
#[gpu_only]
#[inline(always)]
pub unsafe fn pack_if(target: *mut [u32; 4], source: *const [u32; 4], valid: bool) {
    unsafe extern "C" {
        fn __cuda_std_copy_pack_if(target: *mut [u32; 4], source: *const [u32; 4], valid: bool);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_copy_pack_if(target, source, valid) }
}

/// Starts a copy of 128 bits if `valid`, by way of the first-level cache: PTX
/// `cp.async.ca.shared.global` (below sm_80 a load and a store).
///
/// On Hopper this asks the second-level cache for whole lines, and a copy around the first-level
/// cache does not. Where neighbouring warps copy neighbouring bytes, 16 MiB in the second-level
/// cache take 3.9 us instead of 4.7 (H200, attempt 128 of `bench/NOTEBOOK.md`). Where each warp
/// goes through a range of its own, copies around the first-level cache take a tenth less.
///
/// # Safety
/// That of [`pack_if`].
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async".
#[gpu_only]
#[inline(always)]
pub unsafe fn cached_pack_if(target: *mut [u32; 4], source: *const [u32; 4], valid: bool) {
    unsafe extern "C" {
        fn __cuda_std_copy_cached_pack_if(
            target: *mut [u32; 4],
            source: *const [u32; 4],
            valid: bool,
        );
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_copy_cached_pack_if(target, source, valid) }
}

/// Reads 128 bits of shared memory: PTX `ld.shared.v4.b32`. The compiler does not split the access,
/// as it does with a plain one whose value meets those of other branches.
///
/// # Safety
/// `source` is initialised shared memory, aligned to 16 bytes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "ld".
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn read_pack(source: *const [u32; 4]) -> [u32; 4] {
    unsafe extern "C" {
        fn __cuda_std_load_shared_pack(pack: *mut u32, source: *const [u32; 4]);
    }
    let mut pack = [0; 4];
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_shared_pack(pack.as_mut_ptr(), source) };
    pack
}

/// Waits until all copies of this thread have arrived, whether a group has them or not: PTX
/// `cp.async.wait_all`.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "cp.async.wait_group / cp.async.wait_all".
#[gpu_only]
#[inline(always)]
pub fn wait() {
    unsafe extern "C" {
        fn __cuda_std_copy_wait();
    }
    // SAFETY: no precondition.
    unsafe { __cuda_std_copy_wait() }
}
