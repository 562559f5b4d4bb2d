//! Segments of all lengths: the sum of each is that of the documented tree.

use rand::Rng;
use warpfold::{Device, Sum, device::DeviceClass};

use super::{LARGE, offsets, seed::random, segments, support::devices, tree, values};

/// Checks the sums of segments of these lengths, behind `first` other elements and before some, and
/// the same in a large array.
fn check(device: &Device, first: usize, lengths: &[usize], name: &str) {
    let offsets = offsets(first, lengths);
    let mut values = values(*offsets.last().unwrap() as usize + first);
    check_values(device, &values, &offsets, name);
    if values.len() < LARGE {
        values.resize(LARGE, 1.0);
        check_values(device, &values, &offsets, &format!("{name}, in a large array"));
    }
}

fn check_values(device: &Device, values: &[f32], offsets: &[u32], name: &str) {
    let results = device.reduce_segments(values, offsets, Sum).unwrap();
    assert_eq!(results.len(), offsets.len() - 1);
    let wide: Vec<i64> = offsets.iter().copied().map(i64::from).collect();
    let of_wide = device.reduce_segments(values, &wide, Sum).unwrap();
    let bits = |sums: &[f32]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
    assert!(bits(&of_wide) == bits(&results), "{name}: offsets of 64 bits");
    for (i, (segment, result)) in segments(values, offsets).zip(results).enumerate() {
        let expected = tree::sum(segment);
        let length = segment.len();
        assert_eq!(result.to_bits(), expected.to_bits(), "{name}: segment {i} of {length}");
    }
}

#[test]
fn segments_of_one_length() {
    for device in devices() {
        for length in [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 65, 127, 128, 257, 1000] {
            for count in [1, 31, 32, 33, 500] {
                check(&device, count % 5, &vec![length; count], &format!("{count} of {length}"));
            }
        }
        for length in [1023, 1024, 1025, 2048, 4097, 40_000, 300_001] {
            check(&device, 3, &[length; 3], &format!("3 of {length}"));
        }
    }
}

#[test]
fn segments_of_many_lengths() {
    let mut random = random();
    for device in devices() {
        for mean in [1, 2, 4, 16, 64, 1000] {
            let lengths: Vec<_> =
                (0..60_000 / mean).map(|_| random.random_range(0..=2 * mean)).collect();
            check(&device, 1, &lengths, &format!("up to {}", 2 * mean));
        }
        // A power law, half of the segments empty, and a giant among tiny ones.
        let power: Vec<_> = (0..5000)
            .map(|_| (1.0 / random.random_range(1e-4f64..1.0)).powf(1.1) as usize)
            .collect();
        check(&device, 2, &power, "a power law");
        let halves: Vec<_> = power.iter().map(|n| n * random.random_range(0..2)).collect();
        check(&device, 2, &halves, "half of a power law");
        let mut giant = vec![1; 9000];
        giant[4000] = 200_000;
        check(&device, 0, &giant, "a giant");
        let mut gap = vec![0; 9000];
        (gap[0], gap[4000], gap[8999]) = (5, 100_000, 5);
        check(&device, 0, &gap, "mostly empty");
    }
}

/// The number of multiprocessors decides how long the ranges are, and the generation which PTX
/// runs.
#[test]
fn no_class_of_device_changes_a_bit() {
    let mut random = random();
    let lengths: Vec<_> = (0..400).map(|i| random.random_range(0..=i * i / 40)).collect();
    for device in devices() {
        for multiprocessors in [1, 3, 16, 132, 1000] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                check(&device, 7, &lengths, &format!("{multiprocessors} of {generation:?}"));
            }
        }
    }
}
