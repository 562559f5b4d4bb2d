//! Wrong offsets: the first wrong segment is named, nothing outside the arrays is read, and what
//! comes afterwards is right.

use rand::Rng;
use warpfold::{Device, Error, Offset, Sum, testing::Instrument};

use super::{LARGE, offsets, seed::random, support::devices};

/// The first segment that begins behind its end, or ends behind the elements.
fn first_wrong(offsets: &[i128], elements: usize) -> Option<u64> {
    let is_wrong = |pair: &[i128]| pair[0] < 0 || pair[0] > pair[1] || pair[1] > elements as i128;
    offsets.windows(2).position(is_wrong).map(|i| i as u64)
}

fn check<B: Offset>(device: &Device, elements: usize, offsets: &[B], expected: Option<u64>) {
    let values = vec![1.0f32; elements];
    match device.reduce_segments(&values, offsets, Sum) {
        Ok(_) => assert_eq!(expected, None),
        Err(Error::Segment { segment, elements: n }) => {
            assert_eq!((Some(segment), n), (expected, elements as u64), "{offsets:?}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// A right reduction with several tasks to a segment.
fn check_that_all_is_well(device: &Device) {
    let sums = device.reduce_segments(&vec![1.0f32; 100_000], &[0u32, 99_000, 100_000], Sum);
    assert_eq!(sums.unwrap(), [99_000.0, 1000.0]);
}

#[test]
fn the_first_wrong_segment_is_named() {
    for device in devices() {
        check(&device, 10, &[0u32, 5, 3, 10], Some(1));
        check(&device, 10, &[0u32, 5, 11], Some(1));
        check(&device, 10, &[11u32, 11], Some(0));
        check(&device, 10, &[0i32, -1, 10], Some(0));
        check(&device, 10, &[-5i64, 3, 10], Some(0));
        check(&device, 10, &[0u64, 10, u64::MAX, 3], Some(1));
        check(&device, 0, &[0u32, 0, 0], None);
        check(&device, 0, &[0u32, 1], Some(0));
        check(&device, 10, &[2i64, 2, 9], None);
        check_that_all_is_well(&device);
    }
}

#[test]
fn wrong_offsets_anywhere() {
    let mut random = random();
    for device in devices() {
        for round in 0..60 {
            let lengths: Vec<usize> =
                (0..300)
                    .map(|_| {
                        if random.random_range(0..20) == 0 {
                            9000
                        } else {
                            random.random_range(0..9)
                        }
                    })
                    .collect();
            let mut wrong: Vec<i128> = offsets(0, &lengths).into_iter().map(i128::from).collect();
            let elements = wrong[300] as usize;
            for _ in 0..random.random_range(0..4) {
                let other = random.random_range(-10..2 * elements as i128);
                wrong[random.random_range(0..=300)] = other;
            }
            if round % 3 == 0 {
                wrong.reverse();
            }
            let expected = first_wrong(&wrong, elements);
            let narrow: Vec<i32> = wrong.iter().map(|&offset| offset as i32).collect();
            check(&device, elements, &narrow, expected);
            let wide: Vec<i64> = wrong.iter().map(|&offset| offset as i64).collect();
            check(&device, elements, &wide, expected);
            check(&device, LARGE, &narrow, first_wrong(&wrong, LARGE));
            check_that_all_is_well(&device);
        }
    }
}

/// Only the upper halves of these offsets are wrong.
#[test]
fn offsets_whose_lower_halves_are_right() {
    let mut random = random();
    for device in devices() {
        for round in 0..60 {
            // Segments of a few elements, of some tiles, or both.
            let long = [4, 30, 3000][round % 3];
            let lengths: Vec<usize> = (0..400)
                .map(|i| if i % 50 == 0 { long } else { random.random_range(0..9) })
                .collect();
            let mut wide: Vec<i128> = offsets(0, &lengths).into_iter().map(i128::from).collect();
            let elements = wide[400] as usize;
            for _ in 0..random.random_range(0..4) {
                let other = random.random_range(1i128..1 << 31) << 32;
                wide[random.random_range(0..=400)] += other * random.random_range(-1..=1);
            }
            let narrow: Vec<i64> = wide.iter().map(|&offset| offset as i64).collect();
            check(&device, elements, &narrow, first_wrong(&wide, elements));
            check(&device, LARGE, &narrow, first_wrong(&wide, LARGE));
            check_that_all_is_well(&device);
        }
    }
}

/// The simulator ends a launch that reads outside of an allocation.
#[test]
fn no_check_finds_a_wrong_access() {
    let device = Device::simulator_with(Instrument::Check);
    for elements in [50_000, LARGE] {
        check(&device, elements, &[0u32, 40_000, 30_000, 1 << 31, 50_000], Some(1));
        check(&device, elements, &[50_000u64, 0, 50_000, u64::MAX], Some(0));
    }
    // These rise twice from the same number, again and again. (`tests/mutants/segments.rs` tries
    // them with a tile that has more of such segments than a right one can have.)
    let rising = |begin: u32| (0..128).map(move |i| begin + 8 * i);
    let twice: Vec<u32> =
        (0..40).flat_map(|i| rising(1024 * i).chain(rising(1024 * i))).chain([40_960]).collect();
    check(&device, 40_960, &twice, Some(127));
}
