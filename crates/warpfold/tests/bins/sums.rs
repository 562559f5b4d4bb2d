//! Sums of all sizes, compared with a plain loop.

use proptest::prelude::*;
use warpfold::{BinKey, Device, Sum};

use super::{BINS, EDGES, kinds_of_keys, support::devices};

/// The sums of the values of each key.
fn sums(keys: &[u32], values: &[i32], bins: usize) -> Vec<i64> {
    let mut sums = vec![0; bins];
    for (&key, &value) in keys.iter().zip(values) {
        sums[key as usize] += i64::from(value);
    }
    sums
}

fn check(device: &Device, keys: &[u32], bins: usize, name: &str) {
    let values: Vec<i32> = (0..keys.len()).map(|i| (i * i * 7919) as i32).collect();
    let found = device.reduce_into_bins(keys, &values, bins, Sum).unwrap();
    assert_eq!(found, sums(keys, &values, bins), "{name}");
}

#[test]
fn sums_of_all_sizes() {
    for device in devices() {
        for bins in BINS {
            for n in EDGES {
                let kinds = kinds_of_keys(n, bins);
                // Each kind is tried with some of the sizes.
                for (name, keys) in kinds.iter().skip(n % 3).step_by(3) {
                    check(&device, keys, bins, name);
                }
            }
        }
    }
}

#[test]
fn the_most_bins() {
    for device in devices() {
        let bins = 1 << 16;
        for (name, keys) in &kinds_of_keys(20_000, bins)[..2] {
            check(&device, keys, bins, name);
        }
    }
}

fn check_type<K: BinKey + TryFrom<u32>>(device: &Device, keys: &[u32], bins: usize)
where
    K::Error: std::fmt::Debug,
{
    let typed: Vec<K> = keys.iter().map(|&key| key.try_into().unwrap()).collect();
    let values: Vec<i32> = (0..keys.len()).map(|i| i as i32 - 50).collect();
    let expected = sums(keys, &values, bins);
    // The keys of a view begin at any address.
    let [on_device, tail] = [&typed[..], &typed[1..]].map(|keys| device.upload(keys).unwrap());
    let found = device.reduce_into_bins(&on_device, &values, bins, Sum).unwrap();
    assert_eq!(found, expected, "{}", K::NAME);
    let part = device.reduce_into_bins(on_device.view(1..), &values[1..], bins, Sum).unwrap();
    let aligned = device.reduce_into_bins(&tail, &values[1..], bins, Sum).unwrap();
    assert_eq!(part, aligned, "{}", K::NAME);
}

#[test]
fn keys_of_all_types() {
    for device in devices() {
        let (_, keys) = &kinds_of_keys(9000, 100)[2];
        check_type::<u8>(&device, keys, 100);
        check_type::<u16>(&device, keys, 100);
        check_type::<u32>(&device, keys, 100);
        check_type::<i32>(&device, keys, 100);
        check_type::<u64>(&device, keys, 100);
        check_type::<i64>(&device, keys, 100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn random_keys(bins in 1usize..600, raw in proptest::collection::vec(any::<u32>(), 0..3000)) {
        let keys: Vec<u32> = raw.iter().map(|key| key % bins as u32).collect();
        let device = Device::simulator();
        check(&device, &keys, bins, "random");
        let counts = device.count_into_bins(&keys, bins).unwrap();
        let mut expected = vec![0; bins];
        for &key in &keys {
            expected[key as usize] += 1;
        }
        prop_assert_eq!(counts, expected);
    }
}
