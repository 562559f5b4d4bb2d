//! Integers: every operation is exact.

use num_bigint::BigInt;
use rand::{Rng, rngs::StdRng};
use warpfold::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum,
    CountNonzero, Dot, Error, Extremes, Indexed, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Norm2,
    Product, SquaredDistance, Sum, SumAbs, SumSquares, WrappingSum,
};

use crate::{
    cases::{Placed, SIZES, assert_reduces, offsets, rng},
    support::devices,
};

/// Tests all operations over one type of integers. The arguments are the element type, the type of
/// sums and products, the type of absolute values, and the type of their sums.
macro_rules! integers {
    ($($name:ident: $t:ident, $wide:ident, $magnitude:ident, $wide_magnitude:ident;)*) => {$(
        #[test]
        fn $name() {
            let mut rng = rng();
            let devices = devices();
            for n in SIZES {
                // Some elements have random bits; the others are a few small values, so that there
                // are ties and zeros.
                let mixed = |rng: &mut StdRng, n: usize| -> Vec<$t> {
                    let bits: u32 = rng.random_range(1..=$t::BITS);
                    (0..n).map(|_| rng.random::<$t>() >> ($t::BITS - bits)).collect()
                };
                let (xs, ys) = (mixed(&mut rng, n), mixed(&mut rng, n));
                for device in &devices {
                    for from in offsets::<$t>(n) {
                        let x = Placed::new(device, &xs, from, $t::MIN);
                        let y = Placed::new(device, &ys, if n % 2 == 0 { from } else { 0 }, $t::MAX);
                        let at = format!("{n} elements from {from} on, the first of them {:?}", &xs[..n.min(40)]);
                        let x = x.view();
                        let wide = || xs.iter().map(|&x| x as $wide);
                        assert_reduces!(device, x, Sum, wide().fold(0, $wide::wrapping_add), at);
                        assert_reduces!(device, x, WrappingSum, xs.iter().copied().fold(0, $t::wrapping_add), at);
                        assert_reduces!(device, x, Product, wide().fold(1, $wide::wrapping_mul), at);
                        let (min, max) = (*xs.iter().min().unwrap(), *xs.iter().max().unwrap());
                        assert_reduces!(device, x, Min, min, at);
                        assert_reduces!(device, x, Minimum, min, at);
                        assert_reduces!(device, x, Max, max, at);
                        assert_reduces!(device, x, Maximum, max, at);
                        assert_reduces!(device, x, MinMax, Extremes { min, max }, at);
                        let first = |value| Indexed::new(value, xs.iter().position(|&x| x == value).unwrap() as u64);
                        assert_reduces!(device, x, ArgMin, first(min), at);
                        assert_reduces!(device, x, ArgMinimum, first(min), at);
                        assert_reduces!(device, x, ArgMax, first(max), at);
                        assert_reduces!(device, x, ArgMaximum, first(max), at);
                        let count = xs.iter().filter(|&&x| x != 0).count();
                        assert_reduces!(device, x, CountNonzero, count as u64, at);
                        assert_reduces!(device, x, Any, count > 0, at);
                        assert_reduces!(device, x, All, count == n, at);
                        assert_reduces!(device, x, BitAnd, xs.iter().fold(!0, |bits, x| bits & x), at);
                        assert_reduces!(device, x, BitOr, xs.iter().fold(0, |bits, x| bits | x), at);
                        assert_reduces!(device, x, BitXor, xs.iter().fold(0, |bits, x| bits ^ x), at);
                        let magnitude = |x: $t| if x < $t::MIN.max(0) { (x as $magnitude).wrapping_neg() } else { x as $magnitude };
                        let magnitudes = || xs.iter().map(|&x| magnitude(x));
                        let sum_abs = magnitudes().fold(0, |sum: $wide_magnitude, x| sum.wrapping_add(x as $wide_magnitude));
                        assert_reduces!(device, x, SumAbs, sum_abs, at);
                        assert_reduces!(device, x, MaxAbs, magnitudes().max().unwrap(), at);
                        let squares = wide().fold(0, |sum: $wide, x| sum.wrapping_add(x.wrapping_mul(x)));
                        assert_reduces!(device, x, SumSquares, squares, at);
                        let pairs = || wide().zip(ys.iter().map(|&y| y as $wide));
                        let dot = pairs().fold(0, |sum: $wide, (x, y)| sum.wrapping_add(x.wrapping_mul(y)));
                        assert_reduces!(device, (x, y.view()), Dot, dot, at);
                        let distance = pairs().map(|(x, y)| x.wrapping_sub(y));
                        let distance = distance.fold(0, |sum: $wide, d| sum.wrapping_add(d.wrapping_mul(d)));
                        assert_reduces!(device, (x, y.view()), SquaredDistance, distance, at);

                        let exact: BigInt = xs.iter().map(|&x| BigInt::from(x)).sum();
                        match (device.reduce(x, CheckedSum), $t::try_from(exact.clone())) {
                            (Ok(sum), Ok(expected)) => assert_eq!(sum, expected, "{at}"),
                            (Err(Error::Overflow { exact: told, item }), Err(_)) => {
                                assert_eq!((told.to_string(), item), (exact.to_string(), stringify!($t)), "{at}");
                            }
                            (result, expected) => panic!("{result:?}, and not {expected:?}: {at}"),
                        }
                    }
                }
            }
        }
    )*};
}

