//! The operations of a soak, the elements that they get, and their results in plain Rust.

use std::fmt;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMax, ArgMin, BitXor, CheckedSum, Dot, Error, Extremes, Indexed, Item, MinMax, Moments,
    Operation, ReproducibleSum, Statistics, Sum,
};

use super::verdict::{Expected, Found};

/// A type of elements.
pub(crate) trait Drawn: Item {
    /// A random element. There is no NaN among them, because its bits may differ.
    fn draw(rng: &mut ChaCha8Rng) -> Self;
}

/// Floats are multiples of 2 to the power of minus this, so that sums of 2^24 of them in this unit
/// are exact in an `i128`.
const UNIT: i32 = 60;

impl Drawn for f32 {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random_range(-(1 << 24)..=1 << 24) as f32 * 0.5f32.powi(rng.random_range(0..=UNIT))
    }
}

impl Drawn for f64 {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random_range(-(1i64 << 40)..=1 << 40) as f64 * 0.5f64.powi(rng.random_range(0..=UNIT))
    }
}

impl Drawn for i64 {
    /// The sum of a few of them may overflow, or not.
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random::<i64>() >> rng.random_range(0..64)
    }
}

impl Drawn for i32 {
    /// Many are equal, so that the first of the greatest ones is looked for.
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random_range(-4..=4)
    }
}

impl Drawn for u32 {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random()
    }
}

impl Drawn for u8 {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        rng.random()
    }
}

/// An operation whose result is known.
pub(crate) trait Known<T: Drawn>: Operation<T, Output: fmt::Debug> + Default {
    /// Whether the result has the bits of those that the host combines.
    const HAS_BITS_OF_HOST: bool = true;

    /// The result for these elements, of which there are none only if the operation has an
    /// identity. The second ones are those of the second input, if there is one.
    fn expected(a: &[T], b: &[T]) -> Vec<Expected>;

    /// The numbers of a result; `None` if it is an error that says nothing about it.
    fn found(result: &Result<Self::Output, Error>) -> Option<Vec<Found>>;
}

/// The sum of floats, exact, in units.
fn in_units(values: impl Iterator<Item = f64>) -> i128 {
    let unit = 2f64.powi(UNIT);
    values.map(|value| (value * unit) as i128).sum()
}

/// A float that is the result of a sum whose terms have this sum and this sum of magnitudes.
fn near(terms: impl Iterator<Item = f64>, relative: f64) -> Vec<Expected> {
    let (value, magnitude) =
        terms.fold((0.0, 0.0), |(sum, all): (f64, f64), term| (sum + term, all + term.abs()));
    vec![Expected::Near { value, error: magnitude * relative }]
}

/// Many times the rounding error of a tree of additions, and far below a wrong term of a short sum.
const RELATIVE_F32: f64 = 3e-5;
const RELATIVE_F64: f64 = 1e-12;

macro_rules! known {
    ($($op:ident $type:ty: $output:ty, |$a:ident, $b:ident| $expected:expr, |$found:ident| $numbers:expr;)*) => {$(
        impl Known<$type> for $op {
            fn expected($a: &[$type], $b: &[$type]) -> Vec<Expected> {
                let _ = $b;
                $expected
            }

            fn found(result: &Result<$output, Error>) -> Option<Vec<Found>> {
                let $found = result.as_ref().ok()?;
                Some($numbers)
            }
        }
    )*};
}

