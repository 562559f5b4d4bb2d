//! Shards of all kinds: on the host, in pieces, page-locked, views, and addresses.

use std::thread;

use rand::Rng;
use warpfold::{Dot, RawSlice, Sum};

use crate::{SIZES, cut, lengths, reference, seed, simulated, spread, upload};

#[test]
fn shards_on_the_host_give_the_same_bits_in_pieces_of_any_size() {
    let mut random = seed::random();
    let values = spread(&mut random, 40_007);
    let expected = reference::sum(&values).to_bits();
    for size in SIZES {
        let group = simulated(size);
        let sum = group.tree_reducer::<f32, _>(Sum).unwrap();
        let lengths = lengths(&mut random, values.len(), size);
        let parts = cut(&values, &lengths);
        assert_eq!(sum.reduce(parts.clone()).unwrap().to_bits(), expected, "shards {lengths:?}");
        for bytes in [0, 128, 1000, 4096, 30_000] {
            let sum = sum.clone().with_memory_limit(bytes);
            let found = sum.reduce(parts.clone()).unwrap();
            assert_eq!(found.to_bits(), expected, "{bytes} bytes, shards {lengths:?}");
        }
        let pinned: Vec<_> = group
            .devices()
            .iter()
            .zip(&parts)
            .map(|(device, part)| {
                let mut pinned = device.alloc_pinned::<f32>(part.len()).unwrap();
                pinned.copy_from_slice(part);
                pinned
            })
            .collect();
        assert_eq!(sum.reduce(&pinned).unwrap().to_bits(), expected, "shards {lengths:?}");
    }
}

/// The pieces of pairs are of both operands together.
#[test]
fn pairs_on_the_host_give_the_same_bits_in_pieces() {
    let mut random = seed::random();
    let [first, second] = [spread(&mut random, 9001), spread(&mut random, 9001)];
    let group = simulated(3);
    let lengths = lengths(&mut random, first.len(), 3);
    let pairs: Vec<_> = cut(&first, &lengths).into_iter().zip(cut(&second, &lengths)).collect();
    let dot = group.tree_reducer::<f32, _>(Dot).unwrap();
    let whole = simulated(1).reduce_in_tree([(&first, &second)], Dot).unwrap();
    for bytes in [0, 2000, u64::MAX] {
        let found = dot.clone().with_memory_limit(bytes).reduce(pairs.clone()).unwrap();
        assert_eq!(found.to_bits(), whole.to_bits(), "{bytes} bytes, shards {lengths:?}");
    }
}

/// Where a shard begins in memory does not matter.
#[test]
fn views_and_addresses_give_the_same_bits() {
    let mut random = seed::random();
    let values = spread(&mut random, 20_011);
    let expected = reference::sum(&values).to_bits();
    let group = simulated(3);
    for _ in 0..5 {
        let lengths = lengths(&mut random, values.len(), 3);
        let padded: Vec<(usize, Vec<f32>)> = cut(&values, &lengths)
            .into_iter()
            .map(|part| {
                let before = random.random_range(0..40);
                ([&vec![9.0; before], part, &[7.0; 3]].concat(), before)
            })
            .map(|(values, before)| (before, values))
            .collect();
        let parts: Vec<_> = padded.iter().map(|(_, values)| &values[..]).collect();
        let buffers = upload(&group, &parts);
        let views: Vec<_> = buffers
            .iter()
            .zip(&padded)
            .map(|(buffer, (before, values))| buffer.view(*before..values.len() - 3))
            .collect();
        let found = group.reduce_in_tree(&views, Sum).unwrap();
        assert_eq!(found.to_bits(), expected, "shards {lengths:?}");
        // SAFETY: the memory is that of the views, which live until the end of the call.
        let raw =
            views.iter().map(|view| unsafe { RawSlice::<f32>::new(view.address(), view.len()) });
        let found = group.reduce_in_tree(raw, Sum).unwrap();
        assert_eq!(found.to_bits(), expected, "shards {lengths:?}");
    }
}

#[test]
fn several_threads_share_a_reducer() {
    let group = simulated(3);
    let values = spread(&mut seed::random(), 5000);
    let expected = reference::sum(&values).to_bits();
    let shards = group.shard(&values).unwrap();
    let sum = group.tree_reducer::<f32, _>(Sum).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let (sum, shards) = (sum.clone(), &shards);
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(sum.reduce(shards).unwrap().to_bits(), expected);
                }
            });
        }
    });
}