integers! {
    of_8_bits: i8, i64, u8, u64;
    of_8_bits_unsigned: u8, u64, u8, u64;
    of_16_bits: i16, i64, u16, u64;
    of_16_bits_unsigned: u16, u64, u16, u64;
    of_32_bits: i32, i64, u32, u64;
    of_32_bits_unsigned: u32, u64, u32, u64;
    of_64_bits: i64, i64, u64, u64;
    of_64_bits_unsigned: u64, u64, u64, u64;
    of_128_bits: i128, i128, u128, u128;
    of_128_bits_unsigned: u128, u128, u128, u128;
}

#[test]
fn sums_that_just_fit_and_just_do_not() {
    for device in devices() {
        let sum = |values: &[i32]| device.reduce(values, CheckedSum);
        assert_eq!(sum(&[i32::MAX, i32::MAX, i32::MIN, i32::MIN, i32::MAX, 2]).unwrap(), i32::MAX);
        assert_eq!(sum(&[i32::MIN, 1, -1]).unwrap(), i32::MIN);
        let error = sum(&[i32::MAX, 1]).unwrap_err();
        assert_eq!(error.to_string(), "the sum is 2147483648, which no i32 holds");
        let error = device.reduce(&[u64::MAX; 100], CheckedSum).unwrap_err();
        assert_eq!(error.to_string(), "the sum is 1844674407370955161500, which no u64 holds");
        let error = device.reduce(&[i128::MIN; 3], CheckedSum).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the sum is -510423550381407695195061911147652317184, which no i128 holds"
        );
        let error = device.reduce(&[u128::MAX; 2], CheckedSum).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the sum is 680564733841876926926749214863536422910, which no u128 holds"
        );
        assert_eq!(device.reduce(&[u128::MAX, 0], CheckedSum).unwrap(), u128::MAX);
        assert_eq!(device.reduce(&[u8::MAX; 300], Sum).unwrap(), 300 * 255);
    }
}

#[test]
fn roots_of_sums_of_squares() {
    for device in devices() {
        assert_reduces!(device, &[3i8, -4], Norm2, 5.0, "");
        assert_reduces!(device, &[5u16, 12], Norm2, 13.0, "");
        assert_reduces!(device, &[i16::MIN; 4], Norm2, 65536.0, "");
        assert_reduces!(device, &[u8::MAX; 10_000], Norm2, 25_500.0, "");
    }
}

/// Of several equal elements, the first is the best.
macro_rules! equal {
    ($($name:ident: $t:ident;)*) => {$(
        #[test]
        fn $name() {
            for device in &devices() {
                for n in [1usize, 5, 33, 1025, 70_001] {
                    for value in [$t::MIN, 0, $t::MAX] {
                        for from in offsets::<$t>(n) {
                            let placed = Placed::new(device, &vec![value; n], from, $t::MIN);
                            let x = placed.view();
                            let at = format!("{n} times {value} from {from} on");
                            assert_reduces!(device, x, ArgMin, Indexed::new(value, 0), at);
                            assert_reduces!(device, x, ArgMax, Indexed::new(value, 0), at);
                        }
                    }
                }
            }
        }
    )*};
}

equal! {
    the_first_of_equal_i8: i8;
    the_first_of_equal_u16: u16;
    the_first_of_equal_i32: i32;
    the_first_of_equal_u64: u64;
    the_first_of_equal_i128: i128;
}
