//! Sums, means and counts that skip NaNs.

use half::{bf16, f16};
use rand::Rng;
use warpfold::{CountNan, Device, NanMean, NanSum, Operation, reducer::Single};

use crate::{
    cases::{Placed, SIZES, offsets, rng},
    floats::Float,
    support::devices,
};

/// Small integers, whose sums are exact, with NaNs of either sign among them.
fn check<T: Float>(device: &Device, n: usize, share: f64)
where
    NanSum: Operation<T, Arity = Single, Output = T::Wide>,
    NanMean: Operation<T, Arity = Single, Output = T::Wide>,
    CountNan: Operation<T, Arity = Single, Output = u64>,
    T::Wide: Into<f64>,
{
    let mut rng = rng();
    let xs: Vec<T> = (0..n)
        .map(|_| {
            let nan = if rng.random() { f64::NAN } else { -f64::NAN };
            let number = f64::from(rng.random_range(-8..=8));
            T::new(if rng.random_bool(share) { nan } else { number })
        })
        .collect();
    let numbers: Vec<f64> = xs.iter().map(|x| x.number()).filter(|x| !x.is_nan()).collect();
    let sum: f64 = numbers.iter().sum::<f64>() + 0.0;
    let mean = sum / numbers.len() as f64;
    for from in offsets::<T>(n) {
        let placed = Placed::new(device, &xs, from, T::NAN);
        let x = placed.view();
        let at = format!("{n} {} from {from} on, {share} of them NaN", T::NAME);
        let found: f64 = device.reduce(x, NanSum).unwrap().into();
        assert_eq!(found.to_bits(), sum.to_bits(), "{at}");
        let found: f64 = device.reduce(x, NanMean).unwrap().into();
        // The quotient is rounded once more if the result is an f32.
        let is_near = (found - mean).abs() <= T::ROUNDOFF * mean.abs();
        assert!(is_near || (found.is_nan() && mean.is_nan()), "{at}: {found} and not {mean}");
        let nans = (n - numbers.len()) as u64;
        assert_eq!(device.reduce(x, CountNan).unwrap(), nans, "{at}");
        let parts = device.reducer::<T, _>(NanSum).unwrap().with_memory_limit(8000);
        let found: f64 = parts.reduce(&xs).unwrap().into();
        assert_eq!(found.to_bits(), sum.to_bits(), "{at}, in parts");
    }
}

#[test]
fn nans_are_skipped_and_counted() {
    for device in devices() {
        for n in SIZES {
            for share in [0.0, 0.3, 0.99, 1.0] {
                check::<f16>(&device, n, share);
                check::<bf16>(&device, n, share);
                check::<f32>(&device, n, share);
                check::<f64>(&device, n, share);
            }
        }
    }
}

#[test]
fn infinities_are_no_nans() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for device in devices() {
        for (elements, sum, nans) in [
            ([nan, inf, 1.0], inf, 1),
            ([-inf, nan, nan], -inf, 2),
            ([inf, -inf, nan], nan, 1),
            ([-0.0, nan, -0.0], 0.0, 1),
            ([f32::MAX, f32::MAX, nan], inf, 1),
        ] {
            let found = device.reduce(&elements, NanSum).unwrap();
            assert!(found == sum || found.is_nan() && sum.is_nan(), "{elements:?}: {found}");
            assert_eq!(device.reduce(&elements, CountNan).unwrap(), nans, "{elements:?}");
        }
        let all = device.reduce(&[nan; 5], NanMean).unwrap();
        assert!(all.is_nan());
        assert_eq!(device.reduce(&[nan; 5], NanSum).unwrap().to_bits(), 0);
        // More elements than fit into one block.
        let mut many = vec![f64::NAN; 300_001];
        many[299_999] = 2.5;
        assert_eq!(device.reduce(&many, NanMean).unwrap(), 2.5);
        assert_eq!(device.reduce(&many, CountNan).unwrap(), 300_000);
    }
}
