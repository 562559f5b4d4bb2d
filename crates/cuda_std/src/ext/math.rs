//! Functions of floats for which PTX has an instruction.

use crate::gpu_only;

/// Declares functions of one number, each of which is one instruction.
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
    /// An approximate sine: CUDA's `__sinf`, PTX `sin.approx.f32`. From -pi to pi its absolute
    /// error is at most 2^-20.5 (PTX ISA, "sin"); outside it grows with `x`.
    sin_approx = "llvm.nvvm.sin.approx.f";
    /// An approximate 2 to the power of `x`: CUDA's `exp2f`, PTX `ex2.approx.f32`. Its error is at
    /// most 2 units in the last place (PTX ISA, "ex2").
    ex2_approx = "llvm.nvvm.ex2.approx.f";
}

/// Declares fused multiplications and additions.
macro_rules! fused {
    ($($(#[$doc:meta])* $name:ident: $float:ty = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name(a: $float, b: $float, c: $float) -> $float {
            #[cfg(target_os = "cuda")]
            {
                unsafe extern "C" {
                    #[link_name = $intrinsic]
                    fn fma(a: $float, b: $float, c: $float) -> $float;
                }
                // SAFETY: arithmetic has no precondition.
                unsafe { fma(a, b, c) }
            }
            #[cfg(not(target_os = "cuda"))]
            a.mul_add(b, c)
        }
    )*};
}

fused! {
    /// `a * b + c`, rounded once: PTX `fma.rn.f32`. On the host it is the standard library's
    /// function.
    fma: f32 = "llvm.fma.f32";
    /// The same as [`fma`] for `f64`: PTX `fma.rn.f64`.
    fma_f64: f64 = "llvm.fma.f64";
}

/// Declares operations on floats that are one instruction, or a few on older devices.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($operand:ident: $from:ty),*) -> $to:ty = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name($($operand: $from),*) -> $to {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn operation($($operand: $from),*) -> $to;
            }
            // SAFETY: arithmetic has no precondition.
            unsafe { operation($($operand),*) }
        }
    )*};
}

operations! {
    /// The exact value of the half-precision number with these bits: PTX `cvt.f32.f16`.
    f16_to_f32(bits: u16) -> f32 = "llvm.convert.from.fp16.f32";
    /// The bits of the nearest half-precision number, ties to even: PTX `cvt.rn.f16.f32`.
    f32_to_f16(x: f32) -> u16 = "llvm.convert.to.fp16.f32";
    /// IEEE 754-2019 `minimum`: a NaN if either is one, and -0 below +0. PTX `min.NaN.f32`, from
    /// sm_80 on.
    minimum_f32(a: f32, b: f32) -> f32 = "llvm.minimum.f32";
    /// IEEE 754-2019 `maximum`: a NaN if either is one, and +0 above -0. PTX `max.NaN.f32`, from
    /// sm_80 on.
    maximum_f32(a: f32, b: f32) -> f32 = "llvm.maximum.f32";
    /// The same as [`minimum_f32`], but for `f64` it takes three instructions.
    minimum_f64(a: f64, b: f64) -> f64 = "llvm.minimum.f64";
    /// The square root, rounded once: PTX `sqrt.rn.f64`.
    sqrt_f64(x: f64) -> f64 = "llvm.sqrt.f64";
    /// The same as [`maximum_f32`], but for `f64` it takes three instructions.
    maximum_f64(a: f64, b: f64) -> f64 = "llvm.maximum.f64";
}
