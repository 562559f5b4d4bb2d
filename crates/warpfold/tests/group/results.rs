//! The results of groups beside those of one device, and beside references on the host.

use std::{iter, slice};

use approx::assert_relative_eq;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    All, Any, ArgMax, ArgMaximum, ArgMin, BitXor, CheckedSum, CountNonzero, CountWhere, Device,
    Dot, Error, Group, GroupReducer, Input, Is, Item, LogSumExp, Max, Min, MinMax, Moments, NanSum,
    Norm2, Operation, Partial, Product, ReproducibleSum, SquaredDistance, Sum, TopK, WideSum,
};

use crate::{
    SIZES, cut, seed, simulated,
    support::{devices, skip},
    upload,
};

/// Lengths at the edges of warps, blocks and packs, and two of several blocks.
const LENGTHS: [usize; 12] = [0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 4097, 20_000, 70_001];

/// Random lengths of `shards` shards that have `n` elements together. About a third of them is 0.
fn lengths(random: &mut ChaCha8Rng, n: usize, shards: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (1..shards)
        .map(|_| match random.random_range(0..6) {
            0 => 0,
            1 => n,
            _ => random.random_range(0..=n),
        })
        .collect();
    cuts.sort_unstable();
    let ends = cuts.iter().copied().chain([n]);
    let begins = iter::once(0).chain(cuts.iter().copied());
    begins.zip(ends).map(|(begin, end)| end - begin).collect()
}

/// The result of an operation whose result does not depend on the order is that of one device, for
/// shards of random lengths in the devices' memory and on the host.
fn is_that_of_one_device<T, O>(
    groups: &[Group],
    random: &mut ChaCha8Rng,
    values: &[T],
    operation: O,
) where
    T: Item,
    O: Operation<T, Arity = warpfold::reducer::Single, Output: PartialEq + std::fmt::Debug>,
    for<'a> &'a [T]: Input<Item = T, Arity = O::Arity>,
{
    let whole = groups[0].devices()[0].reduce(values, operation);
    for group in groups {
        let lengths = lengths(random, values.len(), group.devices().len());
        let parts = cut(values, &lengths);
        let buffers = upload(group, &parts);
        for result in [group.reduce(&buffers, operation), group.reduce(parts, operation)] {
            match (&whole, result) {
                (Ok(whole), Ok(result)) => {
                    // The least element is a NaN if all of them are, and no NaN is equal to itself.
                    let (left, right) = (format!("{whole:?}"), format!("{result:?}"));
                    let is_same = *whole == result || left == right;
                    assert!(is_same, "{}, lengths {lengths:?}: {left}, {right}", O::NAME);
                }
                (Err(Error::Empty { .. }), Err(Error::Empty { op })) => assert_eq!(op, O::NAME),
                (whole, result) => panic!("{}: {result:?} beside {whole:?}", O::NAME),
            }
        }
    }
}

#[test]
fn results_without_an_order_are_those_of_one_device() {
    let groups = SIZES.map(simulated);
    let mut random = seed::random();
    for n in LENGTHS {
        let bytes: Vec<u8> = (0..n).map(|_| random.random_range(0..5)).collect();
        let words: Vec<i32> = (0..n).map(|_| random.random()).collect();
        // Many extremes are equal, some elements are NaN, and both zeros are there.
        let floats: Vec<f32> = (0..n)
            .map(|_| match random.random_range(0..20) {
                0 => f32::NAN,
                1 => -0.0,
                k => (k % 7) as f32 - 2.0,
            })
            .collect();
        let (groups, random) = (&groups, &mut random);
        is_that_of_one_device(groups, random, &bytes, Sum);
        is_that_of_one_device(groups, random, &bytes, Any);
        is_that_of_one_device(groups, random, &bytes, All);
        is_that_of_one_device(groups, random, &bytes, CountNonzero);
        is_that_of_one_device(groups, random, &bytes, CountWhere(Is::Greater(2)));
        is_that_of_one_device(groups, random, &bytes, TopK::<5>);
        is_that_of_one_device(groups, random, &words, Sum);
        is_that_of_one_device(groups, random, &words, BitXor);
        is_that_of_one_device(groups, random, &words, Product);
        is_that_of_one_device(groups, random, &words, MinMax);
        is_that_of_one_device(groups, random, &words, ArgMin);
        is_that_of_one_device(groups, random, &floats, Min);
        is_that_of_one_device(groups, random, &floats, Max);
        is_that_of_one_device(groups, random, &floats, ArgMax);
        // A NaN is not equal to itself, so its place is compared.
        if n > 0 {
            let group = &groups[2];
            let at = group.devices()[0].reduce(&floats, ArgMaximum).unwrap().index;
            let parts = cut(&floats, &lengths(random, n, 3));
            assert_eq!(group.reduce(parts, ArgMaximum).unwrap().index, at);
        }
    }
}

