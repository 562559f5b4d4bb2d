//! The kernels under the simulator's checks: no data race, no read of memory that nobody wrote, no
//! barrier that a lane misses.

use warpfold::{
    ArgMax, Device, Key, Sum,
    testing::{Instrument, Seen},
};

use super::kinds_of_lengths;

/// Asserts that no check has found anything in the last launches, of which there were so many.
fn assert_nothing_found(device: &Device, launches: usize, name: &str) {
    let observations = device.take_observations();
    assert_eq!(observations.len(), launches, "{name}: launches");
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{name}:\n{}", reports.join("\n"));
    }
}

fn check<const N: usize>()
where
    [u8; N]: Key,
{
    let device = Device::simulator_with(Instrument::Check);
    for (name, lengths) in kinds_of_lengths().into_iter().step_by(3) {
        let keys: Vec<[u8; N]> = (0..)
            .zip(&lengths)
            .flat_map(|(i, &length)| std::iter::repeat_n([i as u8; N], length))
            .collect();
        // The buffers end with the last element, so that a read behind them is seen.
        let (values, name) = (vec![1.0f32; keys.len()], format!("{N} bytes, {name}"));
        device.reduce_by_key(&keys, &values, Sum).unwrap();
        assert_nothing_found(&device, if N <= 8 { 1 } else { 2 }, &name);
        device.reduce_by_key(&keys, &values, ArgMax).unwrap();
        assert_nothing_found(&device, 2, &name);
    }
}

#[test]
fn no_check_finds_anything_in_keys() {
    check::<1>();
    check::<2>();
    check::<4>();
    check::<8>();
    check::<16>();
}

#[test]
fn no_check_finds_anything_in_flags_and_lengths() {
    let device = Device::simulator_with(Instrument::Check);
    for (name, lengths) in kinds_of_lengths().into_iter().step_by(3) {
        let n = lengths.iter().sum();
        let flags: Vec<u8> = (0..n).map(|i| u8::from(i % 7 == 0)).collect();
        device.reduce_by_flag(&flags, &vec![1.0f32; n], Sum).unwrap();
        assert_nothing_found(&device, 2, &name);
        let narrow: Vec<u32> = lengths.iter().map(|&length| length as u32).collect();
        device.reduce_by_length(&narrow, &vec![1.0f32; n], Sum).unwrap();
        let wide: Vec<i64> = lengths.iter().map(|&length| length as i64).collect();
        device.reduce_by_length(&wide, &vec![1.0f32; n], Sum).unwrap();
        assert_nothing_found(&device, 4, &name);
    }
}
