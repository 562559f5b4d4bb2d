//! Random lengths, places and elements. When a test fails, it is reduced to a smaller case, and its
//! seed is printed.

use proptest::{
    collection::vec,
    prelude::{Strategy, any, prop_assert, prop_assert_eq},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use warpfold::{ArgMax, CheckedSum, Device, Dot, Min, MinMax, Sum, WrappingSum};

use crate::cases::{Placed, seed};

pub(crate) fn check<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    test: impl Fn(&Device, T) -> Result<(), TestCaseError>,
) {
    let device = Device::auto().unwrap();
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let seed: Vec<u8> = seed().to_le_bytes().repeat(4);
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    runner.run(&strategy, |input| test(&device, input)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn integers_of_any_length_and_place() {
    check((vec(any::<i16>(), 1..6000), 0usize..20), |device, (values, from)| {
        let placed = Placed::new(device, &values, from, i16::MAX);
        let sum: i64 = values.iter().map(|&x| i64::from(x)).sum();
        prop_assert_eq!(device.reduce(placed.view(), Sum).unwrap(), sum);
        prop_assert_eq!(device.reduce(placed.view(), WrappingSum).unwrap(), sum as i16);
        prop_assert_eq!(device.reduce(placed.view(), CheckedSum).ok(), i16::try_from(sum).ok());
        let extremes = device.reduce(placed.view(), MinMax).unwrap();
        prop_assert_eq!(Some(extremes.min), values.iter().copied().min());
        prop_assert_eq!(Some(extremes.max), values.iter().copied().max());
        let greatest = device.reduce(placed.view(), ArgMax).unwrap();
        prop_assert_eq!(
            values.iter().position(|&x| x == extremes.max),
            Some(greatest.index as usize)
        );
        Ok(())
    });
}

#[test]
fn floats_of_any_bits() {
    check((vec(any::<u32>(), 1..3000), 0usize..8), |device, (bits, from)| {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let placed = Placed::new(device, &values, from, f32::NEG_INFINITY);
        let least = values.iter().copied().filter(|x| !x.is_nan()).min_by(f32::total_cmp);
        let result = device.reduce(placed.view(), Min).unwrap();
        match least {
            Some(least) => prop_assert_eq!(result.to_bits(), least.to_bits()),
            None => prop_assert!(result.is_nan()),
        }
        Ok(())
    });
}

#[test]
fn sums_within_their_bound() {
    check((vec(-1e10f32..1e10, 1..5000), 0usize..8), |device, (values, from)| {
        let placed = Placed::new(device, &values, from, f32::NAN);
        let depth = device.reducer::<f32, _>(Sum).unwrap().shape(placed.view()).depth(4);
        let exact: f64 = values.iter().map(|&x| f64::from(x)).sum();
        let magnitude: f64 = values.iter().map(|&x| f64::from(x).abs()).sum();
        let bound = (depth as f64 * (f64::from(f32::EPSILON) / 2.0)).exp_m1() * magnitude;
        let error = (f64::from(device.reduce(placed.view(), Sum).unwrap()) - exact).abs();
        prop_assert!(error <= bound + 1e-11 * magnitude, "{error:e} is more than {bound:e}");
        Ok(())
    });
}

#[test]
fn pairs_in_parts() {
    check((vec(any::<(i8, i8)>(), 1..4000), 100u64..5000), |device, (pairs, limit)| {
        let (a, b): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
        let dot: i64 = a.iter().zip(&b).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
        let reducer = device.reducer::<i8, _>(Dot).unwrap().with_memory_limit(limit);
        prop_assert_eq!(reducer.reduce((&a, &b)).unwrap(), dot);
        Ok(())
    });
}
