//! The sum of exponentials: its logarithm, and what a softmax needs.

use half::{bf16, f16};

use super::nans::Rounded;
use crate::reducer::{
    Error, ExpSum, Item, Operation, Single,
    item::Accumulator,
    operation::{kernels, operation, private::Kernel},
    order::greater_or_nan,
    shapes::KernelClass,
};

/// The logarithm of the sum of exponentials, `ln(e^x_1 + e^x_2 + …)`, in one pass and without
/// overflow. The result has the type [`Item::Wide`]: an `f32` for `f16`, `bf16` and `f32`, and an
/// `f64` for `f64`. For an empty input it is -infinity, the logarithm of 0.
///
/// As in PyTorch and SciPy, the result is NaN if an element is NaN, else infinity if an element is
/// infinity, and -infinity if all elements are -infinity.
///
/// **Error.** The device computes the maximum `m` and the sum of `e^(x_i - m)`, as [`SoftmaxStats`]
/// does, and the host computes `m + ln(sum)` in `f64` and rounds it to the result's type. The
/// result differs from the exact one by at most about `(7 d + 1.1 ln n + 18) u` for `f32` and
/// `(5 d + ln n + 11) u` for `f64`, plus `u` times the result's magnitude (for `f64`, plus one more
/// unit in the last place of `ln(sum)` and of the result), with `u` = 2^-24 for `f32` and 2^-53 for
/// `f64`, `d` the [depth](crate::Reducer::depth) of the tree of additions, and `n` the number of
/// elements. Each of the `d` steps may multiply a partial sum by an exponential, and then rounds a
/// product and a sum. The error of the exponential of `x` is at most `1.95 + |x| / 30` units in the
/// last place for `f32`, and 0.92 for `f64`. A thread subtracts a reference that is at most 8 less
/// than its maximum; these differences are rounded too, which is the term `ln n + 8`. In the end it
/// multiplies its sum by one more exponential. Most elements go through far fewer multiplications,
/// because a thread multiplies only if an element exceeds its reference by more than 8.
///
/// The logarithm is that of Rust's standard library, which leaves the last bit of an `f64` to the
/// platform. What the device computes has the same bits everywhere.
///
/// ```
/// use warpfold::{Device, LogSumExp};
///
/// let device = Device::simulator();
/// // The exponential of 1000 overflows, but the logarithm of the sum does not.
/// let result = device.reduce(&[1000.0f64, 1000.0], LogSumExp)?;
/// assert!((result - (1000.0 + 2f64.ln())).abs() < 1e-12);
/// assert_eq!(device.reduce(&[f32::NEG_INFINITY; 3], LogSumExp)?, f32::NEG_INFINITY);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogSumExp;

kernels!(LogSumExp, logsumexp: f16, bf16, f32, f64);

/// The greatest element `m` and the sum of `e^(x_i - m)`, in one pass: what a softmax needs, which
/// is `e^(x_i - m) / sum`. The numbers have the type [`Item::Wide`], as the result of
/// [`LogSumExp`]. For an empty input, the maximum is -infinity and the sum is 0.
///
/// The results for numbers that are not finite are those of NumPy's `m = x.max()` and
/// `np.exp(x - m).sum()`, with one difference in the last line:
///
/// | elements | maximum | sum |
/// |---|---|---|
/// | a NaN among them | NaN | NaN |
/// | no NaN, but infinity | infinity | NaN |
/// | all of them -infinity | -infinity | 0, for which NumPy has NaN |
///
/// The maximum is exact; if it is 0, it is +0. The relative error of the sum is at most about
/// `(7 d + 1.1 ln n + 18) u` for `f32` and `(5 d + ln n + 11) u` for `f64`, with the names that
/// [`LogSumExp`] explains.
///
/// ```
/// use warpfold::{Device, ExpSum, SoftmaxStats};
///
/// let device = Device::simulator();
/// let stats = device.reduce(&[3.0f32, 3.0, -1000.0], SoftmaxStats)?;
/// assert_eq!(stats, ExpSum { max: 3.0, sum: 2.0 });
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SoftmaxStats;

kernels!(SoftmaxStats, logsumexp: f16, bf16, f32, f64);

operation! {
    impl<T: WithExponentials> SoftmaxStats: Single, KernelClass::Exponentials, "softmax statistics";
    type Raw = ExpSum<T::Wide>;
    fn identity() = Some(ExpSum::EMPTY);
    fn combine(first, others) = first.combined(others);
}

