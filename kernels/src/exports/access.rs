//! The kernels of the access patterns, named `access_<pattern>…`. A PTX module holds one pattern.

use crate::access::constant::constant;
use crate::access::divide::{Mask, Quotient, Remainder, Shift, divide};
use crate::access::fill::fill;
#[cfg(feature = "ext")]
use crate::access::math::{FastExp, FastSin, PreciseExp, PreciseSin, math};
use crate::access::offset::{offset_copy, offset_read};
use crate::access::permuted::{permuted_copy, permuted_read};
use crate::access::shared::{shared_broadcast, shared_offset, shared_stride};
use crate::access::stride::{stride_copy, stride_read};
#[cfg(feature = "ext")]
use crate::access::transfer::transfer_work;
#[cfg(feature = "ext")]
use crate::access::unroll::unroll;
use crate::access::width::{Four, Two, width_copy, width_read};

/// Stamps out kernels: `name = function[<…>](parameters);`.
macro_rules! kernels {
    ($($name:ident = $function:ident $(<$($generic:tt),*>)? ($($parameter:ident: $t:ty),*);)*) => {$(
        #[doc = concat!(
            "[`", stringify!($function), "`]", $(" for ", $("`", stringify!($generic), "` ",)*)? "."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`access`](crate::access)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name($($parameter: $t),*) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function $(::<$($generic),*>)? ($($parameter),*) }
        }
    )*};
}

#[rustfmt::skip]
kernels! {
    access_fill = fill(output: *mut u32, n: usize, seed: u32);
    access_offset_read = offset_read(input: *const u32, output: *mut u32, n: usize, offset: u32);
    access_offset_copy = offset_copy(input: *const u32, output: *mut u32, n: usize, offset: u32);
    access_stride_read = stride_read(input: *const u32, output: *mut u32, n: usize, stride: u32);
    access_stride_copy = stride_copy(input: *const u32, output: *mut u32, n: usize, stride: u32);
    access_width_read4 = width_read<u32>(input: *const u32, output: *mut u32, n: usize);
    access_width_read8 = width_read<Two>(input: *const Two, output: *mut u32, n: usize);
    access_width_read16 = width_read<Four>(input: *const Four, output: *mut u32, n: usize);
    access_width_copy4 = width_copy<u32>(input: *const u32, output: *mut u32, n: usize);
    access_width_copy8 = width_copy<Two>(input: *const Two, output: *mut Two, n: usize);
    access_width_copy16 = width_copy<Four>(input: *const Four, output: *mut Four, n: usize);
    access_shared_stride = shared_stride(output: *mut u32, stride: u32, rounds: u32, seed: u32);
    access_shared_offset = shared_offset(output: *mut u32, offset: u32, rounds: u32, seed: u32);
    access_shared_broadcast = shared_broadcast(output: *mut u32, group: u32, rounds: u32, seed: u32);
    access_constant = constant(output: *mut u32, distinct: u32, rounds: u32);
    access_divide_quotient_u32 = divide<u32, Quotient>(output: *mut u32, operand: u32, rounds: u32);
    access_divide_remainder_u32 = divide<u32, Remainder>(output: *mut u32, operand: u32, rounds: u32);
    access_divide_shift_u32 = divide<u32, Shift>(output: *mut u32, operand: u32, rounds: u32);
    access_divide_mask_u32 = divide<u32, Mask>(output: *mut u32, operand: u32, rounds: u32);
    access_divide_quotient_u64 = divide<u64, Quotient>(output: *mut u64, operand: u64, rounds: u32);
    access_divide_remainder_u64 = divide<u64, Remainder>(output: *mut u64, operand: u64, rounds: u32);
    access_divide_shift_u64 = divide<u64, Shift>(output: *mut u64, operand: u64, rounds: u32);
    access_divide_mask_u64 = divide<u64, Mask>(output: *mut u64, operand: u64, rounds: u32);
}

#[cfg(feature = "ext")]
#[rustfmt::skip]
kernels! {
    access_unroll_1 = unroll<1>(input: *const u32, output: *mut u32, n: usize);
    access_unroll_2 = unroll<2>(input: *const u32, output: *mut u32, n: usize);
    access_unroll_4 = unroll<4>(input: *const u32, output: *mut u32, n: usize);
    access_unroll_8 = unroll<8>(input: *const u32, output: *mut u32, n: usize);
    access_math_sin_fast = math<FastSin>(input: *const f32, output: *mut f32, n: usize, rounds: u32, zero: u32);
    access_math_sin_precise = math<PreciseSin>(input: *const f32, output: *mut f32, n: usize, rounds: u32, zero: u32);
    access_math_exp_fast = math<FastExp>(input: *const f32, output: *mut f32, n: usize, rounds: u32, zero: u32);
    access_math_exp_precise = math<PreciseExp>(input: *const f32, output: *mut f32, n: usize, rounds: u32, zero: u32);
    access_transfer_work = transfer_work(input: *const u32, output: *mut u32, n: usize, rounds: u32);
}

/// Stamps out kernels that take a permutation as four words, because a kernel's parameter cannot be
/// an array.
macro_rules! permuted {
    ($($name:ident = $function:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`], by the permutation `[a, b, c, d]`.")]
        ///
        /// # Safety
        /// The launch's contract (see [`access`](crate::access)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const u32, output: *mut u32, n: usize, a: u64, b: u64, c: u64, d: u64) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function(input, output, n, [a, b, c, d]) }
        }
    )*};
}

permuted! {
    access_permuted_read = permuted_read;
    access_permuted_copy = permuted_copy;
}
