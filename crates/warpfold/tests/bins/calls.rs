//! What callers may pass, and what they get.

use warpfold::{
    ArgMin, BinKey, BinStatus, Device, Error, Max, Min, Stream, Sum,
    device::{DeviceClass, DeviceError, WORKSPACE_BYTES},
};

use super::support::devices;

#[test]
fn empty_bins_give_the_identity_or_are_refused() {
    for device in devices() {
        let (keys, values) = ([0u8, 2, 0], [3.0f32, 1.0, 2.0]);
        assert_eq!(device.reduce_into_bins(&keys, &values, 3, Sum).unwrap(), [5.0, 0.0, 1.0]);
        let error = device.reduce_into_bins(&keys, &values, 3, Max).unwrap_err();
        assert!(matches!(error, Error::EmptyBin { op: _, bin: 1 }), "{error}");
        let max = device.bin_reducer::<f32, _>(Max).unwrap();
        let results = max.reduce_into_bins_or(&keys, &values, 3, f32::NEG_INFINITY).unwrap();
        assert_eq!(results, [3.0, f32::NEG_INFINITY, 1.0]);
    }
}

#[test]
fn no_values_and_no_bins() {
    for device in devices() {
        let (keys, values): ([u16; 0], [f32; 0]) = ([], []);
        assert_eq!(device.reduce_into_bins(&keys, &values, 2, Sum).unwrap(), [0.0, 0.0]);
        assert_eq!(device.count_into_bins(&keys, 2).unwrap(), [0, 0]);
        assert!(device.reduce_into_bins(&keys, &values, 0, Sum).unwrap().is_empty());
        assert!(device.count_into_bins(&keys, 0).unwrap().is_empty());
        let error = device.reduce_into_bins(&[0u8], &[1.0f32], 0, Sum).unwrap_err();
        assert!(matches!(error, Error::Bin { position: 0, key: None, bins: 0 }), "{error}");
        let error = device.count_into_bins(&[0u8], 0).unwrap_err();
        assert_eq!(error.to_string(), "key 0 is no bin, and there are no bins");
    }
}

#[test]
fn what_is_refused() {
    let (device, other) = (Device::simulator(), Device::simulator());
    let error = device.reduce_into_bins(&[0u8, 1], &[1.0f32], 2, Sum).unwrap_err();
    assert!(matches!(error, Error::Lengths { first: 2, second: 1 }), "{error}");
    let error = device.reduce_into_bins(&[0u8], &[1.0f32], 65_537, Sum).unwrap_err();
    assert_eq!(error.to_string(), "65537 bins are too many: at most 65536 are possible");
    let error = device.count_into_bins(&[0u8], 65_537).unwrap_err();
    assert!(matches!(error, Error::TooManyBins { bins: 65_537, most: 65_536 }), "{error}");
    let (keys, values) = (device.upload(&[0u32]).unwrap(), device.upload(&[1.0f32]).unwrap());
    let error = other.reduce_into_bins(&keys, &[1.0f32], 2, Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
    let error = other.reduce_into_bins(&[0u32], &values, 2, Sum).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");
    let error = other.count_into_bins(&keys, 2).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OtherDevice(_))), "{error}");

    let stream = device.stream().unwrap();
    let mut status = device.upload(&[BinStatus::default(); 2]).unwrap();
    let mut output = device.alloc::<f32>(2).unwrap();
    let sums = device.bin_reducer::<f32, _>(Sum).unwrap();
    let error =
        sums.reduce_into_bins_into(&keys, &values, &mut output, &mut status, &stream).unwrap_err();
    assert!(matches!(error, Error::Outputs { results: 1, len: 2 }), "{error}");
    let mut counts = device.alloc::<u64>(2).unwrap();
    let error = device
        .bin_counter::<u32>()
        .unwrap()
        .count_into_bins_into(&keys, &mut counts, &mut status, &stream)
        .unwrap_err();
    assert!(matches!(error, Error::Outputs { results: 1, len: 2 }), "{error}");
}

#[test]
fn values_and_keys_of_any_place() {
    for device in devices() {
        let (keys, values) = ([1i64, 0, 1, 1, 0], [9u8, 7, 8, 1, 5]);
        let (keys_there, values_there) =
            (device.upload(&keys).unwrap(), device.upload(&values).unwrap());
        let sums = [12u64, 18];
        assert_eq!(device.reduce_into_bins(&keys, &values_there, 2, Sum).unwrap(), sums);
        assert_eq!(device.reduce_into_bins(&keys_there, &values, 2, Sum).unwrap(), sums);
        assert_eq!(device.reduce_into_bins(&keys_there, &values_there, 2, Sum).unwrap(), sums);
        let (keys, values) = (keys_there.view(1..), values_there.view(1..));
        let results = device.reduce_into_bins(keys, values, 2, ArgMin).unwrap();
        assert_eq!(results.iter().map(|best| best.index).collect::<Vec<_>>(), [3, 2]);
    }
}

