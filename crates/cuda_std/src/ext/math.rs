//! Functions of `f32` that PTX has an instruction for.

use crate::gpu_only;

/// Declares functions of one number: one instruction each.
macro_rules! approximations {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name(x: f32) -> f32 {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn approximate(x: f32) -> f32;
            }
            // SAFETY: arithmetic has no precondition.
            unsafe { approximate(x) }
        }
    )*};
}

approximations! {
    /// The sine, fast: CUDA's `__sinf`, PTX `sin.approx.f32`. From -pi to pi it is at most 2^-20.5 off (PTX ISA, "sin"),
    /// however small the sine is; beyond that, more and more.
    sin_approx = "llvm.nvvm.sin.approx.f";
    /// 2 to the power of `x`, fast: CUDA's `exp2f`, PTX `ex2.approx.f32`, at most 2 units in the last place off (PTX ISA,
    /// "ex2").
    ex2_approx = "llvm.nvvm.ex2.approx.f";
}

/// `a * b + c`, rounded once: PTX `fma.rn.f32`. On the host it is the standard library's.
#[inline(always)]
#[must_use]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.fma.f32"]
            fn fma(a: f32, b: f32, c: f32) -> f32;
        }
        // SAFETY: arithmetic has no precondition.
        unsafe { fma(a, b, c) }
    }
    #[cfg(not(target_os = "cuda"))]
    a.mul_add(b, c)
}
