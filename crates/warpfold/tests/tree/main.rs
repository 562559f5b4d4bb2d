//! Reductions in a tree: the bits of a result do not depend on who reduces which part of an array.

#![allow(clippy::float_cmp, reason = "the bits of results are what these tests compare")]

#[path = "../support/groups.rs"]
mod groups;
#[path = "../support/tree.rs"]
mod reference;
#[path = "../support/seed.rs"]
mod seed;
#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod failures;
mod inputs;
mod operations;
mod sums;

use std::iter;

use groups::{cut, simulated, upload};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// The numbers of devices of the groups.
const SIZES: [usize; 6] = [1, 2, 3, 4, 5, 8];

/// Random lengths of `shards` shards that have `n` elements together. Some shards are empty, and
/// some have only a few elements, which are less than a leaf.
fn lengths(random: &mut ChaCha8Rng, n: usize, shards: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = Vec::new();
    for _ in 1..shards {
        let cut = match (random.random_range(0..6), cuts.last()) {
            (0, _) => 0,
            (1, _) => n,
            (2 | 3, Some(&last)) => n.min(last + random.random_range(0..40)),
            _ => random.random_range(0..=n),
        };
        cuts.push(cut);
    }
    cuts.sort_unstable();
    let begins = iter::once(0).chain(cuts.iter().copied());
    begins.zip(cuts.iter().copied().chain([n])).map(|(begin, end)| end - begin).collect()
}

/// Random numbers of very different sizes and of both signs, so that the sum depends on the order.
fn spread(random: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| random.random_range(-1.0f32..1.0) * 2f32.powi(random.random_range(-20..20)))
        .collect()
}
