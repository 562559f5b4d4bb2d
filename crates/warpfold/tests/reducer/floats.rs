//! Floats: the errors of sums and products stay within the documented bounds. The exact results are
//! known, because the tests compute them in integers.

use half::{bf16, f16};
use num_bigint::BigInt;
use rand::{Rng, rngs::StdRng};
use warpfold::{
    CompensatedSum, Device, Dot, Item, Moments, Norm2, Operation, Product, SquaredDistance, Sum,
    SumAbs, SumSquares, View, WideSum,
};

use crate::{
    cases::{Placed, SIZES, offsets, rng},
    support::devices,
};

/// A float of `BITS` bits of precision. An integer `k` stands for the element `k * 2^-SCALE`.
pub(crate) trait Float: Item {
    const SCALE: i32;
    /// The unit roundoff of the type of sums: half the distance from 1 to the next number.
    const ROUNDOFF: f64;
    const NAN: Self;
    fn new(value: f64) -> Self;
    fn number(self) -> f64;
}

macro_rules! float {
    ($t:ident, $scale:literal, $wide:ident, $new:expr) => {
        impl Float for $t {
            const SCALE: i32 = $scale;
            const ROUNDOFF: f64 = $wide::EPSILON as f64 / 2.0;
            const NAN: Self = $t::NAN;
            fn new(value: f64) -> Self {
                $new(value)
            }
            fn number(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

float!(f16, 10, f32, f16::from_f64);
float!(bf16, 7, f32, bf16::from_f64);
float!(f32, 24, f32, |value| value as f32);
float!(f64, 53, f64, |value| value);

/// Elements from -1 to 1, and the integers that they stand for. In some samples the magnitudes
/// differ widely; in others the elements are far from 0 compared with their differences.
fn elements<T: Float>(rng: &mut StdRng, n: usize) -> (Vec<T>, Vec<i128>) {
    let one = 1i64 << T::SCALE;
    let kind = rng.random_range(0..3);
    let integers: Vec<i64> = (0..n)
        .map(|_| match kind {
            0 => rng.random_range(-one..=one),
            1 => rng.random_range(-one..=one) >> rng.random_range(0..T::SCALE),
            _ => one - rng.random_range(0..=one >> (T::SCALE / 2)),
        })
        .collect();
    let values = integers.iter().map(|&k| T::new(k as f64 * 2f64.powi(-T::SCALE))).collect();
    (values, integers.into_iter().map(i128::from).collect())
}

/// The bound `(1 + u)^k - 1`, and a little more, because the reference rounds too.
fn growth(u: f64, k: u64) -> f64 {
    (k as f64 * u.ln_1p()).exp_m1() * (1.0 + 1e-9) + 4.0 * f64::EPSILON
}

fn assert_near(result: f64, exact: f64, bound: f64, what: &str) {
    assert!(
        (result - exact).abs() <= bound,
        "{what}: {result:e} differs from {exact:e} by more than {bound:e}"
    );
}

/// The depth of the tree of additions of this operation over this input.
fn depth<T: Float, O: Operation<T, Arity = warpfold::reducer::Single> + Default>(
    device: &Device,
    input: View<'_, T>,
) -> u64 {
    device.reducer::<T, _>(O::default()).unwrap().shape(input).depth(size_of::<T>() as u64)
}

/// Tests all sums over one type.
macro_rules! sums {
    ($($name:ident: $t:ident;)*) => {$(
        #[test]
        fn $name() {
            let mut rng = rng();
            let devices = devices();
            for n in SIZES {
                let ((xs, ks), (ys, ls)) = (elements::<$t>(&mut rng, n), elements::<$t>(&mut rng, n));
                let unit = 2f64.powi(-$t::SCALE);
                let square = unit * unit;
                let total = |integers: &mut dyn Iterator<Item = i128>| integers.sum::<i128>() as f64;
                let sum = total(&mut ks.iter().copied()) * unit;
                let magnitude = total(&mut ks.iter().map(|k| k.abs())) * unit;
                let squares = total(&mut ks.iter().map(|k| k * k)) * square;
                let dot = total(&mut ks.iter().zip(&ls).map(|(k, l)| k * l)) * square;
                let dot_magnitude = total(&mut ks.iter().zip(&ls).map(|(k, l)| (k * l).abs())) * square;
                let distance = total(&mut ks.iter().zip(&ls).map(|(k, l)| (k - l) * (k - l))) * square;
                for device in &devices {
                    for from in offsets::<$t>(n) {
                        let x = Placed::new(device, &xs, from, <$t as Float>::NAN);
                        let y = Placed::new(device, &ys, if n % 2 == 0 { from } else { 0 }, <$t as Float>::NAN);
                        let (x, y) = (x.view(), y.view());
                        let at = |op: &str| {
                            format!("{}: {op} of {n} {} from {from} on", device.info().name, stringify!($t))
                        };
                        let d = depth::<$t, Sum>(device, x);
                        let u = $t::ROUNDOFF;
                        let result = |result: Result<_, _>| f64::from(result.unwrap());
                        assert_near(result(device.reduce(x, Sum)), sum, growth(u, d) * magnitude, &at("sum"));
                        assert_near(result(device.reduce(x, SumAbs)), magnitude, growth(u, d) * magnitude, &at("sum of magnitudes"));
                        assert_near(result(device.reduce(x, SumSquares)), squares, growth(u, d + 1) * squares, &at("sum of squares"));
                        let root = squares.sqrt();
                        assert_near(result(device.reduce(x, Norm2)), root, growth(u, d + 3) * root, &at("norm"));
                        let bound = growth(u, d + 1) * dot_magnitude;
                        assert_near(result(device.reduce((x, y), Dot)), dot, bound, &at("dot product"));
                        let bound = growth(u, d + 3) * distance;
                        assert_near(result(device.reduce((x, y), SquaredDistance)), distance, bound, &at("distance"));
                        let bound = 1.001 * u * sum.abs() + 2.0 * growth(u, 2 * d).powi(2) * magnitude;
                        assert_near(result(device.reduce(x, CompensatedSum)), sum, bound, &at("compensated sum"));

                        let statistics = device.reduce(x, Moments).unwrap();
                        assert_eq!(statistics.count, n as u64);
                        let u = f64::EPSILON / 2.0;
                        let bound = growth(u, d + 4) * magnitude / n as f64;
                        assert_near(statistics.mean(), sum / n as f64, bound, &at("mean"));
                        // The squared deviations times n are an integer: n * sum k^2 - (sum k)^2.
                        let exact = {
                            let sum: BigInt = ks.iter().map(|&k| BigInt::from(k)).sum();
                            let squares: BigInt = ks.iter().map(|&k| BigInt::from(k * k)).sum();
                            let scaled: f64 = (squares * n - &sum * &sum).to_string().parse().unwrap();
                            scaled / n as f64 * square
                        };
                        // T. F. Chan, G. H. Golub, R. J. LeVeque, The American Statistician 37
                        // (1983): the condition number is that of the sum of squares, and the
                        // pairwise algorithm's error is proportional to the depth.
                        let condition = (squares / exact.max(f64::MIN_POSITIVE)).sqrt();
                        let bound = 8.0 * growth(u, d + 4) * condition * exact + 8.0 * growth(u, d + 4).powi(2) * squares;
                        assert_near(statistics.squared_deviations(), exact, bound, &at("squared deviations"));
                    }
                }
            }
        }
    )*};
}

sums! {
    sums_of_f16: f16;
    sums_of_bf16: bf16;
    sums_of_f32: f32;
    sums_of_f64: f64;
}

#[test]
fn wide_sums() {
    fn check<T: Float>(rng: &mut StdRng, device: &Device, n: usize)
    where
        WideSum: Operation<T, Output = f64, Arity = warpfold::reducer::Single>,
    {
        let (xs, ks) = elements::<T>(rng, n);
        let x = Placed::new(device, &xs, n % 3, T::NAN);
        let sum = device.reduce(x.view(), WideSum).unwrap();
        // The elements have one scale and so few bits that 53 bits hold each sum without any
        // rounding.
        assert_eq!(
            sum.to_bits(),
            (ks.iter().sum::<i128>() as f64 * 2f64.powi(-T::SCALE) + 0.0).to_bits(),
            "{n} {}",
            T::NAME
        );
    }
    let mut rng = rng();
    for device in devices() {
        for n in SIZES {
            check::<f16>(&mut rng, &device, n);
            check::<bf16>(&mut rng, &device, n);
            check::<f32>(&mut rng, &device, n);
        }
    }
}

#[test]
fn products() {
    fn check<T: Float>(rng: &mut StdRng, device: &Device, n: usize)
    where
        Product: Operation<T, Arity = warpfold::reducer::Single, Output: Into<f64>>,
    {
        let xs: Vec<T> = (0..n)
            .map(|_| T::new(rng.random_range(0.9..1.1) * [1.0, -1.0][rng.random_range(0..2)]))
            .collect();
        // The reference in f64 has as many roundings as the result. For narrower types, each
        // rounding of the reference is 2^29 times smaller.
        let exact: f64 = xs.iter().map(|x| x.number()).product();
        let x = Placed::new(device, &xs, n % 3, T::NAN);
        let result: f64 = device.reduce(x.view(), Product).unwrap().into();
        let bound =
            (growth(T::ROUNDOFF, n as u64) + growth(f64::EPSILON / 2.0, n as u64)) * exact.abs();
        assert_near(result, exact, bound, &format!("product of {n} {}", T::NAME));
    }
    let mut rng = rng();
    for device in devices() {
        for n in SIZES.into_iter().filter(|&n| n < 2000) {
            check::<f16>(&mut rng, &device, n);
            check::<bf16>(&mut rng, &device, n);
            check::<f32>(&mut rng, &device, n);
            check::<f64>(&mut rng, &device, n);
        }
    }
}

#[test]
fn what_rounding_leaves_out_is_kept() {
    let mut rng = rng();
    for device in devices() {
        // The terms are large and cancel: the condition number is about 1e9.
        let mut values: Vec<f32> = (0..3000).map(|_| rng.random_range(-1e6f32..1e6)).collect();
        values.extend(values.clone().iter().map(|x| -x));
        values.extend([1e-3; 1000]);
        let sum = device.reduce(&values, CompensatedSum).unwrap();
        assert!((f64::from(sum) - 1000.0 * f64::from(1e-3f32)).abs() < 1e-4, "{sum}");
    }
}

#[test]
fn a_large_mean_costs_the_variance_nothing() {
    for device in devices() {
        let values: Vec<f64> = (0..10_000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let statistics = device.reduce(&values, Moments).unwrap();
        assert_near(statistics.mean(), 1e9 + 0.5, 1e-6, "mean");
        assert_near(statistics.variance(), 0.25, 1e-6, "variance");
        assert_near(statistics.standard_deviation(), 0.5, 1e-6, "standard deviation");
        assert_near(
            statistics.sample_variance().unwrap(),
            0.25 * 10_000.0 / 9_999.0,
            1e-6,
            "sample variance",
        );
        let one = device.reduce(&[7i32], Moments).unwrap();
        assert_eq!((one.mean(), one.variance(), one.sample_variance()), (7.0, 0.0, None));
        let integers = device.reduce(&[u128::MAX, 0], Moments).unwrap();
        assert_near(integers.mean(), 2f64.powi(127), 2f64.powi(80), "mean of large integers");
    }
}
