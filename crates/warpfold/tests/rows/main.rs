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

/// The environment variable that sets the seed of the random inputs, as for the other tests.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

/// A source of random numbers. Its seed is another one in each run, and is printed, so that a
/// failure can be repeated.
fn random() -> ChaCha8Rng {
    let seed = std::env::var(SEED_VARIABLE)
        .map_or_else(|_| rand::rng().random(), |seed| seed.parse().expect("a number"));
    println!("{SEED_VARIABLE}={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Lengths of rows at which something changes: parts of 8, 16, 32, 64 and 128 elements, tiles of
/// 4096 bytes, and rows of several tasks.
const LENGTHS: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 511,
    513, 1000, 1023, 1025, 4097, 9000,
];
