//! Arithmetic on integers that are packed in a 32-bit register: PTX `dp4a` and `dp2a`, from sm_61 on.

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
    /// `c` and the four products of the bytes of `a` and `b`, signed; it wraps.
    dp4a_signed: i32 = __cuda_std_dp4a_signed;
    /// `c` and the four products of the bytes of `a` and `b`, unsigned; it wraps.
    dp4a_unsigned: u32 = __cuda_std_dp4a_unsigned;
    /// `c` and the two products of the halves of `a` and the low two bytes of `b`, signed; it wraps.
    dp2a_signed: i32 = __cuda_std_dp2a_signed;
    /// `c` and the two products of the halves of `a` and the low two bytes of `b`, unsigned; it wraps.
    dp2a_unsigned: u32 = __cuda_std_dp2a_unsigned;
}
