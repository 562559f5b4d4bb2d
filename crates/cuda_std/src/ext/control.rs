//! What the compiler is told about the kernel's control flow.

use crate::gpu_only;

/// Keeps the loop around it from being unrolled: CUDA's `#pragma unroll 1`, PTX
/// `.pragma "nounroll"`.
///
/// Call it once in the loop's body, where no branch leads around it.
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

/// Returns the value in such a way that the compiler knows nothing of it. A loop that it bounds
/// stays a loop.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn opaque(value: u32) -> u32 {
    let hidden: u32;
    // SAFETY: it moves one register to another.
    unsafe {
        core::arch::asm!("mov.b32 {}, {};", out(reg32) hidden, in(reg32) value, options(pure, nomem, nostack))
    };
    hidden
}
