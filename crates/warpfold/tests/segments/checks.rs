//! The kernels under the simulator's checks: no data race, no read of memory that nobody wrote, no
//! barrier that a lane misses, in several orders of warps and blocks.

use warpfold::{
    ArgMax, BottomK, CountWhere, Device, Is, Item, Moments, Offset, SegmentOperation, Sum, TopK,
    half::f16,
    testing::{Instrument, Seen},
};

use super::{LARGE, offsets};

fn check<T: Item, O: SegmentOperation<T>, B: Offset>(
    value: T,
    offsets: &[B],
    end: usize,
    operation: O,
) {
    let device = Device::simulator_with(Instrument::Check);
    // The buffers end with the last element and offset, so that a read behind them is seen.
    let values = device.upload(&vec![value; end]).unwrap();
    let offsets = device.upload(offsets).unwrap();
    let results = device.reduce_segments(&values, &offsets, operation);
    let name = format!("{} of {}, offsets of {}", O::NAME, T::NAME, B::NAME);
    assert!(results.is_ok(), "{name}");
    let observations = device.take_observations();
    assert!(!observations.is_empty());
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{name}:\n{}", reports.join("\n"));
    }
}

fn check_lengths<T: Item, O: SegmentOperation<T>>(value: T, operation: O) {
    let tiny: Vec<usize> = (0..900).map(|i| i % 4 + 1).collect();
    let mixed: Vec<usize> = (0..200).map(|i| (i * 37) % 150 + 1).collect();
    for lengths in [&tiny[..], &mixed, &[1, 5000, 2, 40_001, 3, 1]] {
        let offsets = offsets(1, lengths);
        let end = *offsets.last().unwrap();
        check(value, &offsets, end as usize, operation);
        let wide: Vec<i64> = offsets.into_iter().map(i64::from).collect();
        check(value, &wide, end as usize, operation);
    }
}

#[test]
fn no_check_finds_anything() {
    check_lengths::<f32, _>(1.0, Sum);
    check_lengths::<u8, _>(1, Sum);
    check_lengths::<f16, _>(f16::ONE, ArgMax);
    check_lengths::<f64, _>(1.0, Moments);
    check_lengths::<i16, _>(1, CountWhere(Is::Greater(-5)));
    check_lengths::<u8, _>(1, TopK::<8>);
    check_lengths::<f32, _>(1.0, TopK::<3>);
    check_lengths::<f64, _>(1.0, BottomK::<7>);
}

#[test]
fn no_check_finds_anything_where_warps_search() {
    let lengths: Vec<usize> = (0..9000).map(|i| 1 + i * 37 % 230 + i % 1000 / 999 * 9000).collect();
    let offsets = offsets(1, &lengths);
    let end = *offsets.last().unwrap() as usize;
    assert!(end > LARGE);
    check(1.0f32, &offsets, end, Sum);
    check(1u32, &offsets, end, ArgMax);
}
