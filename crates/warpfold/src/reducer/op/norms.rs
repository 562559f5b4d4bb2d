//! Norms of vectors.

use half::{bf16, f16};

use crate::reducer::{
    Error, Item, Operation, Single,
    item::{Accumulator, private::Scalar},
    operation::{kernels, operation, private::Kernel},
    order::greater_or_nan,
    shapes::KernelClass,
};

/// The sum of absolute values, the L1 norm. The result is a `u64` for integers up to 64 bits and a
/// `u128` for 128-bit ones, both wrapping, and an [`Item::Wide`] for floats. The norm of no
/// elements is 0.
///
/// The bound on the error of floats is that of [`Sum`](super::Sum).
///
/// ```
/// use warpfold::{Device, SumAbs};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3i8, -128], SumAbs)?, 131);
/// assert_eq!(device.reduce(&[-1.5f32, 0.25], SumAbs)?, 1.75);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SumAbs;

kernels!(SumAbs, sumabs: i8, i16, i32, i64, i128, f16, bf16, f32, f64);
kernels!(SumAbs, sum: u8, u16, u32, u64, u128);

operation! {
    impl<T: Item> SumAbs: Single, KernelClass::Plain, "sum of absolute values";
    type Raw = T::WideMagnitude;
    fn identity() = Some(T::WideMagnitude::ZERO);
    fn combine(first, others) = first.plus(others);
}

/// The sum of squares. The result has the type [`Item::Wide`], and integers wrap around. The sum of
/// no elements is 0.
///
/// For floats each square adds one rounding, so the error is at most `((1 + u)^(d + 1) - 1) * sum
/// x_i^2`, with `u` and `d` as for [`Sum`](super::Sum), as long as no square overflows or
/// underflows and no partial sum overflows.
///
/// ```
/// use warpfold::{Device, SumSquares};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3i16, -4], SumSquares)?, 25);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SumSquares;

kernels!(SumSquares, sumsq: i8, u8, i16, u16, i32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32, f64);

operation! {
    impl<T: Item> SumSquares: Single, KernelClass::Plain, "sum of squares";
    type Raw = T::Wide;
    fn identity() = Some(T::Wide::ZERO);
    fn combine(first, others) = first.plus(others);
}

/// The square root of the sum of squares, the L2 norm. The result is an `f32` for `f16`, `bf16` and
/// `f32`, and an `f64` for `f64` and for integers of 8 and 16 bits. Integers of more than 16 bits
/// are not supported, because 64 bits may not hold their sum of squares. The norm of no elements is
/// 0.
///
/// For floats, the relative error is at most half of that of [`SumSquares`], plus one rounding.
///
/// ```
/// use warpfold::{Device, Norm2};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3.0f32, -4.0], Norm2)?, 5.0);
/// assert_eq!(device.reduce(&[3u8, 4], Norm2)?, 5.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Norm2;

kernels!(Norm2, sumsq: i8, u8, i16, u16, f16, bf16, f32, f64);

/// The type of a sum of squares, which has a square root.
pub trait Root: Accumulator {
    /// The type of the root.
    type Root;
    /// The square root of `self`.
    fn root(self) -> Self::Root;
}

macro_rules! roots {
    ($($type:ident: $root:ident;)*) => {$(
        impl Root for $type {
            type Root = $root;
            fn root(self) -> $root {
                (self as $root).sqrt()
            }
        }
    )*};
}

roots! {
    i64: f64;
    u64: f64;
    f32: f32;
    f64: f64;
}

impl<T: Item> Operation<T> for Norm2
where
    Norm2: Kernel<T>,
    T::Wide: Root,
{
    type Arity = Single;
    type Raw = T::Wide;
    type Output = <T::Wide as Root>::Root;
    const NAME: &'static str = "norm";
    const CLASS: KernelClass = KernelClass::Plain;

    fn identity() -> Option<Self::Raw> {
        Some(T::Wide::ZERO)
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        first.plus(others)
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        Ok(raw.root())
    }
}

/// The greatest absolute value, the maximum norm. For floats, the result has the type of the
/// elements. For integers, it has the unsigned type of the same width, because only that type can
/// hold every absolute value. The norm of no elements is 0. If any element is NaN, the result is
/// NaN.
///
/// ```
/// use warpfold::{Device, MaxAbs};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[100i8, -128], MaxAbs)?, 128u8);
/// assert_eq!(device.reduce(&[-1.5f32, 0.25], MaxAbs)?, 1.5);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MaxAbs;

kernels!(MaxAbs, maxabs: i8, i16, i32, i64, i128, f16, bf16, f32, f64);
kernels!(MaxAbs, max: u8, u16, u32, u64, u128);

operation! {
    impl<T: Item> MaxAbs: Single, KernelClass::Plain, "greatest absolute value";
    type Raw = T::Magnitude;
    fn identity() = Some(T::Magnitude::zero());
    fn combine(first, others) = greater_or_nan(first, others);
}
