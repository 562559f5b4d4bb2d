//! NaNs, infinities, zeros of both signs and subnormal numbers. A result that is one of the
//! elements is compared bit for bit; a sum is held to the rules of IEEE 754.

use std::cmp::Ordering;

use half::{bf16, f16};
use rand::{Rng, rngs::StdRng};
use warpfold::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, CompensatedSum, CountNonzero, Dot, Extremes,
    Indexed, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, Norm2, Product, SquaredDistance,
    Sum, SumAbs, SumSquares, WideSum,
};

use crate::{
    cases::{Placed, SIZES, assert_reduces, offsets, rng},
    floats::Float,
    support::devices,
};

/// The order of numbers, with -0 before +0.
fn compare<T: Float>(a: T, b: T) -> Ordering {
    let key = |x: T| (x.number(), x.number().is_sign_positive());
    key(a).partial_cmp(&key(b)).expect("numbers only")
}

/// The first of the least elements or, with the reversed order, of the greatest. NaNs count only if
/// `nan_wins` is true, or if there are no numbers.
fn first<T: Float>(values: &[T], before: Ordering, nan_wins: bool) -> Indexed<T> {
    let is_nan = |x: T| x.number().is_nan();
    let mut best: Option<usize> = None;
    for (i, &x) in values.iter().enumerate() {
        let better = match best.map(|best| values[best]) {
            None => true,
            Some(best) if is_nan(best) || is_nan(x) => {
                is_nan(x) != is_nan(best) && is_nan(x) == nan_wins
            }
            Some(best) => compare(x, best) == before,
        };
        if better {
            best = Some(i);
        }
    }
    let best = best.expect("there are elements");
    Indexed::new(values[best], best as u64)
}

/// Elements of random bits, or elements with many NaNs, zeros and infinities.
fn mixed<T: Float>(
    rng: &mut StdRng,
    n: usize,
    any: impl Fn(&mut StdRng) -> T,
    specials: &[T],
) -> Vec<T> {
    let share = [0.0, 0.02, 0.5, 1.0][rng.random_range(0..4)];
    let specials = &specials[..rng.random_range(1..=specials.len())];
    let mut values = Vec::with_capacity(n);
    while values.len() < n {
        let value = if rng.random_bool(share) {
            specials[rng.random_range(0..specials.len())]
        } else {
            any(rng)
        };
        values.push(value);
    }
    values
}

macro_rules! extremes {
    ($($name:ident: $t:ident, $bits:ident, $zero:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut rng = rng();
            let devices = devices();
            let subnormal = $t::from_bits(1);
            let specials = [
                $zero, -$zero, $t::NAN, $t::INFINITY, $t::NEG_INFINITY, subnormal, -subnormal, $t::MAX, $t::MIN, $t::MIN_POSITIVE,
                $t::from_bits($bits::MAX),
            ];
            for n in SIZES {
                let xs: Vec<$t> = mixed(&mut rng, n, |rng| $t::from_bits(rng.random()), &specials);
                for device in &devices {
                    for from in offsets::<$t>(n) {
                        let placed = Placed::new(device, &xs, from, if n % 2 == 0 { $t::NEG_INFINITY } else { $t::NAN });
                        let x = placed.view();
                        let at = format!("{n} elements from {from} on, the first of them {:?}", &xs[..n.min(40)]);
                        let min = first(&xs, Ordering::Less, false);
                        let max = first(&xs, Ordering::Greater, false);
                        assert_reduces!(device, x, Min, min.value, at);
                        assert_reduces!(device, x, Max, max.value, at);
                        assert_reduces!(device, x, MinMax, Extremes { min: min.value, max: max.value }, at);
                        assert_reduces!(device, x, ArgMin, min, at);
                        assert_reduces!(device, x, ArgMax, max, at);
                        let min = first(&xs, Ordering::Less, true);
                        let max = first(&xs, Ordering::Greater, true);
                        assert_reduces!(device, x, Minimum, min.value, at);
                        assert_reduces!(device, x, Maximum, max.value, at);
                        assert_reduces!(device, x, ArgMinimum, min, at);
                        assert_reduces!(device, x, ArgMaximum, max, at);
                        let magnitudes: Vec<$t> = xs.iter().map(|x| $t::from_bits(x.to_bits() & $bits::MAX >> 1)).collect();
                        assert_reduces!(device, x, MaxAbs, first(&magnitudes, Ordering::Greater, true).value, at);
                        let count = xs.iter().filter(|x| x.number() != 0.0).count();
                        assert_reduces!(device, x, CountNonzero, count as u64, at);
                        assert_reduces!(device, x, Any, count > 0, at);
                        assert_reduces!(device, x, All, count == n, at);
                    }
                }
            }
        }
    )*};
}

extremes! {
    extremes_of_f16: f16, u16, f16::ZERO;
    extremes_of_bf16: bf16, u16, bf16::ZERO;
    extremes_of_f32: f32, u32, 0.0f32;
    extremes_of_f64: f64, u64, 0.0f64;
}

