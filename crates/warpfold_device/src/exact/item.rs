//! The types that are summed, and the types that their sums are rounded to.

use super::expansion::to_odd;
use crate::item::{Bf16, F16, Item, Pack};

/// A floating-point type to sum.
pub trait Float: Item {
    /// The type that sums are rounded to: `f64` for `f64`, and `f32` for all others.
    type Value: Rounded;
    /// Whether one `f64` can hold the sum of a few numbers of similar magnitude exactly.
    const IS_NARROW: bool;
    /// 16 bytes of -0, which changes no sum.
    const MINUS_ZEROS: Pack;
    /// The same number as an `f64`.
    fn widen(self) -> f64;
}

macro_rules! floats {
    ($($t:ty => $value:ty, $is_narrow:literal, $minus_zeros:expr;)*) => {$(
        impl Float for $t {
            type Value = $value;
            const IS_NARROW: bool = $is_narrow;
            const MINUS_ZEROS: Pack = $minus_zeros;
            #[inline(always)]
            fn widen(self) -> f64 {
                self.wide().into()
            }
        }
    )*};
}

floats! {
    F16 => f32, true, [0x8000_8000; 4];
    Bf16 => f32, true, [0x8000_8000; 4];
    f32 => f32, true, [0x8000_0000; 4];
    f64 => f64, false, [0, 0x8000_0000, 0, 0x8000_0000];
}

/// A floating-point type that exact sums are rounded to.
pub trait Rounded: Copy {
    /// The number of bits in a significand, the leading bit included.
    const PRECISION: u32;
    /// The smallest positive number is `2^(LEAST - 1074)`.
    const LEAST: u32;
    /// The bits of infinity.
    const INFINITY: u64;
    /// The bits of the only NaN that exact sums give.
    const NAN: u64;
    /// The bits of a NaN that no sum gives. It stands where a sum is not known yet.
    const MARK: u64;
    /// Whether this is the [mark](Self::MARK).
    fn is_mark(self) -> bool;
    /// The sum of two numbers, rounded once, to nearest even. The second one may be rounded to odd
    /// and is far smaller than the first one, or the first one is exact.
    fn of_sum(high: f64, low: f64) -> Self;
    /// The number with these bits, which fit the type, or its negative.
    fn from_magnitude(bits: u64, is_negative: bool) -> Self;
}

macro_rules! rounded {
    ($($t:ty, $bits:ty, $of_sum:expr;)*) => {$(
        impl Rounded for $t {
            const PRECISION: u32 = <$t>::MANTISSA_DIGITS;
            const LEAST: u32 = (1074 + <$t>::MIN_EXP - <$t>::MANTISSA_DIGITS as i32) as u32;
            const INFINITY: u64 = <$t>::INFINITY.to_bits() as u64;
            const NAN: u64 = <Self as Rounded>::INFINITY | 1 << (Self::PRECISION - 2);
            const MARK: u64 = <Self as Rounded>::NAN + 1;
            #[inline(always)]
            fn is_mark(self) -> bool {
                u64::from(self.to_bits()) == Self::MARK
            }
            #[inline(always)]
            fn of_sum(high: f64, low: f64) -> Self {
                $of_sum(high, low)
            }
            #[inline(always)]
            fn from_magnitude(bits: u64, is_negative: bool) -> Self {
                let sign = (is_negative as $bits) << (<$bits>::BITS - 1);
                <$t>::from_bits(bits as $bits | sign)
            }
        }
    )*};
}

rounded! {
    // An `f64` that is rounded to odd can be rounded again, because it has two bits more at least.
    f32, u32, |high, low| to_odd(high, low) as f32;
    f64, u64, |high: f64, low| high + low;
}
