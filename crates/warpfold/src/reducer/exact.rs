//! Exact sums of floats, rounded once at the end.

mod of;

use std::fmt;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use super::{
    Error, Operation, Single,
    operation::{
        kernels,
        private::{RowKernel, SegmentKernel},
    },
    repair,
    shapes::KernelClass,
};
use crate::ptx::{EmbeddedKernel, rows, segments};
use flag::{MINUS_ZEROS, NAN, NEGATIVE_INFINITY, NUMBERS, POSITIVE_INFINITY};

/// The exact sum of floats, rounded once, to nearest even. The result is an `f32` for `f16`, `bf16`
/// and `f32`, and an `f64` for `f64`. The sum of no elements is 0.
///
/// The error is at most half a unit in the last place, however ill-conditioned the sum is. The same
/// elements give the same bits on every device and in every order. Subnormal numbers count in full.
/// Only the exact sum can overflow, never a partial sum. If the elements contain a NaN, or
/// infinities of both signs, the sum is a NaN that always has the same bits: it is quiet and
/// positive and has no payload. Otherwise, an infinity among the elements makes the sum infinite.
/// If all elements are -0, the sum is -0; every other sum of value 0 is +0.
///
/// ```
/// use warpfold::{Device, ReproducibleSum};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.0f32, 1e30, -1e30], ReproducibleSum)?, 1.0);
/// assert_eq!(device.reduce(&[1e-30f64, 1e300, 1e300, -1e300, -1e300], ReproducibleSum)?, 1e-30);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// A row or a segment has the bits of a whole array of the same elements:
///
/// ```
/// use warpfold::{Array, Device, ReproducibleSum};
///
/// let device = Device::simulator();
/// let matrix = Array::new(&[1.0f32, 1e30, -1e30, -0.0, 1e-45, f32::MAX], &[2, 3])?;
/// assert_eq!(device.reduce_rows(&matrix, ReproducibleSum)?, [1.0, f32::MAX]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For each addition, a kernel either proves that it is exact or keeps its rounding error (D. E.
/// Knuth, *The Art of Computer Programming*, vol. 2, 4.2.2). Bits that two `f64`s cannot hold go to
/// a long accumulator of integers (U. Kulisch, *Computer Arithmetic and Validity*, 2013). So the
/// time of a reduction depends on the values of the elements. It is shortest if their magnitudes
/// differ by a factor of less than about 2^20 (`f64`: 2^50), and several times longer if most
/// elements have to go to the long accumulator.
///
/// For rows and segments a kernel keeps each sum in three `f64`s, and proves that they are the sum.
/// A second kernel comes behind it in the same call. It sums those rows again, in long
/// accumulators, for which there is no proof; if there are none, it ends at once. The [raw
/// result](super::ArraysOperation::RowRaw) of a row or a segment is the rounded sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReproducibleSum;

kernels!(whole ReproducibleSum, exact: f16, bf16, f32, f64);

macro_rules! operations {
    ($($item:ident: $raw:ident -> $output:ident;)*) => {$(
        impl Operation<$item> for ReproducibleSum {
            type Arity = Single;
            type Raw = $raw;
            type Output = $output;
            const NAME: &'static str = "reproducible sum";
            const CLASS: KernelClass = KernelClass::Exact;
            const SLOT_WORDS: u64 = repair::WORDS;

            fn identity() -> Option<$raw> {
                Some($raw::IDENTITY)
            }

            fn combine(first: $raw, others: $raw) -> $raw {
                first.combine(&others)
            }

            fn finish(raw: $raw, _n: u64) -> Result<$output, Error> {
                Ok(raw.value())
            }
        }
    )*};
}

operations! {
    f16: ExactF32 -> f32;
    bf16: ExactF32 -> f32;
    f32: ExactF32 -> f32;
    f64: ExactF64 -> f64;
}

macro_rules! row_kernels {
    ($($item:ident -> $output:ident;)*) => {$(
        impl RowKernel<$item> for ReproducibleSum {
            const ROWS: &'static EmbeddedKernel = &rows::exact::$item;
            const HAS_COLUMNS: bool = false;
            const REPAIR_ROWS: Option<&'static EmbeddedKernel> = Some(&rows::repair::$item);
            type Written = $output;

            fn finish_written(written: $output, _n: u64) -> Result<$output, Error> {
                Ok(written)
            }
        }

        impl SegmentKernel<$item> for ReproducibleSum {
            const SEGMENTS: &'static EmbeddedKernel = &segments::exact::$item;
            const REPAIR_SEGMENTS: Option<&'static EmbeddedKernel> = Some(&segments::repair::$item);
        }
    )*};
}

