//! What rust-cuda lacks.

use crate::gpu_only;

unsafe extern "C" {
    // Defined by cuda_builder.
    #[cfg(target_os = "cuda")]
    fn __cuda_std_store_streaming_1(to: *mut u32, a: u32);
    #[cfg(target_os = "cuda")]
    fn __cuda_std_store_streaming_2(to: *mut u32, a: u32, b: u32);
    #[cfg(target_os = "cuda")]
    fn __cuda_std_store_streaming_4(to: *mut u32, a: u32, b: u32, c: u32, d: u32);
}

/// Stores a word that is not read again soon: `st.global.cs`.
///
/// # Safety
/// `to` is valid and aligned, in global memory.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_streaming(to: *mut u32, [a]: [u32; 1]) {
    // SAFETY: the caller's contract is the callee's.
    unsafe { __cuda_std_store_streaming_1(to, a) }
}

/// Stores two words that are not read again soon: `st.global.cs.v2`.
///
/// # Safety
/// `to` is valid and aligned to 8 bytes, in global memory.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_streaming_2(to: *mut u32, [a, b]: [u32; 2]) {
    // SAFETY: the caller's contract is the callee's.
    unsafe { __cuda_std_store_streaming_2(to, a, b) }
}

/// Stores four words that are not read again soon: `st.global.cs.v4`.
///
/// # Safety
/// `to` is valid and aligned to 16 bytes, in global memory.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_streaming_4(to: *mut u32, [a, b, c, d]: [u32; 4]) {
    // SAFETY: the caller's contract is the callee's.
    unsafe { __cuda_std_store_streaming_4(to, a, b, c, d) }
}
