//! The types that are summed, and those that the sums are rounded to.

use cuda_std::ext::half;

/// An IEEE binary16 number, by its bits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct F16(u16);

/// A bfloat16 number, the high half of an `f32`, by its bits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Bf16(u16);

/// 16 bytes of elements, which are loaded together.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Pack([u32; 4]);

impl Pack {
    /// Elements of a type in it.
    pub const fn lanes<T>() -> usize {
        size_of::<Self>() / size_of::<T>()
    }
}

/// A floating-point type to sum.
///
/// # Safety
/// Any bits are a number, of at most 16 bytes.
pub unsafe trait Item: Copy {
    /// What sums are rounded to: `f32`, or `f64` for `f64`.
    type Value: Rounded;
    /// Whether an `f64` holds sums of a few numbers of about one magnitude exactly.
    const IS_NARROW: bool;
    /// 16 bytes of -0, which changes no sum.
    const MINUS_ZEROS: Pack;
    /// An element of a pack.
    fn lane(pack: Pack, lane: usize) -> Self;
    /// The same number as an `f64`.
    fn widen(self) -> f64;
}

macro_rules! items {
    ($($t:ty => $value:ty, $is_narrow:literal, $minus_zeros:expr, $lane:expr, $widen:expr;)*) => {$(
        // SAFETY: they are.
        unsafe impl Item for $t {
            type Value = $value;
            const IS_NARROW: bool = $is_narrow;
            const MINUS_ZEROS: Pack = Pack($minus_zeros);
            #[inline(always)]
            fn lane(pack: Pack, lane: usize) -> Self {
                $lane(pack.0, lane)
            }
            #[inline(always)]
            fn widen(self) -> f64 {
                $widen(self)
            }
        }
    )*};
}

items! {
    F16 => f32, true, [0x8000_8000; 4], |words, lane| F16(half_lane(words, lane)), |x: F16| f64::from(half::f16_to_f32(x.0));
    Bf16 => f32, true, [0x8000_8000; 4], |words, lane| Bf16(half_lane(words, lane)), |x: Bf16| f64::from(f32::from_bits(u32::from(x.0) << 16));
    f32 => f32, true, [0x8000_0000; 4], |words: [u32; 4], lane: usize| f32::from_bits(words[lane]), f64::from;
    f64 => f64, false, [0, 0x8000_0000, 0, 0x8000_0000], |words: [u32; 4], lane: usize| f64::from_bits(u64::from(words[2 * lane + 1]) << 32 | u64::from(words[2 * lane])), |x| x;
}

fn half_lane(words: [u32; 4], lane: usize) -> u16 {
    (words[lane / 2] >> (16 * (lane % 2))) as u16
}

/// A floating-point type that exact sums are rounded to.
pub trait Rounded: Copy {
    /// Bits of a significand, the leading one included.
    const PRECISION: u32;
    /// The least positive number is `2^(LEAST - 1074)`.
    const LEAST: u32;
    /// The bits of infinity.
    const INFINITY: u64;
    /// The bits of the one NaN that exact sums give.
    const NAN: u64;
    /// The number of these bits, which fit the type, negated or not.
    fn from_magnitude(bits: u64, is_negative: bool) -> Self;
}

macro_rules! rounded {
    ($($t:ty, $bits:ty;)*) => {$(
        impl Rounded for $t {
            const PRECISION: u32 = <$t>::MANTISSA_DIGITS;
            const LEAST: u32 = (1074 + <$t>::MIN_EXP - <$t>::MANTISSA_DIGITS as i32) as u32;
            const INFINITY: u64 = <$t>::INFINITY.to_bits() as u64;
            const NAN: u64 = <Self as Rounded>::INFINITY | 1 << (Self::PRECISION - 2);
            #[inline(always)]
            fn from_magnitude(bits: u64, is_negative: bool) -> Self {
                let sign = (is_negative as $bits) << (<$bits>::BITS - 1);
                <$t>::from_bits(bits as $bits | sign)
            }
        }
    )*};
}

rounded! {
    f32, u32;
    f64, u64;
}