/// A reproducible sum has the same bits for each number of devices and each cut, although the
/// elements cancel.
#[test]
fn reproducible_sums_have_the_same_bits() {
    let groups = SIZES.map(simulated);
    let mut random = seed::random();
    for n in LENGTHS {
        let singles: Vec<f32> = (0..n)
            .map(|_| f32::from_bits(random.random::<u32>() & 0xbfff_ffff))
            .map(|x| if x.is_finite() { x } else { 1.5 })
            .collect();
        let doubles: Vec<f64> =
            singles.iter().map(|&x| f64::from(x) * random.random_range(-1.0..1.0)).collect();
        is_that_of_one_device(&groups, &mut random, &singles, ReproducibleSum);
        is_that_of_one_device(&groups, &mut random, &doubles, ReproducibleSum);
    }
}

/// The documented order: the results of the shards, each of which one device gives, are added from
/// the first to the last.
#[test]
fn a_sum_of_floats_is_the_left_fold_of_the_shards() {
    let mut random = seed::random();
    let mut differ = 0;
    for size in SIZES {
        let group = simulated(size);
        let sum = group.reducer::<f32, _>(Sum).unwrap();
        for n in LENGTHS {
            let values: Vec<f32> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
            let lengths = lengths(&mut random, n, size);
            let parts = cut(&values, &lengths);
            let of_shards = group.devices().iter().zip(&parts).filter(|(_, part)| !part.is_empty());
            let results = of_shards.map(|(device, &part)| device.reduce(part, Sum).unwrap());
            let folded = results.reduce(|folded, result| folded + result).unwrap_or(0.0);
            let buffers = upload(&group, &parts);
            for result in [sum.reduce(&buffers), sum.reduce(parts)] {
                assert_eq!(result.unwrap().to_bits(), folded.to_bits(), "lengths {lengths:?}");
            }
            let whole: f32 = group.devices()[0].reduce(&values, Sum).unwrap();
            differ += u32::from(whole != folded);
        }
    }
    assert!(differ > 0, "the order of one device would have passed too");
}

#[test]
fn statistics_of_floats_are_near_the_reference() {
    let mut random = seed::random();
    for size in SIZES {
        let group = simulated(size);
        let n = 30_011;
        let values: Vec<f64> = (0..n).map(|_| random.random_range(-3.0..5.0)).collect();
        let parts = cut(&values, &lengths(&mut random, n, size));
        let sum: f64 = values.iter().sum();
        let mean = sum / n as f64;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();

        let moments = group.reduce(parts.clone(), Moments).unwrap();
        assert_eq!(moments.count, n as u64);
        assert_relative_eq!(moments.mean(), mean, max_relative = 1e-12);
        assert_relative_eq!(moments.variance(), squares / n as f64, max_relative = 1e-12);
        let exponentials: f64 = values.iter().map(|x| x.exp()).sum();
        let logarithm = group.reduce(parts.clone(), LogSumExp).unwrap();
        assert_relative_eq!(logarithm, exponentials.ln(), max_relative = 1e-12);
        let norm: f64 = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert_relative_eq!(
            group.reduce(parts.clone(), Norm2).unwrap(),
            norm,
            max_relative = 1e-12
        );
        assert_relative_eq!(group.reduce(parts, NanSum).unwrap(), sum, max_relative = 1e-9);
    }
}

