//! All operations that can be reduced in a tree, over all types of floats, beside one row.

use std::fmt::Debug;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    Array, CompensatedSum, Device, Dot, Group, Item, Norm2, Product, SquaredDistance, Sum, SumAbs,
    SumSquares, TreeOperation, WideSum,
    half::{bf16, f16},
    reducer::{Pair, Single},
};

use crate::{cut, lengths, seed, simulated, upload};

/// Lengths of arrays whose shards are parts of leaves, leaves, and larger nodes.
const LENGTHS: [usize; 6] = [1, 45, 1000, 4097, 33_001, 120_000];

/// The groups of these tests.
fn groups() -> [Group; 3] {
    [1, 2, 5].map(simulated)
}

/// Checks that shards of random lengths give what one row gives. All bits of a float that is no NaN
/// show in its text.
fn check<T: Item, O>(groups: &[Group], random: &mut ChaCha8Rng, values: &[T], operation: O)
where
    O: TreeOperation<T, Arity = Single, Output: Debug>,
{
    let row = Array::new(values, &[1, values.len() as u64]).unwrap();
    let row = Device::simulator().reduce_rows(&row, operation).unwrap();
    for group in groups {
        let lengths = lengths(random, values.len(), group.devices().len());
        let shards = upload(group, &cut(values, &lengths));
        let found = group.reduce_in_tree(&shards, operation).unwrap();
        let name = format!("{} of {}, shards {lengths:?}", O::NAME, T::NAME);
        assert_eq!(format!("{found:?}"), format!("{:?}", row[0]), "{name}");
    }
}

/// As [`check`], for pairs.
fn check_pairs<T: Item, O>(
    groups: &[Group],
    random: &mut ChaCha8Rng,
    [first, second]: [&[T]; 2],
    operation: O,
) where
    O: TreeOperation<T, Arity = Pair, Output: Debug>,
{
    let row = |values| Array::new(values, &[1, first.len() as u64]).unwrap();
    let row = Device::simulator().reduce_rows((&row(first), &row(second)), operation).unwrap();
    for group in groups {
        let lengths = lengths(random, first.len(), group.devices().len());
        let [left, right] = [first, second].map(|values| cut(values, &lengths));
        let (left, name) = (upload(group, &left), format!("{} of {}", O::NAME, T::NAME));
        // One operand is in the devices' memory, and the other one on the host.
        let found =
            group.reduce_in_tree(left.iter().zip(right.iter().copied()), operation).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", row[0]), "{name}, shards {lengths:?}");
        let right = upload(group, &right);
        let found = group.reduce_in_tree(left.iter().zip(&right), operation).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", row[0]), "{name}, shards {lengths:?}");
    }
}

/// Checks all operations that each type of floats has.
fn check_all<T: Item>(random: &mut ChaCha8Rng, number: impl Fn(f64) -> T)
where
    Sum: TreeOperation<T, Arity = Single, Output: Debug>,
    SumAbs: TreeOperation<T, Arity = Single, Output: Debug>,
    SumSquares: TreeOperation<T, Arity = Single, Output: Debug>,
    Norm2: TreeOperation<T, Arity = Single, Output: Debug>,
    Product: TreeOperation<T, Arity = Single, Output: Debug>,
    CompensatedSum: TreeOperation<T, Arity = Single, Output: Debug>,
    Dot: TreeOperation<T, Arity = Pair, Output: Debug>,
    SquaredDistance: TreeOperation<T, Arity = Pair, Output: Debug>,
{
    let groups = groups();
    for n in LENGTHS {
        let mut values = || -> Vec<T> {
            (0..n).map(|_| number(random.random_range(-1.0f64..1.0).powi(9) * 100.0)).collect()
        };
        let (first, second) = (values(), values());
        // Their product is neither 0 nor infinite.
        let near_one: Vec<T> =
            (0..n).map(|_| number(1.0 + random.random_range(-0.01..0.01))).collect();
        let (groups, random) = (&groups[..], &mut *random);
        check(groups, random, &first, Sum);
        check(groups, random, &first, SumAbs);
        check(groups, random, &first, SumSquares);
        check(groups, random, &first, Norm2);
        check(groups, random, &near_one, Product);
        check(groups, random, &first, CompensatedSum);
        check_pairs(groups, random, [&first, &second], Dot);
        check_pairs(groups, random, [&first, &second], SquaredDistance);
    }
}

#[test]
fn results_over_f16_are_those_of_one_row() {
    check_all(&mut seed::random(), f16::from_f64);
}

#[test]
fn results_over_bf16_are_those_of_one_row() {
    check_all(&mut seed::random(), bf16::from_f64);
}

#[test]
fn results_over_f32_are_those_of_one_row() {
    check_all(&mut seed::random(), |x| x as f32);
}

#[test]
fn results_over_f64_are_those_of_one_row() {
    check_all(&mut seed::random(), |x| x);
}

#[test]
fn wide_sums_are_those_of_one_row() {
    let (groups, mut random) = (groups(), seed::random());
    for n in LENGTHS {
        // Their magnitudes differ so much that sums in `f64` are rounded.
        let values: Vec<f32> = (0..n)
            .map(|_| random.random_range(-1.0f32..1.0) * 2f32.powi(random.random_range(-60..60)))
            .collect();
        check(&groups, &mut random, &values, WideSum);
        let halves: Vec<f16> = values.iter().map(|&x| f16::from_f32(x)).collect();
        let finite: Vec<f16> =
            halves.iter().map(|&x| if x.is_finite() { x } else { f16::ONE }).collect();
        check(&groups, &mut random, &finite, WideSum);
    }
}

#[test]
fn sums_of_integers_are_exact() {
    let (groups, mut random) = (groups(), seed::random());
    for n in LENGTHS {
        let values: Vec<i16> = (0..n).map(|_| random.random()).collect();
        let exact: i64 = values.iter().map(|&x| i64::from(x)).sum();
        let wide: Vec<u128> = (0..n).map(|_| random.random()).collect();
        let wide_sum = wide.iter().fold(0u128, |sum, &x| sum.wrapping_add(x));
        for group in &groups {
            assert_eq!(group.reduce_in_tree(&group.shard(&values).unwrap(), Sum).unwrap(), exact);
            assert_eq!(group.reduce_in_tree(&group.shard(&wide).unwrap(), Sum).unwrap(), wide_sum);
        }
    }
}