row_kernels! {
    f16 -> f32;
    bf16 -> f32;
    f32 -> f32;
    f64 -> f64;
}

/// The bits of [`Exact::flags`].
mod flag {
    /// An element is NaN.
    pub(super) const NAN: u32 = 1;
    /// An element is positive infinity.
    pub(super) const POSITIVE_INFINITY: u32 = 2;
    /// An element is negative infinity.
    pub(super) const NEGATIVE_INFINITY: u32 = 4;
    /// An element is not -0.
    pub(super) const NUMBERS: u32 = 8;
    /// There are elements, and all of them are -0.
    pub(super) const MINUS_ZEROS: u32 = 16;
}

/// The exact sum of elements of type `f16`, `bf16` or `f32`.
pub type ExactF32 = Exact<f32, 13>;
/// The exact sum of elements of type `f64`.
pub type ExactF64 = Exact<f64, 69>;

/// An exact sum of floats, and the same sum rounded to nearest even: the [raw
/// result](super::Operation::Raw) of [`ReproducibleSum`]. Equal sums have equal bytes.
///
/// In memory, the rounded value comes first, then 4 bytes of flags, then the sum of the finite
/// elements. This sum is a fixed-point number in two's complement, `LIMBS` words of 32 bits, the
/// lowest word first. Its lowest bit is worth `2^-210` (`f64`: `2^-1074`), and it can hold the sum
/// of 2^64 elements of any size.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Exact<F, const LIMBS: usize> {
    value: F,
    /// The bits of `flag` that say which special values are among the elements.
    flags: u32,
    limbs: [u32; LIMBS],
}

// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl Zeroable for ExactF32 {}
// SAFETY: each field is `Pod`, and 4 + 4 + 13 * 4 bytes are a multiple of the alignment, 4: there
// is no padding.
unsafe impl Pod for ExactF32 {}
// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl Zeroable for ExactF64 {}
// SAFETY: each field is `Pod`, and 8 + 4 + 69 * 4 bytes are a multiple of the alignment, 8: there
// is no padding.
unsafe impl Pod for ExactF64 {}
const _: () =
    assert!(size_of::<ExactF32>() == 4 + 4 + 13 * 4 && size_of::<ExactF64>() == 8 + 4 + 69 * 4);

impl<F: Rounded, const LIMBS: usize> Exact<F, LIMBS> {
    /// The sum of no elements: 0, the identity of [`combine`](Self::combine).
    pub const IDENTITY: Self = Self { value: F::ZERO, flags: 0, limbs: [0; LIMBS] };

    /// The sum, rounded to nearest even; infinite if it is too large.
    ///
    /// It is NaN if the elements contain a NaN or infinities of both signs; otherwise it is
    /// infinite if they contain an infinity. If the finite elements cancel, it is 0, and -0 only if
    /// all elements are -0.
    pub fn value(&self) -> F {
        self.value
    }

    /// The exact sum of the elements of `self` and of `other`.
    #[must_use]
    pub fn combine(&self, other: &Self) -> Self {
        let mut carry = 0;
        let mut limbs = [0; LIMBS];
        for (limb, (&a, &b)) in limbs.iter_mut().zip(self.limbs.iter().zip(&other.limbs)) {
            let sum = u64::from(a) + u64::from(b) + carry;
            *limb = sum as u32;
            carry = sum >> 32;
        }
        let mut flags = self.flags | other.flags;
        if flags & NUMBERS != 0 {
            flags &= !MINUS_ZEROS;
        }
        Self { value: rounded(flags, &limbs), flags, limbs }
    }
}

impl<F: fmt::Debug, const LIMBS: usize> fmt::Debug for Exact<F, LIMBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exact").field("value", &self.value).finish_non_exhaustive()
    }
}

/// The float type that a sum is rounded to: `f32` or `f64`.
pub trait Rounded: Copy + private::Format {
    #[doc(hidden)]
    const ZERO: Self;
}

impl Rounded for f32 {
    const ZERO: Self = 0.0;
}

impl Rounded for f64 {
    const ZERO: Self = 0.0;
}

mod private {
    /// A float, taken apart.
    pub struct Parts {
        /// The significand with its leading bit. If the number is infinite or NaN, the bits behind
        /// the exponent and a leading bit.
        pub significand: u64,
        /// The field of the exponent.
        pub exponent: u32,
        pub is_negative: bool,
    }

