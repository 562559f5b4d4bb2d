//! Sums, means and counts that skip NaNs.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use crate::reducer::{
    Error, Item, Operation, Single,
    operation::{kernels, private::Kernel},
    shapes::KernelClass,
};

/// The sum of the elements that are not NaN. The result has the type [`Item::Wide`]: an `f32` for
/// `f16`, `bf16` and `f32`, and an `f64` for `f64`. As in NumPy's `nansum`, the sum is 0 if there
/// are no elements or all of them are NaN, and it is NaN only if there are infinities of both
/// signs.
///
/// The bound on the error is that of [`Sum`](super::Sum), over the elements that are not NaN.
///
/// # NumPy's functions that ignore NaNs
///
/// | NumPy | here | difference |
/// |---|---|---|
/// | `nansum`, `nanmean` | [`NanSum`], [`NanMean`] | the result for `f16` is an `f32` |
/// | `isnan(x).sum()` | [`CountNan`] | |
/// | `nanmin`, `nanmax` | [`Min`](super::Min), [`Max`](super::Max) | if all elements are NaN, NaN without a warning; -0 is less than +0 |
/// | `nanargmin`, `nanargmax` | [`ArgMin`](super::ArgMin), [`ArgMax`](super::ArgMax) | if all elements are NaN, the index 0 and not an error; -0 is less than +0 |
/// | `min`, `max`, `argmin`, `argmax` | [`Minimum`](super::Minimum), [`Maximum`](super::Maximum), [`ArgMinimum`](super::ArgMinimum), [`ArgMaximum`](super::ArgMaximum) | a NaN wins, as in NumPy; -0 is less than +0 |
///
/// ```
/// use warpfold::{Device, NanSum};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.5f32, f32::NAN, 2.0], NanSum)?, 3.5);
/// assert_eq!(device.reduce(&[f64::NAN], NanSum)?, 0.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NanSum;

kernels!(NanSum, nansum: f16, bf16, f32, f64);

/// The mean of the elements that are not NaN: their sum, as [`NanSum`] computes it, divided by
/// their number in `f64` and rounded to [`Item::Wide`]. As in NumPy's `nanmean`, the mean is NaN if
/// there are no elements or all of them are NaN.
///
/// ```
/// use warpfold::{Device, NanMean};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.0f32, f32::NAN, 2.0], NanMean)?, 1.5);
/// assert!(device.reduce(&[f32::NAN], NanMean)?.is_nan());
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NanMean;

kernels!(NanMean, nansum: f16, bf16, f32, f64);

/// The number of NaNs. The count of an empty input is 0.
///
/// ```
/// use warpfold::{CountNan, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1.0f32, f32::NAN, -f32::NAN], CountNan)?, 2);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CountNan;

kernels!(CountNan, nansum: f16, bf16, f32, f64);

/// The number and the sum of the elements that are not NaN: the raw result of [`NanSum`],
/// [`NanMean`] and [`CountNan`].
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Numbers {
    /// The number of elements that are not NaN.
    pub count: u64,
    /// Their sum. The kernels add elements of up to 32 bits in `f32`.
    pub sum: f64,
}

impl Numbers {
    fn combined(self, others: Self) -> Self {
        Self { count: self.count + others.count, sum: self.sum + others.sum }
    }
}

/// A type of the sums.
pub trait Rounded: Item {
    /// The nearest number of this type.
    fn nearest(value: f64) -> Self;
}

impl Rounded for f32 {
    fn nearest(value: f64) -> Self {
        value as Self
    }
}

impl Rounded for f64 {
    fn nearest(value: f64) -> Self {
        value
    }
}

/// Implements [`Operation`] for operations on [`Numbers`]. `$result` makes the result of the
/// numbers among `$n` elements.
macro_rules! of_numbers {
    ($($op:ident, $name:literal: $output:ty = |$raw:ident, $n:pat_param| $result:expr;)*) => {$(
        impl<T: Item<Wide: Rounded>> Operation<T> for $op
        where
            $op: Kernel<T>,
        {
            type Arity = Single;
            type Raw = Numbers;
            type Output = $output;
            const NAME: &'static str = $name;
            const CLASS: KernelClass = KernelClass::Plain;

            fn identity() -> Option<Self::Raw> {
                Some(Numbers::zeroed())
            }

            fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
                first.combined(others)
            }

            fn finish($raw: Self::Raw, $n: u64) -> Result<Self::Output, Error> {
                Ok($result)
            }
        }
    )*};
}

of_numbers! {
    NanSum, "sum without NaNs": T::Wide = |raw, _| Rounded::nearest(raw.sum);
    // 0 / 0 is NaN.
    NanMean, "mean without NaNs": T::Wide = |raw, _| Rounded::nearest(raw.sum / raw.count as f64);
    CountNan, "number of NaNs": u64 = |raw, n| n - raw.count;
}