known! {
    Sum f32: f32, |a, b| near(a.iter().map(|&x| f64::from(x)), RELATIVE_F32),
        |sum| vec![Found::Float(f64::from(*sum))];
    Sum f64: f64, |a, b| near(a.iter().copied(), RELATIVE_F64), |sum| vec![Found::Float(*sum)];
    Sum i64: i64, |a, b| {
        vec![Expected::Exact(a.iter().fold(0i64, |sum, &x| sum.wrapping_add(x)).into())]
    }, |sum| vec![Found::Exact((*sum).into())];
    ReproducibleSum f32: f32, |a, b| {
        let sum = in_units(a.iter().map(|&x| f64::from(x))) as f32 * 0.5f32.powi(UNIT);
        vec![Expected::Exact(sum.to_bits().into())]
    }, |sum| vec![Found::Exact(sum.to_bits().into())];
    ReproducibleSum f64: f64, |a, b| {
        let sum = in_units(a.iter().copied()) as f64 * 0.5f64.powi(UNIT);
        vec![Expected::Exact(sum.to_bits().into())]
    }, |sum| vec![Found::Exact(sum.to_bits().into())];
    ArgMin f32: Indexed<f32>, |a, b| {
        let least = (0..a.len()).reduce(|best, i| if a[i] < a[best] { i } else { best });
        let least = least.expect("there is an element");
        vec![Expected::Exact(a[least].to_bits().into()), Expected::Exact(least as i128)]
    }, |found| vec![Found::Exact(found.value.to_bits().into()), Found::Exact(found.index.into())];
    ArgMax i32: Indexed<i32>, |a, b| {
        let greatest = (0..a.len()).reduce(|best, i| if a[i] > a[best] { i } else { best });
        let greatest = greatest.expect("there is an element");
        vec![Expected::Exact(a[greatest].into()), Expected::Exact(greatest as i128)]
    }, |found| vec![Found::Exact(found.value.into()), Found::Exact(found.index.into())];
    MinMax u8: Extremes<u8>, |a, b| {
        let [min, max] = [a.iter().min(), a.iter().max()];
        [min, max].map(|x| Expected::Exact((*x.expect("there is an element")).into())).to_vec()
    }, |both| vec![Found::Exact(both.min.into()), Found::Exact(both.max.into())];
    BitXor u32: u32, |a, b| vec![Expected::Exact(a.iter().fold(0, |bits, x| bits ^ x).into())],
        |bits| vec![Found::Exact((*bits).into())];
    Dot f32: f32, |a, b| {
        near(a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)), RELATIVE_F32)
    }, |sum| vec![Found::Float(f64::from(*sum))];
}

impl Known<i64> for CheckedSum {
    fn expected(a: &[i64], _: &[i64]) -> Vec<Expected> {
        let sum = a.iter().map(|&x| i128::from(x)).sum();
        let overflows = i64::try_from(sum).is_err();
        vec![Expected::Exact(sum), Expected::Exact(overflows.into())]
    }

    fn found(result: &Result<i64, Error>) -> Option<Vec<Found>> {
        let (sum, overflows) = match result {
            Ok(sum) => (i128::from(*sum), false),
            Err(Error::Overflow { exact, .. }) => (i128::try_from(*exact).ok()?, true),
            Err(_) => return None,
        };
        Some(vec![Found::Exact(sum), Found::Exact(overflows.into())])
    }
}

impl Known<f64> for Moments {
    /// The mean and the deviation may differ by their last bits.
    const HAS_BITS_OF_HOST: bool = false;

    fn expected(a: &[f64], _: &[f64]) -> Vec<Expected> {
        let n = a.len() as f64;
        let mean = a.iter().sum::<f64>() / n;
        let magnitude = a.iter().map(|x| x.abs()).sum::<f64>() / n;
        let deviations = a.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let squares = a.iter().map(|x| x * x).sum::<f64>();
        vec![
            Expected::Exact(a.len() as i128),
            Expected::Near { value: mean, error: magnitude * 1e-10 },
            Expected::Near { value: deviations, error: squares * 1e-10 },
        ]
    }

    fn found(result: &Result<Statistics, Error>) -> Option<Vec<Found>> {
        let found = result.as_ref().ok()?;
        Some(vec![
            Found::Exact(found.count.into()),
            Found::Float(found.mean()),
            Found::Float(found.squared_deviations()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::{super::verdict::agree, *};

    #[test]
    fn exact_sums_are_rounded_once() {
        let values = [1.0f32, 0.5f32.powi(24), 0.5f32.powi(60)];
        let expected = ReproducibleSum::expected(&values, &[]);
        assert!(agree(&expected, &[Found::Exact(1.000_000_1f32.to_bits().into())]));
        assert!(!agree(&expected, &[Found::Exact(1f32.to_bits().into())]));
    }

    #[test]
    fn a_sum_without_one_term_is_wrong() {
        let values: Vec<f32> = (1..=1000).map(|x| x as f32).collect();
        let expected = <Sum as Known<f32>>::expected(&values, &[]);
        assert!(agree(&expected, &<Sum as Known<f32>>::found(&Ok(500_500.0)).unwrap()));
        assert!(!agree(&expected, &<Sum as Known<f32>>::found(&Ok(500_400.0)).unwrap()));
    }

    #[test]
    fn the_first_of_equal_elements_counts() {
        let expected = <ArgMax as Known<i32>>::expected(&[1, 3, 2, 3], &[]);
        assert!(agree(&expected, &[Found::Exact(3), Found::Exact(1)]));
        assert!(!agree(&expected, &[Found::Exact(3), Found::Exact(3)]));
    }

    #[test]
    fn an_overflow_is_a_result() {
        let expected = CheckedSum::expected(&[i64::MAX, 1], &[]);
        assert!(agree(&expected, &[Found::Exact(1 << 63), Found::Exact(1)]));
        assert!(!agree(&expected, &[Found::Exact(1 << 63), Found::Exact(0)]));
    }
}