/// Of several equal elements, the first is the best. All NaNs are equal.
macro_rules! equal {
    ($($name:ident: $t:ident, $bits:ident;)*) => {$(
        #[test]
        fn $name() {
            let mut rng = rng();
            for device in &devices() {
                for n in [1usize, 5, 33, 1025, 70_001] {
                    for x in [$t::INFINITY, $t::NEG_INFINITY, $t::MAX, $t::from_bits(0), $t::NAN] {
                        let element = |rng: &mut StdRng| {
                            let sign = $bits::from(rng.random::<bool>()) << ($bits::BITS - 1);
                            if x.is_nan() { $t::from_bits(x.to_bits() | sign | rng.random_range(0..99)) } else { x }
                        };
                        let xs: Vec<$t> = (0..n).map(|_| element(&mut rng)).collect();
                        for from in offsets::<$t>(n) {
                            let placed = Placed::new(device, &xs, from, $t::NEG_INFINITY);
                            let x = placed.view();
                            let first = Indexed::new(xs[0], 0);
                            let at = format!("{n} times {} from {from} on", xs[0]);
                            assert_reduces!(device, x, ArgMin, first, at);
                            assert_reduces!(device, x, ArgMax, first, at);
                            assert_reduces!(device, x, ArgMinimum, first, at);
                            assert_reduces!(device, x, ArgMaximum, first, at);
                        }
                    }
                }
            }
        }
    )*};
}

equal! {
    the_first_of_equal_f16: f16, u16;
    the_first_of_equal_bf16: bf16, u16;
    the_first_of_equal_f32: f32, u32;
    the_first_of_equal_f64: f64, u64;
}

/// Tests sums and products of ordinary numbers with one or two numbers that are not finite. The
/// ordinary numbers are so near to 1 that their product neither overflows nor underflows.
macro_rules! not_finite {
    ($($name:ident: $t:ident;)*) => {$(
        #[test]
        fn $name() {
            let mut rng = rng();
            let (inf, nan) = ($t::INFINITY, $t::NAN);
            for device in &devices() {
                for n in [3usize, 100, 1025, 20_000] {
                    for (a, b, sum) in [(inf, inf, inf), (-inf, -inf, -inf), (inf, -inf, nan), (nan, inf, nan), (nan, nan, nan)] {
                        let mut xs: Vec<$t> = (0..n).map(|_| $t::new(rng.random_range(0.9..1.1))).collect();
                        let [i, j] = [0, 1].map(|half| half * (n / 2) + rng.random_range(0..n / 2));
                        (xs[i], xs[j]) = (a, b);
                        let placed = Placed::new(device, &xs, n % 3, $t::new(0.0));
                        let x = placed.view();
                        let same = |result: f64, expected: f64, op: &str| {
                            let right = result == expected || result.is_nan() && expected.is_nan();
                            assert!(right, "{op} of {n} with {a} at {i} and {b} at {j}: {result}, and not {expected}");
                        };
                        let sum = sum.number();
                        same(f64::from(device.reduce(x, Sum).unwrap()), sum, "sum");
                        same(f64::from(device.reduce(x, CompensatedSum).unwrap()), sum, "compensated sum");
                        let magnitude = if a.is_nan() { f64::NAN } else { f64::INFINITY };
                        same(f64::from(device.reduce(x, SumAbs).unwrap()), magnitude, "sum of magnitudes");
                        same(f64::from(device.reduce(x, SumSquares).unwrap()), magnitude, "sum of squares");
                        same(f64::from(device.reduce(x, Norm2).unwrap()), magnitude, "norm");
                        same(f64::from(device.reduce((x, x), Dot).unwrap()), magnitude, "dot product");
                        same(f64::from(device.reduce((x, x), SquaredDistance).unwrap()), f64::NAN, "squared distance");
                        let product = if a.is_nan() { f64::NAN } else { a.number() * b.number() };
                        same(f64::from(device.reduce(x, Product).unwrap()), product, "product");
                        let statistics = device.reduce(x, Moments).unwrap();
                        assert!(!statistics.mean().is_finite(), "mean of {n} with {a} at {i} and {b} at {j}: {statistics:?}");
                        same(statistics.variance(), f64::NAN, "variance");
                    }
                }
            }
        }
    )*};
}

not_finite! {
    not_finite_f16: f16;
    not_finite_bf16: bf16;
    not_finite_f32: f32;
    not_finite_f64: f64;
}

#[test]
fn subnormal_numbers_are_not_flushed() {
    for device in devices() {
        let tiny = f32::from_bits(3);
        assert_eq!(device.reduce(&[tiny; 1000], Sum).unwrap().to_bits(), 3000);
        assert_eq!(device.reduce(&[tiny; 1000], WideSum).unwrap(), 1000.0 * f64::from(tiny));
        assert_eq!(
            device.reduce(&[tiny, 0.5], Product).unwrap().to_bits(),
            2,
            "1.5 units round to even"
        );
        let tiny = f64::from_bits(3);
        assert_eq!(device.reduce(&[tiny; 1000], Sum).unwrap().to_bits(), 3000);
        let tiny = f16::from_bits(3);
        assert_eq!(f64::from(device.reduce(&[tiny; 1000], Sum).unwrap()), 1000.0 * f64::from(tiny));
    }
}