#[test]
fn pairs_of_arrays_are_pairs_of_shards() {
    let mut random = seed::random();
    let (first, second): (Vec<i32>, Vec<i32>) =
        (0..9001).map(|_| (random.random_range(-99..99), random.random_range(-99..99))).unzip();
    let dot: i64 = first.iter().zip(&second).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
    let distance: i64 = first.iter().zip(&second).map(|(&a, &b)| i64::from(a - b).pow(2)).sum();
    for size in SIZES {
        let group = simulated(size);
        let lengths = lengths(&mut random, first.len(), size);
        let parts = [cut(&first, &lengths), cut(&second, &lengths)];
        let [left, right] = [&parts[0], &parts[1]].map(|parts| upload(&group, parts));
        assert_eq!(group.reduce(left.iter().zip(&right), Dot).unwrap(), dot);
        assert_eq!(group.reduce(left.iter().zip(&right), SquaredDistance).unwrap(), distance);
        // One side is on the host.
        let [_, right] = parts;
        assert_eq!(group.reduce(left.iter().zip(right), Dot).unwrap(), dot);
    }
}

/// Parts that other threads, programs or machines reduce are put together in the same way.
#[test]
fn partial_results_are_put_together_from_the_left_or_the_right() {
    let mut random = seed::random();
    let values: Vec<f64> = (0..5000).map(|_| random.random_range(-9.0..9.0)).collect();
    let device = Device::simulator();
    let exact = device.reducer::<f64, _>(ReproducibleSum).unwrap();
    let best = device.reducer::<f64, _>(ArgMin).unwrap();
    for _ in 0..20 {
        let lengths = lengths(&mut random, values.len(), 5);
        let parts = cut(&values, &lengths);
        let sums: Vec<_> = parts.iter().map(|&part| exact.partial(part).unwrap()).collect();
        assert_eq!(
            sums.iter().map(Partial::n).collect::<Vec<_>>(),
            lengths.iter().map(|&len| len as u64).collect::<Vec<_>>()
        );
        let left = sums.iter().cloned().fold(Partial::EMPTY, Partial::append);
        let right = sums.into_iter().rev().fold(Partial::EMPTY, |behind, part| part.append(behind));
        let whole = exact.reduce(&values).unwrap();
        assert_eq!([left, right].map(|all| all.finish().unwrap()), [whole; 2]);
        let found = parts.iter().map(|&part| best.partial(part).unwrap()).reduce(Partial::append);
        assert_eq!(found.unwrap().finish().unwrap(), best.reduce(&values).unwrap());
    }
    assert!(best.partial(&[0.0; 0]).unwrap().raw().is_none());
    assert!(matches!(best.partial(&[0.0; 0]).unwrap().finish(), Err(Error::Empty { .. })));
}

/// Only the sum of all shards is checked, not those of the parts, which overflow.
#[test]
fn an_overflow_is_that_of_the_whole_array() {
    let group = simulated(3);
    let of = |parts: [i32; 3]| {
        let parts: Vec<Vec<i32>> = parts.map(|part| vec![part; 2]).into();
        group.reduce(&parts, CheckedSum)
    };
    assert_eq!(of([i32::MAX, -i32::MAX, 7]).unwrap(), 14);
    let overflow = of([1 << 30, 1, 0]).unwrap_err();
    assert!(matches!(overflow, Error::Overflow { item: "i32", .. }), "{overflow:?}");
    assert_eq!(overflow.to_string(), "the sum is 2147483650, which no i32 holds");
}

