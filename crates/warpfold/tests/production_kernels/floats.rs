//! Floats: sums of small integers, which are exact in any order; extremes of elements with NaNs,
//! infinities and both zeros; and sums that cancel.

use half::{bf16, f16};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use warpfold::device::Pod;

use crate::{Bench, CASES, ELEMENTS, at};

/// A float type whose values `f64` holds exactly.
trait Float: Pod {
    const NAME: &str;
    /// The type of sums.
    type Wide: Float;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! floats {
    ($($t:ident $wide:ident $from:expr, $to:expr;)*) => {$(
        impl Float for $t {
            const NAME: &str = stringify!($t);
            type Wide = $wide;
            fn from_f64(x: f64) -> Self {
                $from(x)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    )*};
}

floats! {
    f16 f32 f16::from_f64, f16::to_f64;
    bf16 f32 bf16::from_f64, bf16::to_f64;
    f32 f32 |x| x as f32, f64::from;
    f64 f64 |x| x, |x| x;
}

pub(crate) fn all(bench: &Bench, random: &mut StdRng) {
    of_type::<f16>(bench, random);
    of_type::<bf16>(bench, random);
    of_type::<f32>(bench, random);
    of_type::<f64>(bench, random);
    wide::<f16>(bench, random);
    wide::<bf16>(bench, random);
    wide::<f32>(bench, random);
}

/// Returns an error unless both are NaN or the same number; zeros of different sign differ.
fn same(found: f64, expected: f64) -> Result<(), String> {
    let equal = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    if equal { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

/// Returns an error unless `found` is within `bound` of `expected`.
fn near(what: &str, found: f64, expected: f64, bound: f64) -> Result<(), String> {
    // The comparison is false for a NaN, so a NaN is an error.
    if (found - expected).abs() <= bound {
        Ok(())
    } else {
        Err(format!("{what} is {found:?} instead of {expected:?}"))
    }
}

/// A function whose values over all elements are summed.
type Of<T> = fn(T) -> T;
type OfPair<T> = fn(T, T) -> T;

fn of_type<T: Float>(bench: &Bench, random: &mut StdRng) {
    let small = |random: &mut StdRng| T::from_f64(random.random_range(-8..=8).into());
    let values: Vec<T> = (0..ELEMENTS).map(|_| small(random)).collect();
    let others: Vec<T> = (0..ELEMENTS).map(|_| small(random)).collect();
    let sums: [(&str, Of<f64>); 3] = [("sum", |x| x), ("sumabs", f64::abs), ("sumsq", |x| x * x)];
    for (op, of) in sums {
        bench.run(&format!("reduce_{op}_{}", T::NAME), [&values], |[x], raw| {
            same(
                at::<T::Wide>(raw, 0).to_f64(),
                x.iter().map(|x| of(x.to_f64())).sum::<f64>() + 0.0,
            )
        });
    }
    bench.run(&format!("reduce_count_{}", T::NAME), [&values], |[x], raw| {
        let count = x.iter().filter(|x| x.to_f64() != 0.0).count() as u64;
        crate::same(raw, &count.to_le_bytes())
    });
    let pairs: [(&str, OfPair<f64>); 2] =
        [("dot", |x, y| x * y), ("ssd", |x, y| (x - y) * (x - y))];
    for (op, of) in pairs {
        bench.run(&format!("reduce_{op}_{}", T::NAME), [&values, &others], |[x, y], raw| {
            let sum: f64 = x.iter().zip(y).map(|(x, y)| of(x.to_f64(), y.to_f64())).sum();
            same(at::<T::Wide>(raw, 0).to_f64(), sum + 0.0)
        });
    }
    let factors: Vec<T> = (0..ELEMENTS)
        .map(|_| {
            let factor = match random.random_range(0..1000) {
                0 => 2.0,
                1 => 0.5,
                _ => 1.0,
            };
            T::from_f64(if random.random() { factor } else { -factor })
        })
        .collect();
    bench.run(&format!("reduce_product_{}", T::NAME), [&factors], |[x], raw| {
        same(at::<T::Wide>(raw, 0).to_f64(), x.iter().map(|x| x.to_f64()).product())
    });
    extremes::<T>(bench, random);
    moments::<T>(bench, random);
    compensated::<T>(bench, random);
    exponentials::<T>(bench, random);
    numbers::<T>(bench, random);
    within::<T>(bench, random);
}

/// Elements within intervals: a NaN lies in none, and both zeros are equal.
fn within<T: Float>(bench: &Bench, random: &mut StdRng) {
    let values: Vec<T> = (0..ELEMENTS)
        .map(|_| match random.random_range(0..16) {
            0 => T::from_f64(f64::NAN),
            1 => T::from_f64(-f64::NAN),
            2 => T::from_f64(-0.0),
            3 => T::from_f64(f64::INFINITY),
            4 => T::from_f64(f64::NEG_INFINITY),
            _ => T::from_f64(f64::from(random.random_range(-8..=8)) / 4.0),
        })
        .collect();
    let inf = f64::INFINITY;
    for [least, most] in [[0.0, inf], [-inf, -0.0], [-0.5, 1.25], [f64::NAN, 1.0], [inf, -inf]] {
        // The bounds of halves are `f32`.
        let bits = [least, most].map(|bound| {
            let mut bits = [0; 16];
            let bound = T::Wide::from_f64(bound);
            let bytes = bytemuck::bytes_of(&bound);
            bits[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(bits)
        });
        bench.run_within(T::NAME, &values, bits, |x| (least..=most).contains(&x.to_f64()));
    }
}

/// Samples of values. Each has a combination of special values that the others lack.
fn hard<T: Float>(random: &mut StdRng) -> Vec<Vec<T>> {
    let sets: [&[f64]; 5] = [
        &[1.0, -2.5, 0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 7.0, 1e-7, -1e-7],
        &[0.0, -0.0],
        &[-0.0, 0.0, f64::NAN, -f64::NAN],
        &[f64::NAN, -f64::NAN],
        &[f64::INFINITY, f64::NAN, f64::INFINITY],
    ];
    let mut filled: Vec<Vec<T>> = sets
        .iter()
        .map(|set| {
            (0..ELEMENTS)
                .map(|_| T::from_f64(*set.choose(random).expect("it is not empty")))
                .collect()
        })
        .collect();
    filled.push((0..ELEMENTS).map(|_| T::from_f64(random.random_range(-1000.0..1000.0))).collect());
    filled
}

/// The first index of the best value. NaNs are the best values if `nan_wins` is true, and the worst
/// otherwise.
fn best(values: &[f64], sign: f64, nan_wins: bool) -> usize {
    let rank = |x: f64| (if nan_wins { !x.is_nan() } else { x.is_nan() }, sign * x);
    let mut best = 0;
    for (i, &value) in values.iter().enumerate() {
        let ((nan, value), (best_nan, best_value)) = (rank(value), rank(values[best]));
        if (!nan && best_nan)
            || nan == best_nan && !value.is_nan() && value.total_cmp(&best_value).is_lt()
        {
            best = i;
        }
    }
    best
}

fn extremes<T: Float>(bench: &Bench, random: &mut StdRng) {
    let numbers = |x: &[T]| -> Vec<f64> { x.iter().map(|x| x.to_f64()).collect() };
    for (set, values) in hard::<T>(random).into_iter().enumerate() {
        // The first sample runs in all cases, and the other samples in the small cases.
        let cases = if set == 0 { &CASES[..] } else { &CASES[..8] };
        let ops = [
            ("min", 1.0, false),
            ("max", -1.0, false),
            ("minimum", 1.0, true),
            ("maximum", -1.0, true),
        ];
        for (op, sign, nan_wins) in ops {
            let expected = |x: &[T]| {
                let x = numbers(x);
                let index = best(&x, sign, nan_wins);
                (x[index], index as u64)
            };
            bench.run_cases(cases, &format!("reduce_{op}_{}", T::NAME), [&values], |[x], raw| {
                same(at::<T>(raw, 0).to_f64(), expected(x).0)
            });
            bench.run_cases(
                cases,
                &format!("reduce_arg{op}_{}", T::NAME),
                [&values],
                |[x], raw| {
                    let (value, index) = expected(x);
                    same(at::<T>(raw, 0).to_f64(), value)?;
                    crate::same(&raw[8..], &index.to_le_bytes())
                },
            );
        }
        bench.run_cases(cases, &format!("reduce_minmax_{}", T::NAME), [&values], |[x], raw| {
            let x = numbers(x);
            same(at::<T>(raw, 0).to_f64(), x[best(&x, 1.0, false)])?;
            same(at::<T>(raw, size_of::<T>()).to_f64(), x[best(&x, -1.0, false)])
        });
        bench.run_cases(cases, &format!("reduce_maxabs_{}", T::NAME), [&values], |[x], raw| {
            let x: Vec<f64> = numbers(x).into_iter().map(f64::abs).collect();
            same(at::<T>(raw, 0).to_f64(), x[best(&x, -1.0, true)])
        });
    }
}

/// The values are far from zero and near to each other; a plain sum of squares would lose their
/// differences.
fn moments<T: Float>(bench: &Bench, random: &mut StdRng) {
    let values: Vec<T> =
        (0..ELEMENTS).map(|_| T::from_f64(1000.0 + random.random_range(-8.0..8.0))).collect();
    bench.run(&format!("reduce_moments_{}", T::NAME), [&values], |[x], raw| {
        let values: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        check_moments(&values, at(raw, 0), at(raw, 8), at(raw, 16))
    });
    let infinite: Vec<T> =
        (0..ELEMENTS).map(|i| T::from_f64(if i % 3 == 0 { f64::INFINITY } else { 1.0 })).collect();
    bench.run(&format!("reduce_moments_{}", T::NAME), [&infinite], |[x], raw| {
        same(at(raw, 8), x.iter().map(|x| x.to_f64()).sum::<f64>() / x.len() as f64)
    });
}

/// Compares count, mean and squared deviations with a computation in two passes. The bound allows
/// 64 roundings, which is enough for so few elements.
pub(crate) fn check_moments(values: &[f64], count: u64, mean: f64, m2: f64) -> Result<(), String> {
    let n = values.len() as f64;
    let bound = 64.0 * f64::EPSILON * n;
    let expected_mean = values.iter().sum::<f64>() / n;
    let expected_m2 = values.iter().map(|x| (x - expected_mean) * (x - expected_mean)).sum::<f64>();
    let size = values.iter().map(|x| x.abs()).fold(0.0, f64::max);
    if count != values.len() as u64 {
        return Err(format!("{count} elements instead of {}", values.len()));
    }
    near("the mean", mean, expected_mean, bound * size)?;
    // The second pass of the reference has an error too, which is n times the square of the error
    // of the mean.
    near(
        "the sum of squares",
        m2,
        expected_m2,
        bound * expected_m2 + n * (bound * size) * (bound * size),
    )
}

/// Pairs of large numbers cancel among small ones; a plain sum would lose the small ones.
fn compensated<T: Float>(bench: &Bench, random: &mut StdRng) {
    // The large number is a power of two, so that sums of many of them are exact.
    let large = if T::NAME == "f16" { 32_768.0 } else { f64::from(100).exp2() };
    let mut values: Vec<T> =
        (0..ELEMENTS).map(|_| T::from_f64(random.random_range(1..=8).into())).collect();
    for i in (0..ELEMENTS - 64).step_by(64) {
        values[i] = T::from_f64(large);
        values[i + random.random_range(1..64)] = T::from_f64(-large);
    }
    bench.run(&format!("reduce_compensated_{}", T::NAME), [&values], |[x], raw| {
        let (sum, error) =
            (at::<T::Wide>(raw, 0).to_f64(), at::<T::Wide>(raw, size_of::<T::Wide>()).to_f64());
        // The reference is exact: it counts the large numbers and sums the small ones.
        let is_large = |x: f64| x.abs() >= large / 2.0;
        let numbers = || x.iter().map(|x| x.to_f64());
        let large_ones: f64 = numbers().filter(|&x| is_large(x)).map(f64::signum).sum();
        let small: f64 = numbers().filter(|&x| !is_large(x)).sum();
        if large_ones == 0.0 {
            same(sum + error, small)
        } else {
            near(
                "the sum",
                sum + error,
                large_ones * T::from_f64(large).to_f64() + small,
                large * 1e-6,
            )
        }
    });
}

/// Exponentials whose sum is exact in any order: half of them are 1, and the others vanish beside
/// them. The maximum, or what it is decided by, is the last element in some samples.
fn exponentials<T: Float>(bench: &Bench, random: &mut StdRng) {
    let samples: [&[f64]; 4] = [
        &[60_000.0, -60_000.0],
        &[-3.0, f64::NEG_INFINITY],
        &[f64::NEG_INFINITY],
        &[f64::NEG_INFINITY, 5.0, f64::INFINITY, f64::NAN],
    ];
    for (set, sample) in samples.into_iter().enumerate() {
        let values: Vec<T> = (0..ELEMENTS)
            .map(|_| T::from_f64(*sample.choose(random).expect("it is not empty")))
            .collect();
        let cases = if set == 0 { &CASES[..] } else { &CASES[..8] };
        bench.run_cases(cases, &format!("reduce_logsumexp_{}", T::NAME), [&values], |[x], raw| {
            let numbers: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
            let max = numbers[best(&numbers, -1.0, true)];
            let sum = if max.is_finite() {
                numbers.iter().filter(|&&x| x >= max).count() as f64
            } else if max < 0.0 {
                0.0
            } else {
                f64::NAN
            };
            same(at::<T::Wide>(raw, 0).to_f64(), max)?;
            same(at::<T::Wide>(raw, size_of::<T::Wide>()).to_f64(), sum)
        });
    }
}

/// Small integers, many of which are replaced by NaNs of either sign, or all of them.
fn numbers<T: Float>(bench: &Bench, random: &mut StdRng) {
    for (set, share) in [0.3, 1.0, 0.0].into_iter().enumerate() {
        let values: Vec<T> = (0..ELEMENTS)
            .map(|_| match random.random_bool(share) {
                true if random.random() => T::from_f64(f64::NAN),
                true => T::from_f64(-f64::NAN),
                false => T::from_f64(random.random_range(-8..=8).into()),
            })
            .collect();
        let cases = if set == 0 { &CASES[..] } else { &CASES[..8] };
        bench.run_cases(cases, &format!("reduce_nansum_{}", T::NAME), [&values], |[x], raw| {
            let numbers = x.iter().map(|x| x.to_f64()).filter(|x| !x.is_nan());
            crate::same(raw, &(numbers.clone().count() as u64).to_le_bytes())?;
            same(at(raw, 8), numbers.sum::<f64>() + 0.0)
        });
    }
}

/// Tests sums that need more than 24 bits.
fn wide<T: Float<Wide = f32>>(bench: &Bench, random: &mut StdRng) {
    let values: Vec<T> =
        (0..ELEMENTS).map(|_| T::from_f64(random.random_range(-60_000.0..60_000.0))).collect();
    bench.run(&format!("reduce_wide_{}", T::NAME), [&values], |[x], raw| {
        let numbers = || x.iter().map(|x| x.to_f64());
        let bound = x.len() as f64 * f64::EPSILON * numbers().map(f64::abs).sum::<f64>();
        near("the sum", at(raw, 0), numbers().sum(), bound)
    });
}
