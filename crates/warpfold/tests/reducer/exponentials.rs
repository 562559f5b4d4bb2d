//! Sums of exponentials: they stay within the documented bounds of a plain sum in two passes, for
//! elements whose exponentials would overflow or vanish, and they follow IEEE 754 and NumPy where
//! elements are not finite.

use half::{bf16, f16};
use rand::{Rng, rngs::StdRng};
use warpfold::{Device, ExpSum, Item, LogSumExp, Operation, SoftmaxStats, View, reducer::Single};

use crate::{
    cases::{Placed, SIZES, offsets, rng},
    floats::Float,
    support::devices,
};

/// The maximum, and the sum of the exponentials of the differences from it, in two passes. The sum
/// is compensated, so that its error is about that of one exponential.
fn plain(values: &[f64]) -> (f64, f64) {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return (max, 0.0);
    }
    let (mut sum, mut error) = (0.0, 0.0);
    for x in values {
        let term = (x - max).exp();
        let next: f64 = sum + term;
        error += if sum >= term { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    (max, sum + error)
}

/// Elements of one of several kinds: near to each other, far from each other, large in magnitude,
/// rising, so that the maximum changes often, all the same, or with some that are -infinity, or
/// with so many of them in a row that most threads have no others.
fn elements<T: Float>(rng: &mut StdRng, n: usize, greatest: f64) -> Vec<T> {
    let kind = rng.random_range(0..7);
    (0..n)
        .map(|i| match kind {
            0 => rng.random_range(-1.0..1.0),
            1 => rng.random_range(-0.9 * greatest..0.9 * greatest),
            2 => greatest - rng.random_range(0.0..30.0),
            3 => 40.0 * i as f64 / n as f64 + rng.random_range(0.0..1.0),
            4 => 0.75 * greatest,
            5 if i / 200 % 3 > 0 => f64::NEG_INFINITY,
            5 => rng.random_range(-9.0..9.0),
            _ if rng.random_bool(0.3) => f64::NEG_INFINITY,
            _ => rng.random_range(-100.0..-90.0),
        })
        .map(T::new)
        .collect()
}

fn check<T: Float>(rng: &mut StdRng, device: &Device, n: usize, greatest: f64)
where
    SoftmaxStats: Operation<T, Arity = Single, Output = ExpSum<T::Wide>, Raw = ExpSum<T::Wide>>,
    LogSumExp: Operation<T, Arity = Single, Output = T::Wide>,
    T::Wide: Into<f64>,
{
    let xs: Vec<T> = elements(rng, n, greatest);
    let numbers: Vec<f64> = xs.iter().map(|x| x.number()).collect();
    let (max, sum) = plain(&numbers);
    for from in offsets::<T>(n) {
        // The elements around the input are greater than all of the input.
        let placed = Placed::new(device, &xs, from, T::new(f64::INFINITY));
        let x = placed.view();
        let at = format!("{n} {} from {from} on: {:?}", T::NAME, &numbers[..n.min(20)]);
        let stats = device.reduce(x, SoftmaxStats).unwrap();
        let (found_max, found_sum) = (stats.max.into(), stats.sum.into());
        assert_eq!(found_max, max, "{at}");
        let depth = depth::<T>(device, x) as f64;
        let u = T::ROUNDOFF;
        let ln = (n as f64).ln();
        // The reference computes in f64, and has the errors of one exponential there.
        let of_reference = (2.0 + 2.0 * ln) * f64::EPSILON;
        let rounded = if size_of::<T::Wide>() == 4 {
            7.0 * depth + 1.1 * ln + 18.0
        } else {
            5.0 * depth + ln + 11.0
        };
        let relative = rounded * u + of_reference;
        assert!(
            (found_sum - sum).abs() <= relative * sum,
            "{at}: {found_sum} and not {sum}, {relative:e}"
        );
        let result: f64 = device.reduce(x, LogSumExp).unwrap().into();
        let exact = max + sum.ln();
        let bound = relative + u * exact.abs() + f64::EPSILON * (sum.ln() + exact.abs());
        assert!(
            (result - exact).abs() <= bound || result == exact,
            "{at}: {result} and not {exact}, {bound:e}"
        );
        // Both operations have one kernel.
        assert_eq!(result, stats_logarithm::<T>(device, x), "{at}");
    }
}

fn depth<T: Float>(device: &Device, input: View<'_, T>) -> u64
where
    SoftmaxStats: Operation<T, Arity = Single>,
{
    device.reducer::<T, _>(SoftmaxStats).unwrap().shape(input).depth(size_of::<T>() as u64)
}

/// The logarithm of the sum that another call gives.
fn stats_logarithm<T: Item>(device: &Device, input: View<'_, T>) -> f64
where
    SoftmaxStats: Operation<T, Arity = Single, Output = ExpSum<T::Wide>>,
    T::Wide: Into<f64>,
{
    let ExpSum { max, sum } = device.reduce(input, SoftmaxStats).unwrap();
    let (max, sum): (f64, f64) = (max.into(), sum.into());
    let logarithm = if max.is_finite() { max + sum.ln() } else { max };
    if size_of::<T::Wide>() == 4 { f64::from(logarithm as f32) } else { logarithm }
}

#[test]
fn sums_of_exponentials_are_within_their_bounds() {
    let mut rng = rng();
    for device in devices() {
        for n in SIZES {
            for _ in 0..2 {
                check::<f16>(&mut rng, &device, n, 65_504.0);
                check::<bf16>(&mut rng, &device, n, 3e38);
                check::<f32>(&mut rng, &device, n, 1e4);
                check::<f64>(&mut rng, &device, n, 1000.0);
            }
        }
    }
}

#[test]
fn exponentials_that_overflow_do_no_harm() {
    for device in devices() {
        let n = 5000;
        let ln = (n as f64).ln();
        let near = |found: f64, exact: f64| {
            assert!((found - exact).abs() <= 1e-3 * exact.abs(), "{found} {exact}");
        };
        let result = device.reduce(&vec![f16::from_f32(1e4); n], LogSumExp).unwrap();
        near(f64::from(result) - 1e4, ln);
        let result = device.reduce(&vec![f32::MIN / 2.0; n], LogSumExp).unwrap();
        assert_eq!(result, f32::MIN / 2.0, "the logarithm of n is below a unit in the last place");
        let result = device.reduce(&vec![-1000.0f64; n], LogSumExp).unwrap();
        near(result + 1000.0, ln);
        let extremes = [f64::MAX, f64::MIN, 0.0];
        assert_eq!(device.reduce(&extremes, LogSumExp).unwrap(), f64::MAX);
        let stats = device.reduce(&extremes, SoftmaxStats).unwrap();
        assert_eq!(stats, ExpSum { max: f64::MAX, sum: 1.0 });
        // One element is its own logarithm.
        for x in [0.0f32, 1.5, -87.25, 1e30, f32::from_bits(1), -f32::MAX] {
            assert_eq!(device.reduce(&[x], LogSumExp).unwrap(), x);
            assert_eq!(device.reduce(&[x], SoftmaxStats).unwrap(), ExpSum { max: x, sum: 1.0 });
        }
        let zero = device.reduce(&[-0.0f32; 9], SoftmaxStats).unwrap();
        assert_eq!((zero.max.to_bits(), zero.sum), (0, 9.0));
    }
}

/// Tests ordinary numbers with one or two others.
macro_rules! not_finite {
    ($($t:ident)*) => {$({
        let mut rng = rng();
        let (inf, nan) = ($t::INFINITY, $t::NAN);
        for device in &devices() {
            for n in [3usize, 100, 1025, 20_000] {
                for (a, b, max, has_sum) in [
                    (inf, inf, inf, false),
                    (inf, -inf, inf, false),
                    (nan, inf, nan, false),
                    (-nan, -inf, nan, false),
                    (nan, $t::new(0.0), nan, false),
                    (-inf, -inf, $t::new(2.0), true),
                ] {
                    let mut xs: Vec<$t> =
                        (0..n).map(|_| $t::new(rng.random_range(0.0..1.0))).collect();
                    let [i, j] = [0, 1].map(|half| half * (n / 2) + rng.random_range(0..n / 2));
                    (xs[i], xs[j]) = (a, b);
                    if has_sum {
                        xs[n - 1] = max;
                    }
                    let placed = Placed::new(device, &xs, n % 3, $t::new(0.0));
                    let at = format!("{n} with {a} at {i} and {b} at {j}");
                    let same = |found: f64, expected: f64| {
                        let is_right = found == expected || found.is_nan() && expected.is_nan();
                        assert!(is_right, "{at}: {found} and not {expected}");
                    };
                    let stats = device.reduce(placed.view(), SoftmaxStats).unwrap();
                    same(stats.max.into(), max.number());
                    assert_eq!(stats.sum.is_nan(), !has_sum, "{at}: {stats:?}");
                    let result: f64 = device.reduce(placed.view(), LogSumExp).unwrap().into();
                    if has_sum {
                        assert!(result.is_finite(), "{at}: {result}");
                    } else {
                        same(result, max.number());
                    }
                }
                let placed = Placed::new(device, &vec![-inf; n], n % 3, $t::new(0.0));
                let stats = device.reduce(placed.view(), SoftmaxStats).unwrap();
                assert_eq!((f64::from(stats.max), f64::from(stats.sum)), (f64::NEG_INFINITY, 0.0));
                let result: f64 = device.reduce(placed.view(), LogSumExp).unwrap().into();
                assert_eq!(result, f64::NEG_INFINITY);
            }
        }
    })*};
}

#[test]
fn what_is_not_finite_decides() {
    not_finite!(f16 bf16 f32 f64);
}

#[test]
fn parts_of_an_input_on_the_host_are_combined() {
    fn check<T: Float>(rng: &mut StdRng, device: &Device)
    where
        LogSumExp: Operation<T, Arity = Single, Output = T::Wide>,
        T::Wide: Into<f64>,
    {
        for n in [1usize, 1000, 4097, 30_001] {
            for _ in 0..4 {
                let xs: Vec<T> = elements(rng, n, 1000.0);
                let reducer = device.reducer::<T, _>(LogSumExp).unwrap();
                let whole: f64 = reducer.reduce(&xs).unwrap().into();
                let parts: f64 = reducer.with_memory_limit(8000).reduce(&xs).unwrap().into();
                let bound = 1000.0 * T::ROUNDOFF * whole.abs().max(1.0);
                assert!(
                    (parts - whole).abs() <= bound || parts == whole,
                    "{n} {}: {parts} {whole}",
                    T::NAME
                );
            }
        }
    }
    let mut rng = rng();
    for device in devices() {
        check::<f16>(&mut rng, &device);
        check::<bf16>(&mut rng, &device);
        check::<f32>(&mut rng, &device);
        check::<f64>(&mut rng, &device);
        let reducer = device.reducer::<f32, _>(LogSumExp).unwrap().with_memory_limit(8000);
        let mut xs = vec![f32::NEG_INFINITY; 9000];
        assert_eq!(reducer.reduce(&xs).unwrap(), f32::NEG_INFINITY);
        xs[8000] = 3.0;
        assert_eq!(reducer.reduce(&xs).unwrap(), 3.0);
        xs[1] = f32::INFINITY;
        assert_eq!(reducer.reduce(&xs).unwrap(), f32::INFINITY);
        xs[5000] = f32::NAN;
        assert!(reducer.reduce(&xs).unwrap().is_nan());
    }
}
