//! What the compiler is told about the kernel's control flow.

use crate::gpu_only;

/// Keeps the loop that it stands in as it is written: CUDA's `#pragma unroll 1`, PTX `.pragma "nounroll"`.
///
/// To be called once in the body, where no branch leads around it.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "Pragma Strings: nounroll".
#[gpu_only]
#[inline(always)]
pub fn no_unroll() {
    // SAFETY: it is a directive, and does nothing when it runs.
    unsafe { core::arch::asm!(".pragma \"nounroll\";", options(nomem, nostack, preserves_flags)) };
}
