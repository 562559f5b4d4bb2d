//! The expected result of each operation over small integers, in plain Rust.

use warpfold::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum,
    CompensatedSum, CountNonzero, Dot, Error, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments,
    Norm2, Operation, Product, SquaredDistance, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
};

use crate::sample::{Sample, Whole};

/// An operation whose result is known.
pub(crate) trait Expect<T: Sample>: Operation<T> + Default {
    /// Whether the elements are 1, -1 and a few twos. Products of other elements would overflow.
    const FACTORS: bool = false;

    /// Whether `result` is right for the elements `a`, paired with `b` if the operation takes
    /// pairs. The slices are empty only if the operation has a result for no elements.
    fn agrees(result: &Result<Self::Output, Error>, a: &[i64], b: &[i64]) -> bool;
}

fn wide(a: &[i64]) -> impl Iterator<Item = i128> + '_ {
    a.iter().map(|value| i128::from(*value))
}

/// Converts the value to an element of type `T` and back to an integer.
fn cut<T: Whole>(value: i128) -> Option<i128> {
    T::of(value).exact()
}

fn first_index(a: &[i64], value: Option<&i64>) -> Option<u64> {
    a.iter().position(|other| Some(other) == value).map(|index| index as u64)
}

/// Implements [`Expect`] for operations with an exact result. In an entry, `result` is the value
/// that the operation returned, and `a` and `b` are the elements.
macro_rules! exact {
    ($($op:ident [$($bound:tt)*]: |$result:ident, $a:ident, $b:ident| $agrees:expr;)*) => {$(
        impl<T: Sample> Expect<T> for $op
        where
            $op: Operation<T $($bound)*>,
        {
            fn agrees(result: &Result<Self::Output, Error>, $a: &[i64], $b: &[i64]) -> bool {
                let Ok($result) = result else { return false };
                let _ = $b;
                $agrees
            }
        }
    )*};
}

exact! {
    Sum [, Output = T::Wide]: |sum, a, b| sum.exact() == cut::<T::Wide>(wide(a).sum());
    CompensatedSum [, Output = T::Wide]: |sum, a, b| sum.exact() == Some(wide(a).sum());
    WideSum [, Output = f64]: |sum, a, b| sum.exact() == Some(wide(a).sum());
    WrappingSum [, Output = T]: |sum, a, b| sum.exact() == cut::<T>(wide(a).sum());
    Min [, Output = T]: |least, a, b| least.exact() == wide(a).min();
    Max [, Output = T]: |greatest, a, b| greatest.exact() == wide(a).max();
    Minimum [, Output = T]: |least, a, b| least.exact() == wide(a).min();
    Maximum [, Output = T]: |greatest, a, b| greatest.exact() == wide(a).max();
    MinMax [, Output = warpfold::Extremes<T>]: |both, a, b| {
        both.min.exact() == wide(a).min() && both.max.exact() == wide(a).max()
    };
    ArgMin [, Output = warpfold::Indexed<T>]: |found, a, b| {
        found.value.exact() == wide(a).min() && Some(found.index) == first_index(a, a.iter().min())
    };
    ArgMax [, Output = warpfold::Indexed<T>]: |found, a, b| {
        found.value.exact() == wide(a).max() && Some(found.index) == first_index(a, a.iter().max())
    };
    ArgMinimum [, Output = warpfold::Indexed<T>]: |found, a, b| {
        found.value.exact() == wide(a).min() && Some(found.index) == first_index(a, a.iter().min())
    };
    ArgMaximum [, Output = warpfold::Indexed<T>]: |found, a, b| {
        found.value.exact() == wide(a).max() && Some(found.index) == first_index(a, a.iter().max())
    };
    CountNonzero [, Output = u64]: |count, a, b| *count == a.iter().filter(|value| **value != 0).count() as u64;
    Any [, Output = bool]: |any, a, b| *any == a.iter().any(|value| *value != 0);
    All [, Output = bool]: |all, a, b| *all == a.iter().all(|value| *value != 0);
    BitAnd [, Output = T]: |bits, a, b| bits.exact() == cut::<T>(wide(a).fold(-1, |x, y| x & y));
    BitOr [, Output = T]: |bits, a, b| bits.exact() == cut::<T>(wide(a).fold(0, |x, y| x | y));
    BitXor [, Output = T]: |bits, a, b| bits.exact() == cut::<T>(wide(a).fold(0, |x, y| x ^ y));
    SumAbs [, Output = T::WideMagnitude]: |sum, a, b| sum.exact() == Some(wide(a).map(i128::abs).sum());
    SumSquares [, Output = T::Wide]: |sum, a, b| sum.exact() == Some(wide(a).map(|x| x * x).sum());
    MaxAbs [, Output = T::Magnitude]: |most, a, b| most.exact() == Some(wide(a).map(i128::abs).max().unwrap_or(0));
    Dot [, Output = T::Wide]: |sum, a, b| sum.exact() == Some(wide(a).zip(wide(b)).map(|(x, y)| x * y).sum());
    SquaredDistance [, Output = T::Wide]: |sum, a, b| {
        sum.exact() == Some(wide(a).zip(wide(b)).map(|(x, y)| (x - y) * (x - y)).sum())
    };
}

impl<T: Sample> Expect<T> for Product
where
    Product: Operation<T, Output = T::Wide>,
{
    const FACTORS: bool = true;

    fn agrees(result: &Result<T::Wide, Error>, a: &[i64], _: &[i64]) -> bool {
        let product = wide(a).fold(1i128, i128::wrapping_mul);
        result.as_ref().is_ok_and(|result| result.exact() == cut::<T::Wide>(product))
    }
}

impl<T: Sample> Expect<T> for CheckedSum
where
    CheckedSum: Operation<T, Output = T>,
{
    fn agrees(result: &Result<T, Error>, a: &[i64], _: &[i64]) -> bool {
        let sum: i128 = wide(a).sum();
        match result {
            Ok(result) => result.exact() == Some(sum),
            Err(Error::Overflow { exact, .. }) => {
                cut::<T>(sum) != Some(sum) && exact.to_string() == sum.to_string()
            }
            Err(_) => false,
        }
    }
}

impl<T: Sample> Expect<T> for Norm2
where
    Norm2: Operation<T, Output: Into<f64> + Copy>,
{
    fn agrees(result: &Result<Self::Output, Error>, a: &[i64], _: &[i64]) -> bool {
        // The sum of squares is exact. Its root is rounded once, to 24 bits at least.
        let root = (wide(a).map(|x| x * x).sum::<i128>() as f64).sqrt();
        result.as_ref().is_ok_and(|norm| ((*norm).into() - root).abs() <= root * 2f64.powi(-23))
    }
}

impl<T: Sample> Expect<T> for Moments
where
    Moments: Operation<T, Output = warpfold::Statistics>,
{
    fn agrees(result: &Result<warpfold::Statistics, Error>, a: &[i64], _: &[i64]) -> bool {
        let n = a.len() as f64;
        let mean = wide(a).sum::<i128>() as f64 / n;
        let squares = wide(a).map(|x| x as f64 - mean).map(|d| d * d).sum::<f64>();
        // The tolerance is far above all rounding errors. It is far below the error of a wrong
        // algorithm, which has at least the size of an element.
        let close = |x: f64, y: f64, scale: f64| (x - y).abs() <= 1e-9 * scale;
        result.as_ref().is_ok_and(|found| {
            found.count == a.len() as u64
                && close(found.mean(), mean, T::MOST as f64)
                && close(found.squared_deviations(), squares, (T::MOST * T::MOST) as f64 * n)
        })
    }
}