#[test]
fn an_array_is_cut_like_numpys_array_split() {
    for size in SIZES {
        let group = simulated(size);
        for n in [0, 1, 7, 8, 9, 1000, usize::MAX] {
            let ranges: Vec<_> = group.ranges(n).collect();
            assert_eq!(ranges.len(), size);
            let ends: Vec<_> = ranges.iter().map(|range| range.end).collect();
            let begins: Vec<_> = ranges.iter().map(|range| range.start).collect();
            assert_eq!((begins[0], &begins[1..]), (0, &ends[..size - 1]));
            assert_eq!(ends[size - 1], n);
            let lengths: Vec<_> = ranges.iter().map(ExactSizeIterator::len).collect();
            assert!(lengths.is_sorted_by(|a, b| a >= b) && lengths[0] - lengths[size - 1] <= 1);
        }
        let values: Vec<u16> = (0..1001).collect();
        let shards = group.shard(&values).unwrap();
        for (shard, device) in shards.iter().zip(group.devices()) {
            assert!(device.owns(shard));
        }
        let back: Vec<u16> =
            shards.iter().flat_map(|shard| shard.copy_to_host().unwrap()).collect();
        assert_eq!(back, values);
    }
}

/// Shards on the host that are larger than the limit go through the devices in chunks.
#[test]
fn shards_on_the_host_are_copied_in_chunks() {
    let group = simulated(3);
    let values: Vec<u32> = (0..10_000).collect();
    let lengths = [6000, 0, 4000];
    let sum: GroupReducer<u32, _> = group.reducer(Sum).unwrap().with_memory_limit(4096);
    let mut seen = Vec::new();
    let result = sum.reduce_with_progress(cut(&values, &lengths), |done, total| {
        seen.push((done, total));
    });
    assert_eq!(result.unwrap(), 49_995_000);
    // A chunk takes half of the limit, which is 512 elements: 12 chunks and 8.
    assert_eq!(seen.len(), 20);
    assert!(seen.is_sorted() && seen.iter().all(|&(_, total)| total == 10_000));
    assert_eq!(seen.last(), Some(&(10_000, 10_000)));

    // A shard on a device is not copied, and is not counted.
    let buffers = upload(&group, &cut(&values, &lengths));
    sum.reduce_with_progress(&buffers, |_, _| panic!("nothing is copied")).unwrap();
}

/// Each device has a stream of its own, and several threads use one group.
#[test]
fn several_threads_share_a_group() {
    let group = simulated(2);
    let values: Vec<u32> = (0..5000).collect();
    let shards = group.shard(&values).unwrap();
    let sum = group.reducer::<u32, _>(Sum).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (sum, shards) = (sum.clone(), &shards);
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(sum.reduce(shards).unwrap(), 12_497_500);
                }
            });
        }
    });
}

/// All GPUs of the machine, and a simulator beside the GPUs.
#[test]
fn gpus_give_the_same_results() {
    let gpus = Device::all().unwrap();
    if gpus.is_empty() {
        skip::test("this machine has no GPU");
        return;
    }
    let mut random = seed::random();
    let simulator = Device::simulator();
    let mixed: Vec<_> = gpus.iter().cloned().chain([simulator.clone()]).collect();
    for devices in [gpus, mixed] {
        let group = Group::of(&devices).unwrap();
        for n in LENGTHS {
            let values: Vec<f32> = (0..n).map(|_| random.random_range(-1e9..1e9)).collect();
            let parts = cut(&values, &lengths(&mut random, n, devices.len()));
            let buffers = upload(&group, &parts);
            let exact = simulator.reduce(&values, ReproducibleSum).unwrap();
            assert_eq!(group.reduce(&buffers, ReproducibleSum).unwrap(), exact);
            assert_eq!(group.reduce(parts, ReproducibleSum).unwrap(), exact);
            if n > 0 {
                let best = simulator.reduce(&values, ArgMin).unwrap();
                assert_eq!(group.reduce(&buffers, ArgMin).unwrap(), best);
            }
        }
    }
}

/// The group of one device gives the very bits of the device.
#[test]
fn a_group_of_one_is_the_device() {
    for device in devices() {
        let values: Vec<f32> = (0..12_345).map(|i| (i as f32).sin()).collect();
        let group = Group::of(slice::from_ref(&device)).unwrap();
        let alone = device.reduce(&values, Sum).unwrap();
        let shards = group.shard(&values).unwrap();
        assert_eq!(group.reduce(&shards, Sum).unwrap().to_bits(), alone.to_bits());
        let wide = group.reduce(&shards, WideSum).unwrap();
        assert_eq!(wide.to_bits(), device.reduce(&values, WideSum).unwrap().to_bits());
    }
}
