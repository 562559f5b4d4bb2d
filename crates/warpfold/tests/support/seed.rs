//! Random inputs that can be repeated.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The environment variable that sets the seed of the random inputs, as for the other tests.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

/// A source of random numbers. Its seed is another one in each run, and is printed, so that a
/// failure can be repeated.
pub(crate) fn random() -> ChaCha8Rng {
    let seed = std::env::var(SEED_VARIABLE)
        .map_or_else(|_| rand::rng().random(), |seed| seed.parse().expect("the seed is a number"));
    println!("{SEED_VARIABLE}={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}
