//! The kernels under the simulator's checks: no data race, no read of memory that nobody wrote, no
//! barrier that a lane misses, in several orders of warps and blocks.

use warpfold::{
    ArgMax, BinOperation, Device, Item, Moments, Sum,
    half::f16,
    testing::{Instrument, Seen},
};

use super::kinds_of_keys;

fn assert_nothing_found(device: &Device, name: &str) {
    let observations = device.take_observations();
    assert!(!observations.is_empty());
    for observation in observations {
        let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
        let reports: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{name}:\n{}", reports.join("\n"));
    }
}

fn check<T: Item, O: BinOperation<T> + Default>(value: T, bins: usize) {
    let device = Device::simulator_with(Instrument::Check);
    for n in [1, 100, 9001] {
        for (name, keys) in &kinds_of_keys(n, bins)[..3] {
            // The buffers end with the last element, so that a read behind them is seen.
            let reducer = device.bin_reducer::<T, O>(O::default()).unwrap();
            // Some bins are empty, and some operations have no result for that.
            let _ = reducer.reduce_into_bins(keys, &vec![value; n], bins);
            assert_nothing_found(&device, &format!("{} of {}: {name}", O::NAME, T::NAME));
        }
    }
}

#[test]
fn no_check_finds_anything_in_reductions() {
    check::<f32, Sum>(1.0, 10);
    check::<f32, Sum>(1.0, 5000);
    check::<u8, Sum>(1, 300);
    check::<f16, ArgMax>(f16::ONE, 40);
    check::<f64, Moments>(1.0, 700);
}

#[test]
fn no_check_finds_anything_in_counts() {
    let device = Device::simulator_with(Instrument::Check);
    for bins in [10, 300, 13_000] {
        for n in [1, 100, 20_001] {
            for (name, keys) in &kinds_of_keys(n, bins)[..3] {
                device.count_into_bins(keys, bins).unwrap();
                assert_nothing_found(&device, name);
                if bins <= 256 {
                    let bytes: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
                    device.count_into_bins(&bytes, bins).unwrap();
                    assert_nothing_found(&device, name);
                    // Keys that are no bins are looked for, within the keys.
                    assert!(device.count_into_bins(&bytes, 1).is_err() || n == 1);
                    assert_nothing_found(&device, name);
                }
            }
        }
    }
}