#[test]
fn a_graph_captures_them() {
    for device in devices() {
        // With several chunks, so that the reduction is two launches.
        let n = 20_000;
        let keys: Vec<u32> = (0..n).map(|i| i % 3).collect();
        let mut values = device.upload(&vec![0i32; n as usize]).unwrap();
        let keys = device.upload(&keys).unwrap();
        let mut status = device.upload(&[BinStatus::default()]).unwrap();
        let mut output = device.alloc::<i32>(3).unwrap();
        let mut counts = device.alloc::<u64>(3).unwrap();
        let least = device.bin_reducer::<i32, _>(Min).unwrap();
        let counter = device.bin_counter::<u32>().unwrap();
        let (graph, pending) = device
            .capture(|stream| {
                counter.count_into_bins_into(&keys, &mut counts, &mut status, stream)?;
                least.reduce_into_bins_into(&keys, &values, &mut output, &mut status, stream)
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for add in [0, 10, 20] {
            let moved: Vec<i32> = (0..n as i32).map(|i| (i * 7919) % 1000 + add).collect();
            values.copy_from_host(&moved).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            pending.check(status.copy_to_host().unwrap()[0]).unwrap();
            let least = |bin: usize| moved.iter().skip(bin).step_by(3).min().copied().unwrap();
            let raw = output.copy_to_host().unwrap();
            let counts = counts.copy_to_host().unwrap();
            assert_eq!(counts, [6667, 6667, 6666]);
            for bin in 0..3 {
                let result = pending.finish(raw[bin], bin as u64, counts[bin]).unwrap();
                assert_eq!(result, least(bin));
            }
        }
        let error = pending.finish(0, 2, 0).unwrap_err();
        assert!(matches!(error, Error::EmptyBin { op: _, bin: 2 }), "{error}");
    }
}

/// Asserts that every word of the workspace of a stream is 0 after all its work.
fn assert_clean(device: &Device, stream: &Stream) {
    stream.synchronize().unwrap();
    // SAFETY: the workspace has so many bytes, and no work uses it now.
    let workspace =
        unsafe { warpfold::RawSlice::<u64>::new(stream.workspace(), WORKSPACE_BYTES as usize / 8) };
    assert_eq!(device.reduce(workspace, warpfold::BitOr).unwrap(), 0);
}

/// Every word of the workspace is 0 again after each call.
#[test]
fn the_workspace_is_left_clean() {
    let device = Device::simulator();
    let stream = device.stream().unwrap();
    let n = 50_000;
    let keys: Vec<u16> = (0..n).map(|i: u32| (i * 31 % 5000) as u16).collect();
    let keys = device.upload(&keys).unwrap();
    let values = device.upload(&vec![1.5f64; n as usize]).unwrap();
    let mut status = device.upload(&[BinStatus::default()]).unwrap();
    let (mut output, mut counts) = (device.alloc(5000).unwrap(), device.alloc(5000).unwrap());
    let sums = device.bin_reducer::<f64, _>(Sum).unwrap();
    sums.reduce_into_bins_into(&keys, &values, &mut output, &mut status, &stream).unwrap();
    let counter = device.bin_counter::<u16>().unwrap();
    counter.count_into_bins_into(&keys, &mut counts, &mut status, &stream).unwrap();
    assert_clean(&device, &stream);
    let whole: Vec<f64> =
        counts.copy_to_host().unwrap().iter().map(|&count: &u64| count as f64 * 1.5).collect();
    assert_eq!(output.copy_to_host().unwrap(), whole);
}

/// So many blocks count that they add to several shards: the last one adds them all up, and clears
/// them for the next call. Numbers of bins that are odd or small, and a key that is no bin, too.
#[test]
fn many_blocks_count() {
    fn check<K: BinKey + TryFrom<u32>>(device: &Device, n: u32, bins: usize)
    where
        K::Error: std::fmt::Debug,
    {
        let keys: Vec<u32> = (0..n).map(|i| i.wrapping_mul(i) / 7 % bins as u32).collect();
        let mut expected = vec![0u64; bins];
        for &key in &keys {
            expected[key as usize] += 1;
        }
        let typed: Vec<K> = keys.iter().map(|&key| key.try_into().unwrap()).collect();
        let typed = device.upload(&typed).unwrap();
        let stream = device.stream().unwrap();
        let mut status = device.upload(&[BinStatus::default()]).unwrap();
        let mut counts = device.alloc::<u64>(bins).unwrap();
        let counter = device.bin_counter::<K>().unwrap();
        for _ in 0..2 {
            counter.count_into_bins_into(&typed, &mut counts, &mut status, &stream).unwrap();
            assert_clean(device, &stream);
            assert_eq!(status.copy_to_host().unwrap()[0].first_wrong(), None);
            assert_eq!(counts.copy_to_host().unwrap(), expected, "{n} {}, {bins} bins", K::NAME);
        }
        // The last bin is none now.
        let fewer = counts.view_mut(..bins - 1);
        counter.count_into_bins_into(&typed, fewer, &mut status, &stream).unwrap();
        assert_clean(device, &stream);
        let wrong = keys.iter().position(|&key| key as usize == bins - 1).unwrap();
        assert_eq!(status.copy_to_host().unwrap()[0].first_wrong(), Some(wrong as u64));
        assert_eq!(counts.copy_to_host().unwrap(), expected, "{n} {}, {bins} bins", K::NAME);
    }
    let device = Device::simulator().with_class(DeviceClass::new(300, false, (7, 5))).unwrap();
    // Blocks of 4096 keys: two, eight and sixteen shards.
    for n in [40 << 12, 130 << 12, 290 << 12] {
        check::<u8>(&device, n, 256);
    }
    check::<u8>(&device, 40 << 12, 11);
    check::<u32>(&device, 300_001, 11);
    check::<u32>(&device, 300_001, 500);
    check::<u16>(&device, 1_000_001, 10);
}
