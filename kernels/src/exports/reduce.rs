//! The production kernels, named `reduce_<op>_<type>`: a module holds one.
//!
//! Where the bits are the same there is one kernel. Of signed integers, `sum`, `product`, `sumsq`, `dot` and `ssd` of 64 and 128
//! bits, `wrapping`, `and`, `or`, `xor` and `count` are those of the unsigned type of their width. Of unsigned ones, `sumabs` is
//! `sum` and `maxabs` is `max`. Of integers, `minimum` and the like are `min` and the like.

use crate::reduce::meet::Polled;

/// Stamps out kernels: `name: type = operation => raw result, loads in flight [then loads behind whole rounds][, way to
/// meet];`. Behind whole rounds there are four loads at once, if it does not say how many: six where ptxas would use the first of a
/// whole round before it asked for the last, and two where the arithmetic of one should be hidden by the other.
macro_rules! unary {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal $(then $rest:literal)? $(, $meet:ty)?;)*) => {$(
        #[doc = concat!("`", stringify!($op), "`, with ", stringify!($loads), " loads in flight.")]
        ///
        /// # Safety
        /// The launch's contract (see [`reduce`](crate::reduce)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, n: usize, span: usize, keep: f32, output: *mut $raw, slots: *mut u64) {
            type Meet = $crate::exports::reduce::either!($($meet)?);
            const REST: usize = $crate::exports::reduce::behind!($($rest)?);
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::reduce::grid::unary::<$t, $op, Meet, $loads, REST>(input, n, span, keep, output, slots) }
        }
    )*};
}

/// As `unary!`, of two arrays.
macro_rules! pairs {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal;)*) => {$(
        #[doc = concat!("`", stringify!($op), "`, with ", stringify!($loads), " loads in flight of each array.")]
        ///
        /// # Safety
        /// The launch's contract (see [`reduce`](crate::reduce)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(
            left: *const $t,
            right: *const $t,
            n: usize,
            span: usize,
            keep: f32,
            output: *mut $raw,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::reduce::grid::pairs::<$t, $op, $crate::exports::reduce::Polled, $loads>(
                    (left, right),
                    n,
                    span,
                    keep,
                    output,
                    slots,
                )
            }
        }
    )*};
}

/// The type that is given, else the usual one.
macro_rules! either {
    () => {
        $crate::exports::reduce::Polled
    };
    ($meet:ty) => {
        $meet
    };
}

/// The number of loads behind whole rounds: the one given, or [the usual one](unary).
macro_rules! behind {
    () => {
        4
    };
    ($rest:literal) => {
        $rest
    };
}

use behind;
use either;

pub mod exact;
pub mod extremes;
pub mod rest;
pub mod sums;
