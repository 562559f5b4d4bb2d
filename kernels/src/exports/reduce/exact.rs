//! Exact sums.

use crate::reduce::exact::{NARROW_LIMBS, Raw, WIDE_LIMBS, exact};
use crate::reduce::item::{Bf16, F16};

/// Stamps out kernels: `name = exact<type, limbs, loads> -> type of the result;`.
macro_rules! kernels {
    ($($name:ident = $function:ident<$t:ty, $limbs:ident, $loads:literal> -> $value:ty;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch's contract (see [`exact`](crate::reduce::exact)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, n: usize, span: usize, keep: f32, output: *mut Raw<$value, $limbs>, slots: *mut u64) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $limbs, $loads>(input, n, span, keep, output, slots) }
        }
    )*};
}

#[rustfmt::skip]
kernels! {
    reduce_exact_f16 = exact<F16, NARROW_LIMBS, 4> -> f32;
    reduce_exact_bf16 = exact<Bf16, NARROW_LIMBS, 4> -> f32;
    reduce_exact_f32 = exact<f32, NARROW_LIMBS, 4> -> f32;
    reduce_exact_f64 = exact<f64, WIDE_LIMBS, 8> -> f64;
}
