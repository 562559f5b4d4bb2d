//! Several operations: the result of a run is that of the segment between the same offsets.

use std::fmt::Debug;

use half::{bf16, f16};
use rand::Rng;
use warpfold::{
    ArgMin, BottomK, Device, Item, Max, Maximum, Min, Minimum, Moments, SegmentOperation, Sum, TopK,
};

use super::{
    best::{expected, found},
    kinds_of_lengths,
    seed::random,
    support::devices,
};

fn check<T: Item, O: SegmentOperation<T, Output: Debug> + Default>(
    device: &Device,
    lengths: &[usize],
    mut value: impl FnMut() -> T,
    name: &str,
) {
    let keys: Vec<u64> =
        (0..).zip(lengths).flat_map(|(i, &n)| std::iter::repeat_n(i % 3, n)).collect();
    let values: Vec<T> = keys.iter().map(|_| value()).collect();
    let mut offsets = vec![0u64];
    offsets.extend(lengths.iter().scan(0, |end, &length| {
        *end += length as u64;
        Some(*end)
    }));
    let found = device.reduce_by_key(&keys, &values, O::default()).unwrap();
    let expected = device.reduce_segments(&values, &offsets, O::default()).unwrap();
    assert_eq!(format!("{:?}", found.results), format!("{expected:?}"), "{} of {name}", O::NAME);
}

#[test]
fn a_run_is_as_a_segment() {
    let mut random = random();
    for device in devices() {
        for (name, lengths) in kinds_of_lengths() {
            check::<i32, Sum>(&device, &lengths, || random.random(), &name);
            check::<f32, ArgMin>(&device, &lengths, || random.random_range(0..9) as f32, &name);
            check::<f64, Moments>(&device, &lengths, || random.random(), &name);
        }
    }
}

/// All operations and types that have kernels of their own for runs of keys.
#[test]
fn sums_and_extremes_of_runs_are_those_of_segments() {
    fn check_all<T: Item>(
        device: &Device,
        lengths: &[usize],
        name: &str,
        mut value: impl FnMut() -> T,
    ) where
        Sum: SegmentOperation<T, Output: Debug>,
        Min: SegmentOperation<T, Output: Debug>,
        Max: SegmentOperation<T, Output: Debug>,
        Minimum: SegmentOperation<T, Output: Debug>,
        Maximum: SegmentOperation<T, Output: Debug>,
    {
        check::<T, Sum>(device, lengths, &mut value, name);
        check::<T, Min>(device, lengths, &mut value, name);
        check::<T, Max>(device, lengths, &mut value, name);
        check::<T, Minimum>(device, lengths, &mut value, name);
        check::<T, Maximum>(device, lengths, &mut value, name);
    }
    let mut random = random();
    for device in devices() {
        for (name, lengths) in kinds_of_lengths().into_iter().step_by(3) {
            check_all::<i32>(&device, &lengths, &name, || random.random());
            check_all::<u32>(&device, &lengths, &name, || random.random());
            check_all::<i64>(&device, &lengths, &name, || random.random());
            check_all::<u64>(&device, &lengths, &name, || random.random());
            // One value of a thousand is a NaN. All sums are exact, because those of runs of keys
            // have another order than those of segments.
            let mut float = || match random.random_range(0..1000) {
                0 => f32::NAN,
                _ => random.random_range(-36..36) as f32 / 4.0,
            };
            check_all::<f16>(&device, &lengths, &name, || f16::from_f32(float()));
            check_all::<bf16>(&device, &lengths, &name, || bf16::from_f32(float()));
            check_all::<f32>(&device, &lengths, &name, &mut float);
            check_all::<f64>(&device, &lengths, &name, || float().into());
        }
    }
}

/// The best few elements of runs, and of segments that flags and lengths make. Their indices count
/// from the first element of the segment.
#[test]
fn the_best_few_of_a_run() {
    let mut random = random();
    for device in devices() {
        for (name, lengths) in kinds_of_lengths().into_iter().step_by(2) {
            let keys: Vec<u32> =
                (0..).zip(&lengths).flat_map(|(i, &n)| std::iter::repeat_n(i, n)).collect();
            let flags: Vec<u8> =
                (0..keys.len()).map(|i| u8::from(i > 0 && keys[i] != keys[i - 1])).collect();
            let values: Vec<i32> = keys.iter().map(|_| random.random_range(-90..90)).collect();
            let by_key = device.reduce_by_key(&keys, &values, TopK::<5>).unwrap().results;
            let by_flag = device.reduce_by_flag(&flags, &values, TopK::<5>).unwrap().results;
            let wide: Vec<u64> = lengths.iter().map(|&length| length as u64).collect();
            let by_length = device.reduce_by_length(&wide, &values, BottomK::<3>).unwrap();
            assert_eq!([by_key.len(), by_flag.len(), by_length.len()], [lengths.len(); 3]);
            let mut rest = &values[..];
            for (i, &length) in lengths.iter().enumerate() {
                let (run, behind) = rest.split_at(length);
                rest = behind;
                let greatest = expected(run, 5, true);
                assert_eq!(found(&by_key[i]), greatest, "{name}: run {i}");
                assert_eq!(found(&by_flag[i]), greatest, "{name}: run {i}");
                assert_eq!(found(&by_length[i]), expected(run, 3, false), "{name}: run {i}");
            }
        }
    }
}
