//! The types that elements can have.

use std::{cmp::Ordering, fmt};

use bytemuck::Pod;
use half::{bf16, f16};

/// A type of elements that can be reduced: `i8`, `u8`, `i16`, `u16`, `i32`, `u32`, `i64`, `u64`,
/// `i128`, `u128`, `f32`, `f64`, and [`f16`](struct@f16) and [`bf16`] of the crate [`half`]. No
/// other type can implement this trait.
///
/// ```
/// use warpfold::reducer::Item;
///
/// fn name<T: Item>(_: &[T]) -> &'static str {
///     T::NAME
/// }
/// assert_eq!(name(&[1u8]), "u8");
/// ```
pub trait Item: Pod + PartialEq + PartialOrd + fmt::Debug + Send + Sync + private::Scalar {
    /// The name of the type in Rust, such as `u8`.
    const NAME: &'static str;
    /// The type in which elements are added and multiplied, and the type of their sum: `i64` for
    /// signed integers up to 64 bits, `u64` for unsigned ones, `f32` for `f16`, `bf16` and `f32`,
    /// and the type itself for `i128`, `u128` and `f64`.
    type Wide: Item + Accumulator;
    /// A type that can hold the absolute value: the unsigned integer of the same width for an
    /// integer, the type itself for a float.
    type Magnitude: Item;
    /// The type of a sum of absolute values: `u64` for integers up to 64 bits, `u128` beyond,
    /// [`Item::Wide`] for floats.
    type WideMagnitude: Item + Accumulator;
}

/// The types in which sums and products are accumulated: `i64`, `u64`, `i128`, `u128`, `f32` and
/// `f64`. Integer arithmetic wraps around.
pub trait Accumulator: Copy + private::Sealed {
    /// The identity of addition.
    const ZERO: Self;
    /// The identity of multiplication.
    const ONE: Self;
    /// `self + other`.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self * other`.
    #[must_use]
    fn times(self, other: Self) -> Self;
}

pub(super) mod private {
    use super::{Ordering, Pod, fmt};

    pub trait Sealed {}

    /// The properties that comparisons and memory layout need.
    pub trait Scalar: Sealed {
        /// The padding between a value and a `u64` that follows it in memory. These bytes have no
        /// meaning.
        type Gap: Pod + fmt::Debug + Send + Sync;
        /// The padding between that `u64` and the next value.
        type Tail: Pod + fmt::Debug + Send + Sync;
        fn is_nan(&self) -> bool;
        /// The order of numbers, with -0 before +0. The result is unspecified for a NaN.
        fn order(&self, other: &Self) -> Ordering;
        fn zero() -> Self;
    }
}
use private::{Scalar, Sealed};

macro_rules! integers {
    ($($type:ident: $wide:ident, $unsigned:ident, $wide_unsigned:ident, $gap:literal, $tail:literal;)*) => {$(
        impl Item for $type {
            const NAME: &'static str = stringify!($type);
            type Wide = $wide;
            type Magnitude = $unsigned;
            type WideMagnitude = $wide_unsigned;
        }
        impl Sealed for $type {}
        impl Scalar for $type {
            type Gap = [u8; $gap];
            type Tail = [u8; $tail];
            fn is_nan(&self) -> bool {
                false
            }
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
            fn zero() -> Self {
                0
            }
        }
    )*};
}

integers! {
    i8: i64, u8, u64, 7, 0;
    u8: u64, u8, u64, 7, 0;
    i16: i64, u16, u64, 6, 0;
    u16: u64, u16, u64, 6, 0;
    i32: i64, u32, u64, 4, 0;
    u32: u64, u32, u64, 4, 0;
    i64: i64, u64, u64, 0, 0;
    u64: u64, u64, u64, 0, 0;
    i128: i128, u128, u128, 0, 8;
    u128: u128, u128, u128, 0, 8;
}

macro_rules! floats {
    ($($type:ident: $wide:ident, $gap:literal, $tail:literal;)*) => {$(
        impl Item for $type {
            const NAME: &'static str = stringify!($type);
            type Wide = $wide;
            type Magnitude = $type;
            type WideMagnitude = $wide;
        }
        impl Sealed for $type {}
        impl Scalar for $type {
            type Gap = [u8; $gap];
            type Tail = [u8; $tail];
            fn is_nan(&self) -> bool {
                <$type>::is_nan(*self)
            }
            fn order(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
            fn zero() -> Self {
                bytemuck::Zeroable::zeroed()
            }
        }
    )*};
}

floats! {
    f16: f32, 6, 0;
    bf16: f32, 6, 0;
    f32: f32, 4, 0;
    f64: f64, 0, 0;
}

macro_rules! accumulators {
    ($($type:ident: $zero:literal, $one:literal, $plus:path, $times:path;)*) => {$(
        impl Accumulator for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn times(self, other: Self) -> Self {
                $times(self, other)
            }
        }
    )*};
}

accumulators! {
    i64: 0, 1, i64::wrapping_add, i64::wrapping_mul;
    u64: 0, 1, u64::wrapping_add, u64::wrapping_mul;
    i128: 0, 1, i128::wrapping_add, i128::wrapping_mul;
    u128: 0, 1, u128::wrapping_add, u128::wrapping_mul;
    f32: 0.0, 1.0, std::ops::Add::add, std::ops::Mul::mul;
    f64: 0.0, 1.0, std::ops::Add::add, std::ops::Mul::mul;
}
