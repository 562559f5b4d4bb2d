//! Runs of equal keys of each size, compared with a plain loop.

use std::fmt::Debug;

use rand::Rng;
use warpfold::{ArgMax, Device, Key, Sum};

use super::{bits, kinds_of_lengths, order, seed::random, sums, support::devices, values};

/// The first key of each run, and the number of elements of each run.
fn runs<K: Copy + PartialEq>(keys: &[K]) -> (Vec<K>, Vec<u64>) {
    let (mut unique, mut counts): (Vec<K>, Vec<u64>) = (Vec::new(), Vec::new());
    for &key in keys {
        if unique.last() == Some(&key) {
            *counts.last_mut().unwrap() += 1;
        } else {
            unique.push(key);
            counts.push(1);
        }
    }
    (unique, counts)
}

fn check<K: Key + PartialEq + Debug>(device: &Device, keys: &[K], name: &str) {
    let values = values(keys.len());
    let found = device.reduce_by_key(keys, &values, Sum).unwrap();
    let (unique, counts) = runs(keys);
    assert_eq!(found.counts, counts, "{name}: counts");
    assert_eq!(found.keys, unique, "{name}: keys");
    // Sums have a kernel of their own for keys, unless these are long.
    let expected = match size_of::<K>() {
        ..=8 => bits(&order::sums(&values, &counts, size_of::<K>())),
        _ => sums(&values, &counts),
    };
    assert_eq!(bits(&found.results), expected, "{name}: sums");
}

/// The keys of runs of these lengths. Neighbouring runs differ in one byte only.
fn keys<const N: usize>(lengths: &[usize]) -> Vec<[u8; N]> {
    let mut key = [0u8; N];
    let runs = lengths.iter().enumerate().flat_map(|(i, &length)| {
        key[i % N] = key[i % N].wrapping_add(1);
        std::iter::repeat_n(key, length)
    });
    runs.collect()
}

fn check_size<const N: usize>()
where
    [u8; N]: Key + PartialEq + Debug,
{
    for device in devices() {
        for (name, lengths) in kinds_of_lengths() {
            let (keys, name) = (keys::<N>(&lengths), format!("{N} bytes, {name}"));
            check(&device, &keys, &name);
            // `ArgMax` has no kernel of its own for keys, so that the one which only finds runs is
            // tested too.
            let found = device.reduce_by_key(&keys, &values(keys.len()), ArgMax).unwrap();
            assert_eq!((found.keys, found.counts), runs(&keys), "{name}: runs");
        }
    }
}

#[test]
fn keys_of_1_byte() {
    check_size::<1>();
}

#[test]
fn keys_of_2_bytes() {
    check_size::<2>();
}

#[test]
fn keys_of_4_bytes() {
    check_size::<4>();
}

#[test]
fn keys_of_8_bytes() {
    check_size::<8>();
}

#[test]
fn keys_of_16_bytes() {
    check_size::<16>();
}

/// A tile has 1920 keys of up to 4 bytes or 960 of 8 bytes, and a warp a fifth of it. A tile of the
/// kernel that only finds runs has 8192 keys, and a warp an eighth of it.
#[test]
fn the_edges_of_warps_and_tiles() {
    for device in devices() {
        for edge in [1usize, 6, 12, 32, 192, 384, 512, 960, 1024, 1920, 3840, 4096, 8192, 16384] {
            for n in [edge - 1, edge, edge + 1] {
                let name = |what: &str| format!("{n} keys, {what}");
                check(&device, &vec![7u32; n], &name("one run"));
                check(&device, &(0..n as u64).collect::<Vec<_>>(), &name("runs of 1"));
                // The second run begins at the last key, or just behind an edge.
                let mut keys = vec![1u128; n];
                if let Some(last) = keys.last_mut() {
                    *last = 1 << 100;
                }
                check(&device, &keys, &name("the last key differs"));
                let split: Vec<u8> = (0..n).map(|i| u8::from(i >= n / 2)).collect();
                check(&device, &split, &name("two halves"));
            }
        }
    }
}

#[test]
fn random_keys() {
    let mut random = random();
    for device in devices() {
        for distinct in [2u16, 3, 50] {
            let n = random.random_range(1..30_000);
            let keys: Vec<u16> = (0..n).map(|_| random.random_range(0..distinct)).collect();
            check(&device, &keys, &format!("{n} keys, {distinct} distinct"));
        }
    }
}

#[test]
fn no_keys() {
    for device in devices() {
        let none: [u32; 0] = [];
        let found = device.reduce_by_key(&none, &[0.0f32; 0], Sum).unwrap();
        assert!(found.keys.is_empty() && found.results.is_empty() && found.counts.is_empty());
    }
}

/// Keys are equal if their bits are.
#[test]
fn floats_are_compared_bit_for_bit() {
    for device in devices() {
        let other_nan = f32::from_bits(f32::NAN.to_bits() ^ 1);
        let keys = [0.0f32, -0.0, -0.0, f32::NAN, f32::NAN, other_nan];
        let found = device.reduce_by_key(&keys, &[1.0f32; 6], Sum).unwrap();
        assert_eq!(found.counts, [1, 2, 2, 1]);
    }
}

/// Keys in runs of 1 to 8, and in some of up to 3000.
fn mixed<K>(n: usize, key: impl Fn(u32) -> K) -> Vec<K> {
    let mut random = random();
    let lengths = std::iter::repeat_with(|| match random.random_range(0..20) {
        0 => random.random_range(1..3000),
        _ => random.random_range(1..9),
    });
    let runs = lengths.zip(0..).flat_map(|(length, i)| std::iter::repeat_n(i, length));
    runs.take(n).map(key).collect()
}

/// Many tiles: of several groups, and more of them than blocks.
#[test]
fn more_tiles_than_blocks() {
    for device in devices() {
        let blocks = 5 * device.class().multiprocessors() as usize;
        for tiles in [blocks - 1, blocks, 2 * blocks + 7] {
            let n = tiles * 960 + 1;
            check(&device, &mixed(n, |i| u64::from(i) << 32), &format!("{tiles} tiles"));
            // One run goes from the first group to the last one.
            let keys: Vec<u64> = (0..n as u64).map(|i| i.clamp(500, n as u64 - 500)).collect();
            check(&device, &keys, &format!("{tiles} tiles, a long run"));
        }
    }
}

/// The bits of a run depend on its elements and on its place, not on its neighbours.
#[test]
fn neighbours_do_not_change_the_bits_of_a_run() {
    for device in devices() {
        let (first, length, n) = (1000, 5000, 9000);
        let values = values(n);
        let run = |neighbours: u32| {
            let mut values = values.clone();
            let is_run = |i: usize| (first..first + length).contains(&i);
            let keys: Vec<u32> =
                (0..n).map(|i| if is_run(i) { u32::MAX } else { i as u32 / neighbours }).collect();
            (0..n).filter(|&i| !is_run(i)).for_each(|i| values[i] *= neighbours as f32);
            let found = device.reduce_by_key(&keys, &values, Sum).unwrap();
            let at = found.keys.iter().position(|&key| key == u32::MAX).unwrap();
            found.results[at].to_bits()
        };
        let alone = run(u32::MAX);
        for neighbours in [1, 2, 33, 700] {
            assert_eq!(run(neighbours), alone, "neighbours of {neighbours}");
        }
    }
}
