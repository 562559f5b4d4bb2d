//! Each operation and type: a bin has the result of an array of its values.

use std::fmt::Debug;

use rand::{Rng, distr::StandardUniform, prelude::Distribution};
use warpfold::{
    ArgMax, ArgMin, BinOperation, Device, Indexed, Item, Max, Min, MinMax, Moments, Statistics,
    Sum,
    half::{bf16, f16},
};

use super::{kinds_of_keys, seed::random, support::devices};

/// The positions of the values of a bin.
fn positions(keys: &[u32], bin: u32) -> Vec<usize> {
    (0..keys.len()).filter(|&i| keys[i] == bin).collect()
}

/// Compares each bin with the array of its values, as text that shows each bit. `place` puts what
/// an operation says of an array in terms of all values, of which these have these positions.
fn check<T: Item, O>(
    device: &Device,
    keys: &[u32],
    values: &[T],
    bins: usize,
    place: impl Fn(O::Output, &[usize]) -> O::Output,
) where
    O: BinOperation<T, Output: Debug> + Default,
{
    let reducer = device.bin_reducer::<T, O>(O::default()).unwrap();
    let results = reducer.reduce_into_bins(keys, values, bins).unwrap();
    let whole = device.reducer::<T, O>(O::default()).unwrap();
    for (bin, result) in (0..).zip(results) {
        let positions = positions(keys, bin);
        let own: Vec<T> = positions.iter().map(|&i| values[i]).collect();
        let expected = place(whole.reduce(&own).unwrap(), &positions);
        let name = format!("{} of {}: bin {bin}", O::NAME, T::NAME);
        assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{name}");
    }
}

fn placed<T: Item>(found: Indexed<T>, positions: &[usize]) -> Indexed<T> {
    Indexed::new(found.value, positions[found.index as usize] as u64)
}

/// Moments are computed in another order, so they are compared with those of a plain loop.
fn check_moments<T: Item>(device: &Device, keys: &[u32], values: &[T], number: fn(T) -> f64)
where
    Moments: BinOperation<T, Output = Statistics>,
{
    let results = device.reduce_into_bins(keys, values, 20, Moments).unwrap();
    for (bin, result) in (0..).zip(results) {
        let own: Vec<f64> = positions(keys, bin).iter().map(|&i| number(values[i])).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        assert_eq!(result.count, own.len() as u64, "{}: bin {bin}", T::NAME);
        if mean.is_finite() {
            let m2: f64 = own.iter().map(|x| (x - mean) * (x - mean)).sum();
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs() + 1.0);
            let scale = own.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
            assert!(is_near(result.mean() / scale, mean / scale), "{}: {result:?}", T::NAME);
            let square = scale * scale * own.len() as f64;
            assert!(
                is_near(result.squared_deviations() / square, m2 / square),
                "{}: {result:?}, {m2}",
                T::NAME
            );
        } else {
            assert_eq!(result.mean().is_nan(), mean.is_nan(), "{}: {result:?}", T::NAME);
        }
    }
}

fn check_all<T: Item>(device: &Device, value: impl FnMut() -> T, number: fn(T) -> f64)
where
    Sum: BinOperation<T, Output: Debug>,
    Min: BinOperation<T, Output = T>,
    Max: BinOperation<T, Output = T>,
    MinMax: BinOperation<T, Output: Debug>,
    ArgMin: BinOperation<T, Output = Indexed<T>>,
    ArgMax: BinOperation<T, Output = Indexed<T>>,
    Moments: BinOperation<T, Output = Statistics>,
{
    let values: Vec<T> = std::iter::repeat_with(value).take(9000).collect();
    // Both with one block and with several.
    for n in [2000, 9000] {
        for (name, keys) in &kinds_of_keys(n, 20) {
            if name.contains("same") || name.contains("empty") {
                continue;
            }
            let values = &values[..n];
            check::<T, Sum>(device, keys, values, 20, |sum, _| sum);
            check::<T, Min>(device, keys, values, 20, |least, _| least);
            check::<T, Max>(device, keys, values, 20, |most, _| most);
            check::<T, MinMax>(device, keys, values, 20, |extremes, _| extremes);
            check::<T, ArgMin>(device, keys, values, 20, placed);
            check::<T, ArgMax>(device, keys, values, 20, placed);
            check_moments(device, keys, values, number);
        }
    }
}

fn integers<T>() -> impl FnMut() -> T
where
    StandardUniform: Distribution<T>,
{
    let mut random = random();
    move || random.random()
}

/// Floats whose sums are exact in any order, with ties, and some that are no numbers.
fn floats<T>(of: impl Fn(f32) -> T) -> impl FnMut() -> T {
    let mut random = random();
    move || match random.random_range(0..2000) {
        0 => of(f32::NAN),
        1 => of(f32::INFINITY),
        2 => of(-0.0),
        _ => of(random.random_range(-50..50) as f32 / 8.0),
    }
}

#[test]
fn a_bin_is_as_an_array_of_its_integers() {
    for device in devices() {
        check_all::<u8>(&device, integers(), f64::from);
        check_all::<i32>(&device, integers(), f64::from);
        check_all::<u32>(&device, integers(), f64::from);
        check_all::<i64>(&device, integers(), |x| x as f64);
        check_all::<u64>(&device, integers(), |x| x as f64);
    }
}

#[test]
fn a_bin_is_as_an_array_of_its_floats() {
    for device in devices() {
        check_all::<f16>(&device, floats(f16::from_f32), f64::from);
        check_all::<bf16>(&device, floats(bf16::from_f32), f64::from);
        check_all::<f32>(&device, floats(|x| x), f64::from);
        check_all::<f64>(&device, floats(f64::from), |x| x);
    }
}

/// The worst value of all is a result as any other, with the index of the first one.
#[test]
fn bins_of_the_worst_values_only() {
    for device in devices() {
        let keys = [1u8, 0, 1, 0];
        let found = device.reduce_into_bins(&keys, &[255u8; 4], 2, ArgMin).unwrap();
        assert_eq!(found, [Indexed::new(255, 1), Indexed::new(255, 0)]);
        let found = device.reduce_into_bins(&keys, &[f32::NAN; 4], 2, ArgMax).unwrap();
        assert_eq!(found.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 0]);
        let found =
            device.reduce_into_bins(&keys, &[f32::NAN, 1.0, 2.0, f32::NAN], 2, Min).unwrap();
        assert_eq!(found, [1.0, 2.0]);
    }
}
