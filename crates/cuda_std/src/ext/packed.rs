//! Arithmetic on integers that are packed in a 32-bit register: PTX `dp4a` and `dp2a`. They need
//! sm_61.

use crate::gpu_only;

macro_rules! dots {
    ($($(#[$doc:meta])* $name:ident: $sum:ty = $definition:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name(a: u32, b: u32, c: $sum) -> $sum {
            unsafe extern "C" {
                fn $definition(a: u32, b: u32, c: $sum) -> $sum;
            }
            // SAFETY: arithmetic has no precondition.
            unsafe { $definition(a, b, c) }
        }
    )*};
}

dots! {
    /// Adds the four products of the signed bytes of `a` and `b` to `c`, and wraps.
    dp4a_signed: i32 = __cuda_std_dp4a_signed;
    /// Adds the four products of the unsigned bytes of `a` and `b` to `c`, and wraps.
    dp4a_unsigned: u32 = __cuda_std_dp4a_unsigned;
    /// Adds the two products of the signed halves of `a` and the low two bytes of `b` to `c`, and
    /// wraps.
    dp2a_signed: i32 = __cuda_std_dp2a_signed;
    /// Adds the two products of the unsigned halves of `a` and the low two bytes of `b` to `c`, and
    /// wraps.
    dp2a_unsigned: u32 = __cuda_std_dp2a_unsigned;
}