impl<T: WithExponentials> Operation<T> for LogSumExp
where
    LogSumExp: Kernel<T>,
{
    type Arity = Single;
    type Raw = ExpSum<T::Wide>;
    type Output = T::Wide;
    const NAME: &'static str = "logarithm of the sum of exponentials";
    const CLASS: KernelClass = KernelClass::Exponentials;

    fn identity() -> Option<Self::Raw> {
        Some(ExpSum::EMPTY)
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        first.combined(others)
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        Ok(raw.logarithm())
    }
}

/// A type of elements whose exponentials can be summed.
pub trait WithExponentials: Item<Wide: Exponential> {}

impl<T: Item<Wide: Exponential>> WithExponentials for T {}

/// A type in which exponentials are summed.
pub trait Exponential: Rounded + Accumulator + Into<f64> {
    /// Negative infinity.
    const NEG_INFINITY: Self;
}

macro_rules! exponential {
    ($($type:ident)*) => {$(
        impl Exponential for $type {
            const NEG_INFINITY: Self = $type::NEG_INFINITY;
        }
    )*};
}

exponential!(f32 f64);

impl<F: Exponential> ExpSum<F> {
    /// The sum of no exponentials.
    const EMPTY: Self = Self { max: F::NEG_INFINITY, sum: F::ZERO };

    /// The logarithm of the sum of the exponentials of the elements: what [`LogSumExp`] gives.
    ///
    /// ```
    /// use warpfold::ExpSum;
    ///
    /// assert_eq!(ExpSum { max: 5.0f32, sum: 1.0 }.logarithm(), 5.0);
    /// ```
    pub fn logarithm(self) -> F {
        let max: f64 = self.max.into();
        // Of infinities and NaNs the maximum is the result.
        if max.is_finite() { F::nearest(max + self.sum.into().ln()) } else { self.max }
    }

    /// The sum of the exponentials of the elements of both.
    fn combined(self, others: Self) -> Self {
        let max = greater_or_nan(self.max, others.max);
        let of_max: f64 = max.into();
        let sum = if of_max.is_finite() {
            let part = |part: Self| part.sum.into() * (part.max.into() - of_max).exp();
            part(self) + part(others)
        } else if of_max < 0.0 {
            0.0
        } else {
            f64::NAN
        };
        Self { max, sum: F::nearest(sum) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(found: ExpSum<f64>, max: f64, sum: f64) {
        let is_same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(is_same(found.max, max) && is_same(found.sum, sum), "{found:?}, {max:?} {sum:?}");
    }

    #[test]
    fn parts_are_brought_to_the_greater_maximum() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let of = |max, sum| ExpSum { max, sum };
        for (a, b, (max, sum)) in [
            (of(5.0, 2.0), of(5.0, 3.0), (5.0, 5.0)),
            (of(800.0, 2.0), of(-800.0, 3.0), (800.0, 2.0)),
            (of(f64::MAX, 1.0), of(f64::MIN, 1.0), (f64::MAX, 1.0)),
            (of(1.0, 1.0), of(0.0, 1.0), (1.0, 1.0 + (-1f64).exp())),
            (ExpSum::EMPTY, of(3.0, 4.0), (3.0, 4.0)),
            (ExpSum::EMPTY, ExpSum::EMPTY, (-inf, 0.0)),
            (of(inf, nan), of(3.0, 4.0), (inf, nan)),
            (of(inf, nan), ExpSum::EMPTY, (inf, nan)),
            (of(nan, nan), of(inf, nan), (nan, nan)),
            (of(nan, nan), ExpSum::EMPTY, (nan, nan)),
        ] {
            same(a.combined(b), max, sum);
            same(b.combined(a), max, sum);
        }
    }

    #[test]
    fn a_logarithm_of_what_is_not_finite_is_the_maximum() {
        let of = |max, sum| ExpSum::<f32> { max, sum }.logarithm();
        assert!(of(f32::NAN, f32::NAN).is_nan());
        for (max, sum) in [(f32::INFINITY, f32::NAN), (f32::NEG_INFINITY, 0.0), (-7.5, 1.0)] {
            assert_eq!(of(max, sum).to_bits(), max.to_bits(), "{max} {sum}");
        }
    }
}
