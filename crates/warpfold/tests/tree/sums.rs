//! Sums of floats: the tree, the bits and the error.

use warpfold::{Array, Device, Group, Sum, device::DeviceClass};

use crate::{
    SIZES, cut, lengths, reference, seed, simulated, spread,
    support::{devices, skip},
    upload,
};

/// Lengths around those of leaves, packs, warps and blocks, and some whose shards are cut into
/// nodes of several leaves.
const LENGTHS: [usize; 19] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    1000,
    1023,
    1024,
    1025,
    8 * 1023,
    8 * 1024,
    8 * 1025,
    70_001,
    262_144,
];

#[test]
fn any_number_of_devices_gives_the_bits_of_one_row() {
    let groups = SIZES.map(simulated);
    let mut random = seed::random();
    for n in LENGTHS {
        let values = spread(&mut random, n);
        let expected = reference::sum(&values);
        for group in &groups {
            let sum = group.tree_reducer::<f32, _>(Sum).unwrap();
            let size = group.devices().len();
            let found = sum.reduce(&group.shard(&values).unwrap()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{n} elements in {size} equal shards");
            for _ in 0..3 {
                let lengths = lengths(&mut random, n, size);
                let shards = upload(group, &cut(&values, &lengths));
                let found = sum.reduce(&shards).unwrap();
                assert_eq!(found.to_bits(), expected.to_bits(), "shards {lengths:?}");
            }
        }
        if n > 0 {
            let row = Array::new(&values, &[1, n as u64]).unwrap();
            assert_eq!(Device::simulator().reduce_rows(&row, Sum).unwrap(), [expected]);
        }
    }
}

/// The test above can fail: the same elements give other bits if results of shards are added.
#[test]
fn the_plain_sum_has_other_bits_on_more_devices() {
    let [one, two] = [simulated(1), simulated(2)];
    let mut random = seed::random();
    let mut differ = 0;
    for n in LENGTHS {
        let values = spread(&mut random, n);
        let [alone, together] =
            [&one, &two].map(|group| group.reduce(&group.shard(&values).unwrap(), Sum).unwrap());
        differ += u32::from(alone.to_bits() != together.to_bits());
    }
    assert!(differ > 3, "only {differ} of {} sums differ", LENGTHS.len());
}

/// Each cut of a few leaves in two and in three, so that each kind of beginning and end is there.
#[test]
fn every_cut_gives_the_same_bits() {
    let [two, three] = [simulated(2), simulated(3)];
    let (two, three) = (two.tree_reducer(Sum).unwrap(), three.tree_reducer(Sum).unwrap());
    let values = spread(&mut seed::random(), 75);
    let expected = reference::sum(&values);
    for first in 0..=75 {
        let (begin, end) = values.split_at(first);
        let found: f32 = two.reduce([begin, end]).unwrap();
        assert_eq!(found.to_bits(), expected.to_bits(), "cut at {first}");
        for second in (first..=75).step_by(7) {
            let shards = [begin, &values[first..second], &values[second..]];
            let found: f32 = three.reduce(shards).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "cut at {first} and {second}");
        }
    }
}

#[test]
fn devices_of_different_classes_give_the_same_bits() {
    let classes =
        [(1, false, (7, 5)), (3, true, (9, 0)), (132, false, (9, 0)), (1000, true, (7, 5))];
    let classes = classes.map(|(multiprocessors, is_fast, capability)| {
        DeviceClass::new(multiprocessors, is_fast, capability)
    });
    let mut random = seed::random();
    let values = spread(&mut random, 100_003);
    let expected = reference::sum(&values).to_bits();
    let of = |class: DeviceClass| Device::simulator().with_class(class).unwrap();
    let mut groups: Vec<_> = classes.iter().map(|&class| vec![of(class)]).collect();
    groups.push(classes.map(of).into());
    for devices in groups {
        let group = Group::of(&devices).unwrap();
        let parts = cut(&values, &lengths(&mut random, values.len(), devices.len()));
        let found = group.reduce_in_tree(&upload(&group, &parts), Sum).unwrap();
        assert_eq!(found.to_bits(), expected);
    }
}

/// The devices that the tests run on, each alone and beside a simulator, and all GPUs of the
/// machine.
#[test]
fn gpus_and_simulators_give_the_same_bits() {
    let mut random = seed::random();
    let gpus = Device::all().unwrap();
    if gpus.is_empty() {
        skip::part("groups of GPUs", "this machine has no GPU");
    }
    let mut groups: Vec<_> = devices()
        .into_iter()
        .flat_map(|device| [vec![device.clone()], vec![Device::simulator(), device]])
        .collect();
    groups.extend((!gpus.is_empty()).then_some(gpus));
    for n in LENGTHS {
        let values = spread(&mut random, n);
        let expected = reference::sum(&values);
        for devices in &groups {
            let group = Group::of(devices).unwrap();
            let shards = group.shard(&values).unwrap();
            let found = group.reduce_in_tree(&shards, Sum).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{n} elements on {devices:?}");
        }
    }
}

#[test]
fn the_error_is_within_its_bound() {
    let group = simulated(4);
    let sum = group.tree_reducer::<f32, _>(Sum).unwrap();
    let mut random = seed::random();
    for n in LENGTHS {
        let values = spread(&mut random, n);
        let found: f32 = sum.reduce(&group.shard(&values).unwrap()).unwrap();
        // The error of this sum is far below the bound.
        let exact: f64 = values.iter().map(|&x| f64::from(x)).sum();
        let magnitude: f64 = values.iter().map(|&x| f64::from(x.abs())).sum();
        let bound = (sum.depth(n as u64) as f64 * 2f64.powi(-24)).exp_m1() * magnitude;
        let error = (f64::from(found) - exact).abs();
        assert!(error <= bound, "{n} elements: {error:e} is more than {bound:e}");
    }
}

#[test]
fn numbers_that_are_not_finite_and_zeros() {
    let (inf, nan, max) = (f32::INFINITY, f32::NAN, f32::MAX);
    // Each special value is at another place, and so in another shard or in a shared leaf.
    let with = |specials: &[(usize, f32)]| {
        let mut values = vec![1.0f32; 1000];
        for &(at, value) in specials {
            values[at] = value;
        }
        values
    };
    for group in SIZES.map(simulated) {
        let sum = |values: &[f32]| {
            let shards = group.shard(values).unwrap();
            group.reduce_in_tree(&shards, Sum).unwrap()
        };
        assert_eq!(sum(&with(&[(3, inf)])), inf);
        assert_eq!(sum(&with(&[(999, -inf)])), -inf);
        assert!(sum(&with(&[(499, inf), (500, -inf)])).is_nan());
        assert!(sum(&with(&[(501, nan)])).is_nan());
        // A partial sum overflows in the same node everywhere.
        let values = with(&[(0, max), (600, max), (601, -max), (999, -max)]);
        assert_eq!(sum(&values).to_bits(), reference::sum(&values).to_bits());
        let tiny = vec![f32::from_bits(3); 1000];
        assert_eq!(sum(&tiny), f32::from_bits(3000));
        assert_eq!(sum(&[-0.0; 100]).to_bits(), reference::sum(&[-0.0; 100]).to_bits());
    }
}
