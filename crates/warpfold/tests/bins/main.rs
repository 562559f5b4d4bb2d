//! Reductions into bins, and counts.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/seed.rs"]
mod seed;

mod calls;
mod checks;
mod counts;
mod operations;
mod order;
mod sums;
mod wrong;

use rand::Rng;

/// Values whose sum depends on the order.
fn values(n: usize) -> Vec<f32> {
    let mut random = seed::random();
    (0..n).map(|_| random.random_range(-1.0f32..1.0).powi(15) * 1e4).collect()
}

/// Keys of so many bins, each of which is as frequent as the others.
fn uniform(n: usize, bins: usize) -> Vec<u32> {
    let mut random = seed::random();
    (0..n).map(|_| random.random_range(0..bins as u32)).collect()
}

/// Keys of several kinds, by their names.
fn kinds_of_keys(n: usize, bins: usize) -> Vec<(String, Vec<u32>)> {
    let mut random = seed::random();
    let last = bins as u32 - 1;
    let name = |kind: &str| format!("{n} keys, {bins} bins, {kind}");
    let skewed = (0..n).map(|_| {
        if random.random_range(0..10) > 0 { last / 2 } else { random.random_range(0..=last) }
    });
    let skewed = skewed.collect();
    vec![
        (name("uniform"), uniform(n, bins)),
        (name("all the same"), vec![last; n]),
        (name("one in ten differs"), skewed),
        (name("in turn"), (0..n).map(|i| i as u32 % bins as u32).collect()),
        (name("sorted"), (0..n).map(|i| (i * bins / n) as u32).collect()),
        (name("half of the bins empty"), uniform(n, bins.div_ceil(2))),
    ]
}

/// Numbers of elements at which something changes: warps, steps, tiles and blocks.
const EDGES: [usize; 17] =
    [0, 1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 4096, 4097, 8192, 8193, 30_001];

/// Numbers of bins at which something changes: warps, and passes.
const BINS: [usize; 9] = [1, 2, 31, 32, 33, 256, 257, 4097, 5000];