    /// The properties of a float type that rounding needs.
    pub trait Format: Sized {
        /// The number of bits of a significand, including the leading one.
        const PRECISION: u32;
        /// The index, among all bits of the limbs, of the bit whose value is the least positive
        /// number of the type.
        const LEAST: u32;
        const INFINITY: u64;
        /// The field of the exponent of infinities and NaNs.
        const SPECIAL: u32 = (Self::INFINITY >> (Self::PRECISION - 1)) as u32;
        /// The bits without the sign, and whether there is a sign.
        fn magnitude(self) -> (u64, bool);
        fn from_magnitude(bits: u64, is_negative: bool) -> Self;

        fn parts(self) -> Parts {
            let (bits, is_negative) = self.magnitude();
            let exponent = (bits >> (Self::PRECISION - 1)) as u32;
            let fraction = bits & ((1 << (Self::PRECISION - 1)) - 1);
            let leading = u64::from(exponent != 0) << (Self::PRECISION - 1);
            Parts { significand: fraction | leading, exponent, is_negative }
        }
    }

    impl Format for f32 {
        const PRECISION: u32 = Self::MANTISSA_DIGITS;
        const LEAST: u32 = 210 - 149;
        const INFINITY: u64 = Self::INFINITY.to_bits() as u64;
        fn magnitude(self) -> (u64, bool) {
            (self.abs().to_bits().into(), self.is_sign_negative())
        }
        fn from_magnitude(bits: u64, is_negative: bool) -> Self {
            Self::from_bits(bits as u32 | u32::from(is_negative) << 31)
        }
    }

    impl Format for f64 {
        const PRECISION: u32 = Self::MANTISSA_DIGITS;
        const LEAST: u32 = 0;
        const INFINITY: u64 = Self::INFINITY.to_bits();
        fn magnitude(self) -> (u64, bool) {
            (self.abs().to_bits(), self.is_sign_negative())
        }
        fn from_magnitude(bits: u64, is_negative: bool) -> Self {
            Self::from_bits(bits | u64::from(is_negative) << 63)
        }
    }
}

/// Rounds a sum to nearest even.
fn rounded<F: Rounded>(flags: u32, limbs: &[u32]) -> F {
    let infinities = flags & (POSITIVE_INFINITY | NEGATIVE_INFINITY);
    if flags & NAN != 0 || infinities == POSITIVE_INFINITY | NEGATIVE_INFINITY {
        // This is the quiet NaN without a payload, which the kernels write too.
        return F::from_magnitude(F::INFINITY | 1 << (F::PRECISION - 2), false);
    }
    if infinities != 0 {
        return F::from_magnitude(F::INFINITY, infinities == NEGATIVE_INFINITY);
    }
    let is_negative = limbs.last().is_some_and(|&limb| limb >> 31 == 1);
    let mut magnitude = limbs.to_vec();
    if is_negative {
        let mut carry = true;
        for limb in &mut magnitude {
            (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
        }
    }
    let Some(top) = magnitude.iter().rposition(|&limb| limb != 0) else {
        return F::from_magnitude(0, flags == MINUS_ZEROS);
    };
    // Four limbs hold at least 97 bits of the magnitude, so a single bit that stands for all lower
    // limbs is enough for correct rounding.
    let limb = |below: usize| top.checked_sub(below).map_or(0, |i| u128::from(magnitude[i]));
    let is_more = magnitude[..top.saturating_sub(3)].iter().any(|&limb| limb != 0);
    let leading = limb(0) << 96 | limb(1) << 64 | limb(2) << 32 | limb(3) | u128::from(is_more);

    // The indices, among all bits of the limbs, of the leading bit and of the result's last bit.
    // The last bit is the lowest bit of the significand or, for a subnormal result, the bit of the
    // least positive number.
    let leading_bit = leading.ilog2();
    let leading_place = 32 * top as u32 + leading_bit - 96;
    let last_place = (leading_place + 1).saturating_sub(F::PRECISION).max(F::LEAST);
    let dropped = leading_bit - (leading_place - last_place);
    let significand = (leading >> dropped) as u64;
    let (rest, half) = (leading << (128 - dropped), 1 << 127);
    let up = rest > half || rest == half && significand % 2 == 1;
    // The addition is meant to carry into the exponent field, which lies above the significand: the
    // significand's leading bit adds 1 to it, and so does a carry from rounding up.
    let bits =
        (u64::from(last_place - F::LEAST) << (F::PRECISION - 1)) + significand + u64::from(up);
    F::from_magnitude(bits.min(F::INFINITY), is_negative)
}
