//! Keys that are no bins: the first one is named, nothing outside of the results is written, and
//! what comes afterwards is right.

use warpfold::{BinKey, BinStatus, Device, Error, Max, Sum};

use super::support::devices;

/// Asserts that the key at `position` is reported by all calls.
fn check<K: BinKey>(device: &Device, keys: &[K], position: u64, key: i128) {
    let values = vec![1.0f32; keys.len()];
    let errors = [
        device.count_into_bins(keys, 100).unwrap_err(),
        device.reduce_into_bins(keys, &values, 100, Sum).unwrap_err(),
        device.reduce_into_bins(keys, &values, 100, Max).unwrap_err(),
        device.count_into_bins(&device.upload(keys).unwrap(), 100).unwrap_err(),
    ];
    for error in errors {
        match error {
            Error::Bin { position: found, key: Some(found_key), bins: 100 } => {
                assert_eq!((found, found_key), (position, key), "{}", K::NAME);
            }
            error => panic!("{error}"),
        }
    }
}

#[test]
fn the_first_wrong_key_is_named() {
    for device in devices() {
        for n in [1, 40, 1000, 9000, 70_000] {
            for position in [0, n / 3, n - 1] {
                let at = position as u64;
                let mut keys = vec![99u64; n];
                (keys[n - 1], keys[position]) = (100, u64::MAX);
                check(&device, &keys, at, u64::MAX.into());
                let signed: Vec<i64> = keys.iter().map(|&key| key as i64).collect();
                check(&device, &signed, at, -1);
                let narrow: Vec<i32> = keys.iter().map(|&key| key as i32).collect();
                check(&device, &narrow, at, -1);
                let narrow: Vec<u16> = keys.iter().map(|&key| key as u16).collect();
                check(&device, &narrow, at, 65535);
                let narrow: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
                check(&device, &narrow, at, 255);
                keys[position] = (1 << 32) + 5;
                check(&device, &keys, at, (1 << 32) + 5);
            }
        }
    }
}

/// The workspace is as it was, and the bins that come next in memory keep their values.
#[test]
fn nothing_else_changes() {
    for device in devices() {
        let mut keys = vec![3u32; 20_000];
        keys[777] = 5;
        let keys = device.upload(&keys).unwrap();
        let values = device.upload(&vec![1.0f32; 20_000]).unwrap();
        let mut output = device.upload(&[-7.0f32; 12]).unwrap();
        let mut counts = device.upload(&[7u64; 12]).unwrap();
        let mut status = device.upload(&[BinStatus::default()]).unwrap();
        let stream = device.stream().unwrap();
        let sums = device.bin_reducer::<f32, _>(Sum).unwrap();
        let counter = device.bin_counter::<u32>().unwrap();
        let pending = sums
            .reduce_into_bins_into(&keys, &values, output.view_mut(4..8), &mut status, &stream)
            .unwrap();
        counter.count_into_bins_into(&keys, counts.view_mut(4..8), &mut status, &stream).unwrap();
        stream.synchronize().unwrap();
        let status = status.copy_to_host().unwrap()[0];
        assert_eq!(status.first_wrong(), Some(777));
        let error = pending.check(status).unwrap_err();
        assert_eq!(error.to_string(), "key 777 is no bin, and bins go from 0 to 3");
        let output = output.copy_to_host().unwrap();
        assert!(
            output[..4]
                .iter()
                .chain(&output[8..])
                .all(|value| value.to_bits() == (-7.0f32).to_bits())
        );
        let counts = counts.copy_to_host().unwrap();
        assert!(counts[..4].iter().chain(&counts[8..]).all(|&count| count == 7));
        // The next calls on the same stream are right.
        let mut status = device.upload(&[BinStatus::default()]).unwrap();
        let mut output = device.alloc::<f32>(6).unwrap();
        let mut counts = device.alloc::<u64>(6).unwrap();
        sums.reduce_into_bins_into(&keys, &values, &mut output, &mut status, &stream).unwrap();
        counter.count_into_bins_into(&keys, &mut counts, &mut status, &stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(status.copy_to_host().unwrap(), [BinStatus::default()]);
        assert_eq!(output.copy_to_host().unwrap(), [0.0, 0.0, 0.0, 19_999.0, 0.0, 1.0]);
        assert_eq!(counts.copy_to_host().unwrap(), [0, 0, 0, 19_999, 0, 1]);
    }
}
