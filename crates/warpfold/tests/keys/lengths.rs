//! Segments of given lengths, right and wrong ones.

use rand::Rng;
use warpfold::{ArgMin, Device, Error, Offset, SegmentStatus, Sum};

use super::{assert_clean, bits, kinds_of_lengths, seed::random, sums, support::devices, values};

#[test]
fn segments_of_lengths() {
    for device in devices() {
        for (name, lengths) in kinds_of_lengths() {
            // A third of the segments is empty, and some values are left over.
            let lengths: Vec<u64> = lengths
                .iter()
                .enumerate()
                .map(|(i, &n)| if i % 3 == 1 { 0 } else { n as u64 })
                .collect();
            let values = values(lengths.iter().sum::<u64>() as usize + 5);
            let expected = sums(&values, &lengths);
            let narrow: Vec<i32> = lengths.iter().map(|&n| n as i32).collect();
            let found = device.reduce_by_length(&narrow, &values, Sum).unwrap();
            assert_eq!(bits(&found), expected, "{name}");
            let found = device.reduce_by_length(&lengths, &values, Sum).unwrap();
            assert_eq!(bits(&found), expected, "{name}");
        }
    }
}

#[test]
fn no_lengths_and_empty_segments() {
    for device in devices() {
        let none: [u32; 0] = [];
        assert!(device.reduce_by_length(&none, &[1.0f32], Sum).unwrap().is_empty());
        let nothing: [f32; 0] = [];
        assert_eq!(device.reduce_by_length(&[0u64, 0], &nothing, Sum).unwrap(), [0.0, 0.0]);
        let error = device.reduce_by_length(&[1i64, 0], &[1.0f32], ArgMin).unwrap_err();
        assert!(matches!(error, Error::EmptySegment { segment: 1, .. }), "{error}");
    }
}

fn check<L: Offset>(device: &Device, elements: usize, lengths: &[L], expected: Option<u64>) {
    let values = vec![1.0f32; elements];
    match device.reduce_by_length(lengths, &values, Sum) {
        Ok(_) => assert_eq!(expected, None),
        Err(Error::SegmentLength { segment, elements: n }) => {
            assert_eq!((Some(segment), n), (expected, elements as u64));
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_first_wrong_length_is_named() {
    for device in devices() {
        check(&device, 10, &[4u32, 6], None);
        check(&device, 10, &[4u32, 7], Some(1));
        check(&device, 10, &[4i32, -1, 2], Some(1));
        check(&device, 10, &[4i64, i64::MIN, 2], Some(1));
        check(&device, 10, &[11u64], Some(0));
        check(&device, 10, &[3, u64::MAX, 1], Some(1));
        check(&device, 10, &[u32::MAX; 3], Some(0));
        check(&device, 0, &[0i64, 1], Some(1));
    }
}

#[test]
fn wrong_lengths_anywhere() {
    let mut random = random();
    for device in devices() {
        for _ in 0..20 {
            let count = random.random_range(1..6000);
            let mut lengths: Vec<i64> = (0..count).map(|_| random.random_range(0..9)).collect();
            let elements = lengths.iter().sum::<i64>();
            let at = random.random_range(0..count);
            lengths[at] = [-1, i64::MIN, elements + 1, i64::MAX][random.random_range(0..4)];
            check(&device, elements as usize, &lengths, Some(at as u64));
            // The workspace is clean for what comes next.
            check(&device, 100_000, &[99_000u32, 1000], None);
        }
    }
}

/// Narrow offsets hold where segments begin, also where lengths are wrong.
#[test]
fn offsets_that_are_narrow() {
    for device in devices() {
        let lengths = device.upload(&[3u64, 2, u64::MAX, 1]).unwrap();
        let values = device.upload(&[1.0f32; 9]).unwrap();
        let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
        let (mut output, mut offsets) = (device.alloc(4).unwrap(), device.alloc::<i32>(5).unwrap());
        let (sums, stream) =
            (device.length_reducer::<u64, f32, _>(Sum).unwrap(), device.stream().unwrap());
        let pending = sums
            .reduce_by_length_into(
                &lengths,
                &values,
                &mut output,
                &mut offsets,
                &mut status,
                &stream,
            )
            .unwrap();
        stream.synchronize().unwrap();
        assert_eq!(offsets.copy_to_host().unwrap(), [0, 3, 5, 10, 10]);
        let error = pending.check(status.copy_to_host().unwrap()[0], &stream).unwrap_err();
        assert!(matches!(error, Error::SegmentLength { segment: 2, elements: 9 }), "{error}");
        // The next launch on the stream finds a clean workspace, and leaves it clean.
        let lengths = device.upload(&[4u64, 0, 4, 0]).unwrap();
        let mut status = device.upload(&[SegmentStatus::default()]).unwrap();
        let pending = sums
            .reduce_by_length_into(
                &lengths,
                &values,
                &mut output,
                &mut offsets,
                &mut status,
                &stream,
            )
            .unwrap();
        stream.synchronize().unwrap();
        pending.check(status.copy_to_host().unwrap()[0], &stream).unwrap();
        assert_eq!(output.copy_to_host().unwrap(), [4.0, 0.0, 4.0, 0.0]);
        assert_clean(&device, &stream);
    }
}
