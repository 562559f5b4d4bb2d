//! Reductions of rows and axes, on every available device.

// The tests compare exact results.
#![allow(clippy::float_cmp)]

#[path = "../support/mod.rs"]
mod support;

mod axes;
mod bits;
mod calls;
mod checks;
mod operations;
mod order;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of random numbers whose seed is printed, so that a failure can be repeated. The
/// environment variable `WARPFOLD_SEED` sets the seed.
fn random() -> ChaCha8Rng {
    let seed = std::env::var("WARPFOLD_SEED").map_or_else(
        |_| rand::rng().random(),
        |seed| seed.parse().expect("WARPFOLD_SEED is a number"),
    );
    println!("WARPFOLD_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Lengths of rows at which something changes: parts of 8, 16, 32, 64 and 128 elements, tiles of
/// 4096 bytes, and rows of several tasks.
const LENGTHS: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 511,
    513, 1000, 1023, 1025, 4097, 9000,
];
