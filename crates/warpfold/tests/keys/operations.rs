//! Several operations: the result of a run is that of the segment between the same offsets.

use std::fmt::Debug;

use rand::Rng;
use warpfold::{ArgMin, Device, Item, Moments, SegmentOperation, Sum};

use super::{kinds_of_lengths, seed::random, support::devices};

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
