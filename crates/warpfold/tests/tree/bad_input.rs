//! What a reduction in a tree refuses. Each error names the shard that is meant.

use warpfold::{DeviceError, Dot, Error, Norm2, Product, Sum};

use crate::simulated;

/// The cause of an error of a shard.
fn of_shard(error: Error, expected: usize) -> Error {
    let Error::Shard { shard, cause, .. } = error else { panic!("{error:?}") };
    assert_eq!(shard, expected);
    *cause
}

#[test]
fn each_device_has_one_shard() {
    let group = simulated(3);
    let values = [1.0f32; 10];
    for shards in [0, 1, 2, 4] {
        let error = group.reduce_in_tree(vec![&values[..]; shards], Sum).unwrap_err();
        assert!(
            matches!(error, Error::ShardCount { what: "shards", given, devices: 3 } if given == shards),
            "{error:?}"
        );
    }
}

#[test]
fn no_elements_have_a_result() {
    let group = simulated(3);
    let none: [&[f32]; 3] = [&[]; 3];
    assert_eq!(group.reduce_in_tree(none, Sum).unwrap().to_bits(), 0);
    assert_eq!(group.reduce_in_tree(none, Product).unwrap(), 1.0);
    assert_eq!(group.reduce_in_tree(none, Norm2).unwrap(), 0.0);
    assert_eq!(group.reduce_in_tree([&[], &[-5.0f32][..], &[]], Sum).unwrap(), -5.0);
}

/// Memory of another device is refused, whether a shard has a node of the tree or only a part of a
/// leaf.
#[test]
fn memory_of_another_device_is_refused() {
    let group = simulated(3);
    for n in [300, 3, 40] {
        let values = vec![1.0f32; n];
        let mut shards = group.shard(&values).unwrap();
        shards.swap(1, 2);
        let cause = of_shard(group.reduce_in_tree(&shards, Sum).unwrap_err(), 1);
        assert!(matches!(cause, Error::Device(DeviceError::OtherDevice("buffer"))), "{cause:?}");
        shards.swap(1, 2);
        assert_eq!(group.reduce_in_tree(&shards, Sum).unwrap(), n as f32);
    }
}

#[test]
fn pairs_have_equal_lengths() {
    let group = simulated(3);
    let (long, short) = ([1.0f32; 5], [1.0f32; 4]);
    let pairs = [(&long[..], &long[..]), (&short[..], &short[..]), (&long[..], &short[..])];
    let cause = of_shard(group.reduce_in_tree(pairs, Dot).unwrap_err(), 2);
    assert!(matches!(cause, Error::Lengths { first: 5, second: 4 }), "{cause:?}");
}
