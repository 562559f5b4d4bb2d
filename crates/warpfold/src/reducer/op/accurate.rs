//! Sums of floats whose error is smaller than that of [`Sum`](super::Sum).

use bytemuck::Zeroable;
use half::{bf16, f16};

use crate::reducer::{
    Compensated, Error, Item, Operation, Single,
    item::Accumulator,
    operation::{kernels, operation, private::Kernel},
    shapes::KernelClass,
};

/// The sum of floats, corrected by the sum of its rounding errors. The result has the type
/// [`Item::Wide`]. The sum of no elements is 0.
///
/// The kernel finds the rounding error of each addition exactly (D. E. Knuth's TwoSum) and sums
/// these errors (A. Neumaier; T. Ogita, S. M. Rump and S. Oishi, *Accurate Sum and Dot Product*,
/// SIAM J. Sci. Comput. 26, 2005, Proposition 4.5). The error of the result is at most `u * |sum| +
/// 2 * ((1 + u)^(2 d) - 1)^2 * sum |x_i|`, with `u` and `d` as for [`Sum`](super::Sum), as long as
/// nothing overflows. This is about the error of a sum that is computed with twice the digits and
/// then rounded once.
///
/// ```
/// use warpfold::{CompensatedSum, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.0f32, 1e8, -1e8], CompensatedSum)?, 1.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompensatedSum;

kernels!(CompensatedSum, compensated: f16, bf16, f32, f64);

/// A float type whose rounding errors can be computed.
pub trait TwoSum: Item + Accumulator {
    /// Returns the rounded sum and its exact rounding error.
    fn two_sum(self, other: Self) -> (Self, Self);
    /// Returns the sum `self` plus its rounding error. If the sum is infinite or NaN, the error is
    /// unknown, so the sum is returned unchanged.
    #[must_use]
    fn total(self, error: Self) -> Self;
}

macro_rules! two_sum {
    ($($type:ident)*) => {$(
        impl TwoSum for $type {
            fn two_sum(self, other: Self) -> (Self, Self) {
                let sum = self + other;
                let of_other = sum - self;
                let of_self = sum - of_other;
                (sum, (self - of_self) + (other - of_other))
            }
            fn total(self, error: Self) -> Self {
                if self.is_finite() { self + error } else { self }
            }
        }
    )*};
}

two_sum!(f32 f64);

impl<T: Item> Operation<T> for CompensatedSum
where
    CompensatedSum: Kernel<T>,
    T::Wide: TwoSum,
{
    type Arity = Single;
    type Raw = Compensated<T::Wide>;
    type Output = T::Wide;
    const NAME: &'static str = "compensated sum";
    const CLASS: KernelClass = KernelClass::Plain;

    fn identity() -> Option<Self::Raw> {
        Some(Zeroable::zeroed())
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        let (sum, error) = first.sum.two_sum(others.sum);
        Compensated { sum, error: first.error.plus(others.error).plus(error) }
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        Ok(raw.sum.total(raw.error))
    }
}

/// The sum of elements of type `f16`, `bf16` or `f32`, computed in `f64`. The result is an `f64`.
/// The sum of no elements is 0.
///
/// The error is at most `((1 + 2^-53)^d - 1) * sum |x_i|`, with `d` as for [`Sum`](super::Sum).
///
/// ```
/// use warpfold::{Device, WideSum};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.0f32, 1e8, 1.0], WideSum)?, 100_000_002.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WideSum;

kernels!(WideSum, wide: f16, bf16, f32);

operation! {
    impl<T: Item> WideSum: Single, KernelClass::Plain, "sum";
    type Raw = f64;
    fn identity() = Some(0.0);
    fn combine(first, others) = first + others;
}
