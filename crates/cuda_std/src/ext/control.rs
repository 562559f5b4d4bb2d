//! Directives to the compiler about the kernel's control flow.

use crate::gpu_only;

/// Keeps the loop around it from being unrolled: CUDA's `#pragma unroll 1`, PTX
/// `.pragma "nounroll"`.
///
/// Call it once in the loop's body, at a place that every iteration passes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "Pragma Strings: nounroll".
#[gpu_only]
#[inline(always)]
pub fn no_unroll() {
    // SAFETY: it is a directive to ptxas and no instruction.
    unsafe { core::arch::asm!(".pragma \"nounroll\";", options(nomem, nostack, preserves_flags)) };
}

/// Keeps the loop around it from being unrolled, by ptxas as [`no_unroll`] does, and by LLVM too.
/// So the loop has one copy of its body in the machine code.
///
/// Call it once in the loop's body, at a place that every iteration passes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "Pragma Strings: nounroll"; LLVM Language Reference, `noduplicate`.
#[gpu_only]
#[inline(always)]
pub fn keep_rolled() {
    unsafe extern "C" {
        fn __cuda_std_keep_rolled();
    }
    // SAFETY: it is a directive to the compilers and no instruction.
    unsafe { __cuda_std_keep_rolled() }
}

/// Returns the value unchanged, but hides from the compiler that it is the same value. A loop with
/// such a bound stays a loop, because the compiler does not know how often it runs.
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

/// Returns the value unchanged, each time in a new register. The compiler computes what follows
/// from it where it is needed, also in a loop, and not before, so that it takes no register in
/// between.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn anew(value: u32) -> u32 {
    let again: u32;
    // SAFETY: it moves one register to another.
    unsafe {
        core::arch::asm!("mov.b32 {}, {};", out(reg32) again, in(reg32) value, options(nomem, nostack))
    };
    again
}

/// As [`anew`], for an `f64`. Behind a branch, the compiler does not compute what follows from the
/// value for threads that do not take the branch. On the host, it is the value itself.
#[inline(always)]
#[must_use]
pub fn anew_f64(value: f64) -> f64 {
    #[cfg(target_os = "cuda")]
    {
        let again: f64;
        // SAFETY: it moves one register to another.
        unsafe {
            core::arch::asm!("mov.b64 {}, {};", out(reg64) again, in(reg64) value, options(nomem, nostack))
        };
        again
    }
    #[cfg(not(target_os = "cuda"))]
    value
}

/// The number of the thread in its block along x, each time in a new register. So neither the
/// number nor what follows from it takes a register from where the kernel reads it first to where
/// it reads it again.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "Special Registers: %tid".
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn anew_thread_idx_x() -> u32 {
    let number: u32;
    // SAFETY: it reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %tid.x;", out(reg32) number, options(nomem, nostack)) };
    number
}
