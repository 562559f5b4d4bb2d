//! Counts, compared with a plain loop.

use warpfold::{BinKey, Device, Error, device::DeviceClass};

use super::{BINS, EDGES, kinds_of_keys, support::devices, uniform};

fn counts(keys: &[u32], bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for &key in keys {
        counts[key as usize] += 1;
    }
    counts
}

#[test]
fn counts_of_all_sizes() {
    for device in devices() {
        for bins in BINS {
            for n in EDGES {
                for (name, keys) in kinds_of_keys(n, bins).iter().skip(n % 3).step_by(3) {
                    let found = device.count_into_bins(keys, bins).unwrap();
                    assert_eq!(found, counts(keys, bins), "{name}");
                }
            }
        }
        for bins in [12_288, 12_289, 1 << 16] {
            let keys = uniform(20_000, bins);
            assert_eq!(device.count_into_bins(&keys, bins).unwrap(), counts(&keys, bins));
        }
    }
}

fn check_type<K: BinKey + TryFrom<u32>>(device: &Device, keys: &[u32], bins: usize)
where
    K::Error: std::fmt::Debug,
{
    let typed: Vec<K> = keys.iter().map(|&key| key.try_into().unwrap()).collect();
    let buffer = device.upload(&typed).unwrap();
    // Inputs that begin and end anywhere in a pack.
    for first in 0..17 {
        for end in [first, first + 1, first + 15, keys.len() - first] {
            let found = device.count_into_bins(buffer.view(first..end), bins).unwrap();
            assert_eq!(found, counts(&keys[first..end], bins), "{}, {first}..{end}", K::NAME);
        }
    }
}

#[test]
fn keys_of_all_types_at_any_address() {
    let keys = uniform(40_000, 200);
    for device in devices() {
        check_type::<u8>(&device, &keys, 200);
        check_type::<u16>(&device, &keys, 200);
        check_type::<u32>(&device, &keys, 200);
        check_type::<i32>(&device, &keys, 200);
        check_type::<u64>(&device, &keys, 200);
        check_type::<i64>(&device, &keys, 200);
    }
}

#[test]
fn no_class_of_device_changes_a_count() {
    let keys = uniform(60_000, 300);
    for device in devices() {
        for multiprocessors in [1, 3, 132] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                let found = device.count_into_bins(&keys, 300).unwrap();
                assert_eq!(found, counts(&keys, 300), "{multiprocessors} of {generation:?}");
            }
        }
    }
}

/// Keys of one byte have a kernel of their own, which counts all of them and then looks which are
/// bins: fewer and more bins than such keys, many equal keys, one block and many.
#[test]
fn keys_of_one_byte() {
    for device in devices() {
        for multiprocessors in [1, 132] {
            let Ok(device) = device.with_class(DeviceClass::new(multiprocessors, false, (7, 5)))
            else {
                continue;
            };
            for (n, most) in
                [(31, 256), (31, 7), (16_400, 256), (16_500, 3), (300_000, 256), (300_000, 1)]
            {
                let keys = uniform(n, most);
                let mut bytes: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
                for bins in [256, 257, 1000] {
                    let found = device.count_into_bins(&bytes, bins).unwrap();
                    assert_eq!(found, counts(&keys, bins), "{n} below {most}, {bins} bins");
                }
                if most == 256 {
                    continue;
                }
                // The first wrong key is named, wherever it stands.
                for (first, second) in [(0, n - 1), (n / 2, n / 2 + 1), (n - 1, n - 1)] {
                    let before = (bytes[first], bytes[second]);
                    (bytes[first], bytes[second]) = (255, 254);
                    let error = device.count_into_bins(&bytes, 254).unwrap_err();
                    let Error::Bin { position, .. } = error else { panic!("{error}") };
                    assert_eq!(position, first as u64, "{n} below {most}");
                    (bytes[first], bytes[second]) = before;
                }
            }
        }
    }
}
