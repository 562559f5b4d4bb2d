//! Inputs on the host, single inputs and pairs, which are copied whole or in parts.

use rand::Rng;
use warpfold::{
    ArgMax, ArgMin, Device, Dot, Error, MaxAbs, Min, Moments, SquaredDistance, Sum, testing::Faults,
};

use crate::{cases::rng, support::devices};

#[test]
fn parts_together_are_the_whole() {
    let mut rng = rng();
    for device in devices() {
        for n in [1usize, 100, 1000, 4095, 4096, 4097, 50_001] {
            let values: Vec<i64> =
                (0..n).map(|_| rng.random_range(-1_000_000..1_000_000)).collect();
            let least = values.iter().enumerate().min_by_key(|&(i, x)| (x, i)).unwrap();
            for limit in [0, 1, 4096, 100_000] {
                let at = format!("{n} elements in {limit} bytes");
                let sum = device.reducer::<i64, _>(Sum).unwrap().with_memory_limit(limit);
                // With the smallest parts there would be one launch for every two elements, which
                // takes too long.
                if limit < 4096 && n > 1000 {
                    continue;
                }
                assert_eq!(sum.reduce(&values).unwrap(), values.iter().sum::<i64>(), "{at}");
                let min = device
                    .reducer::<i64, _>(ArgMin)
                    .unwrap()
                    .with_memory_limit(limit)
                    .reduce(&values)
                    .unwrap();
                assert_eq!((min.index, min.value), (least.0 as u64, *least.1), "{at}");
            }
        }
    }
}

#[test]
fn ties_and_nans_in_other_parts() {
    for device in devices() {
        let max = device.reducer::<f32, _>(ArgMax).unwrap().with_memory_limit(8000);
        let mut values = vec![f32::NAN; 5000];
        assert_eq!(max.reduce(&values).unwrap().index, 0);
        (values[4000], values[4500]) = (-1.0, -1.0);
        assert_eq!(max.reduce(&values).unwrap().index, 4000);
        let norm = device.reducer::<f32, _>(MaxAbs).unwrap().with_memory_limit(8000);
        assert!(norm.reduce(&values).unwrap().is_nan());
        let min = device.reducer::<f32, _>(Min).unwrap().with_memory_limit(8000);
        assert_eq!(min.reduce(&values).unwrap(), -1.0);
    }
}

#[test]
fn moments_of_parts() {
    for device in devices() {
        let values: Vec<f64> = (0..100_000).map(|i| f64::from(i % 1000)).collect();
        let whole = device.reduce(&values, Moments).unwrap();
        let moments = device.reducer::<f64, _>(Moments).unwrap().with_memory_limit(10_000);
        let parts = moments.reduce(&values).unwrap();
        assert_eq!(parts.count, 100_000);
        for statistics in [whole, parts] {
            assert!((statistics.mean() - 499.5).abs() < 1e-9, "{statistics:?}");
            assert!((statistics.variance() - (1e6 - 1.0) / 12.0).abs() < 1e-6, "{statistics:?}");
        }
    }
}

#[test]
fn pairs_of_which_one_is_on_the_device() {
    let mut rng = rng();
    for device in devices() {
        let (a, b): (Vec<i32>, Vec<i32>) =
            (0..30_001).map(|_| (rng.random_range(-9..9), rng.random::<i32>())).unzip();
        let dot: i64 = a.iter().zip(&b).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
        let (there, pinned) = (device.upload(&b).unwrap(), {
            let mut pinned = device.alloc_pinned(b.len()).unwrap();
            pinned.copy_from_slice(&b);
            pinned
        });
        for limit in [10_000, 1 << 20] {
            let reducer = device.reducer::<i32, _>(Dot).unwrap().with_memory_limit(limit);
            assert_eq!(reducer.reduce((&a, &b)).unwrap(), dot);
            assert_eq!(reducer.reduce((&a, &there)).unwrap(), dot);
            assert_eq!(reducer.reduce((&there, &a)).unwrap(), dot);
            assert_eq!(reducer.reduce((&a, &pinned)).unwrap(), dot);
            // The operand on the device begins at another offset modulo 16 bytes than the copied
            // part of the other operand.
            let shifted: i64 =
                a[1..].iter().zip(&b[3..]).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
            assert_eq!(reducer.reduce((&a[1..b.len() - 2], there.view(3..))).unwrap(), shifted);
            let distance =
                device.reducer::<i32, _>(SquaredDistance).unwrap().with_memory_limit(limit);
            assert_eq!(distance.reduce((&pinned, &there)).unwrap(), 0);
        }
    }
}

#[test]
fn large_slices_go_through_both_lanes() {
    for device in devices() {
        let n = 5_000_003;
        let values: Vec<f32> = (0..n).map(|i| ((i * 37) % 1001) as f32 - 500.0).collect();
        let buffer = device.upload(&values).unwrap();
        let sum = device.reducer::<f32, _>(Sum).unwrap();
        let mut seen = Vec::new();
        let total = sum.reduce_with_progress(&values, |done, of| seen.push((done, of))).unwrap();
        assert_eq!(
            total.to_bits(),
            sum.reduce(&buffer).unwrap().to_bits(),
            "one launch, as for a buffer"
        );
        assert!(seen.len() > 2 && seen.is_sorted() && seen.last() == Some(&(n, n)), "{seen:?}");
        let mut pinned = device.alloc_pinned(n as usize).unwrap();
        pinned.copy_from_slice(&values);
        assert_eq!(sum.reduce(&pinned).unwrap().to_bits(), total.to_bits());
    }
}

/// The allocations of a call on the host fail one after another. Each time, the earlier allocations
/// are freed, and the next call works.
#[test]
fn memory_is_given_back_after_a_failure() {
    let values = vec![3u32; 4000];
    let mut failures = 0;
    for k in 0.. {
        let device = Device::simulator().with_faults(Faults::none().alloc(k)).unwrap();
        let run = || device.reducer::<u32, _>(Sum)?.with_memory_limit(4000).reduce(&values);
        match run() {
            Ok(sum) => {
                assert_eq!(sum, 12_000);
                break;
            }
            Err(Error::Device(_)) => failures += 1,
            Err(error) => panic!("{error}"),
        }
        assert_eq!(run().unwrap(), 12_000, "after allocation {k} failed");
        let live = device.live_allocations();
        assert_eq!(run().unwrap(), 12_000);
        assert_eq!(device.live_allocations(), live, "after allocation {k} failed");
    }
    assert!(failures > 5, "{failures}");
}
